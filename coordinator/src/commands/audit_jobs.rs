//! Formats the results of auditing jobs from their records.

use anyhow::bail;
use queens_program::print;
use queens_store::JobAudit;

/// Prints a line for each job. Fails if a total contradicts the published count.
pub(crate) fn check(audits: &[JobAudit]) -> anyhow::Result<()> {
    show(audits)?;
    match audits.iter().find(|audit| audit.contradicted().is_some()) {
        None => Ok(()),
        Some(JobAudit { job, .. }) => bail!(
            "job {0} contradicts the published count. No row is damaged: a worker has counted wrong. On a running \
             coordinator, 'queens verify-more {0} --recount 100' finds out which",
            job.id
        ),
    }
}

pub(crate) fn show(audits: &[JobAudit]) -> anyhow::Result<()> {
    if audits.is_empty() {
        return print("no jobs");
    }
    audits.iter().try_for_each(|audit| print(&describe(audit)))
}

fn describe(audit: &JobAudit) -> String {
    let JobAudit { job, n_records, n_recorded, n_subproblems, total, .. } = audit;
    let part = job.terms.part_range.map(|parts| format!("  parts {parts}")).unwrap_or_default();
    let of = job.terms.second_of.map(|first| format!("  second pass of job {first}")).unwrap_or_default();
    let name = format!("job {}  n = {}{part}{of}  {}", job.id, job.n, job.phase.name());
    match n_subproblems {
        None => format!("{name}  no plan yet"),
        Some(_) if audit.is_complete() => {
            let solutions = if *total == 1 { "solution" } else { "solutions" };
            let contradicted = audit.contradicted();
            let contradicted =
                contradicted.map(|published| format!(", CONTRADICTS the published {published}"));
            format!(
                "{name}  {n_records} records cover all {n_recorded} subproblems once: {total} {solutions}{}",
                contradicted.unwrap_or_default()
            )
        }
        Some(all) => format!("{name}  {n_records} records cover {n_recorded} of {all} subproblems"),
    }
}
