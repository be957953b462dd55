//! What the records of jobs prove, in words.

use anyhow::Context;
use queens_process::print;
use queens_store::JobAudit;

/// Prints a line for each job.
pub(crate) fn show(audits: &[JobAudit]) -> anyhow::Result<()> {
    if audits.is_empty() {
        return print("no jobs").context("failed to write the answer");
    }
    audits.iter().try_for_each(|audit| print(&describe(audit))).context("failed to write the answer")
}

fn describe(audit: &JobAudit) -> String {
    let JobAudit { job, n_records, n_recorded, n_subproblems, total, .. } = audit;
    let part = job.terms.crosses.map(|crosses| format!("  crosses {crosses}")).unwrap_or_default();
    let of = job.terms.second_of.map(|first| format!("  second pass of job {first}")).unwrap_or_default();
    let name = format!("job {}  n = {}{part}{of}  {}", job.id, job.n, job.phase.name());
    match n_subproblems {
        None => format!("{name}  no plan yet"),
        Some(_) if audit.is_complete() => {
            let solutions = if *total == 1 { "solution" } else { "solutions" };
            format!(
                "{name}  {n_records} records cover all {n_recorded} subproblems once: {total} {solutions}"
            )
        }
        Some(all) => format!("{name}  {n_records} records cover {n_recorded} of {all} subproblems"),
    }
}
