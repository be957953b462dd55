//! The commands 'backup', 'check', 'restore', 'export' and 'recover'. The last saves the valid jobs of a damaged store.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use queens_certificate::Key;
use queens_ledger::store::StoreError;
use queens_model::{JobId, Name};
use queens_platform::VERSION;
use queens_program::{print, say};
use queens_store::JobAudit;
use queens_store::postgres::StoreLocation;
use queens_store::sqlite::{self, RecoveredJob, backup, export_to, note_exported};
use tracing::warn;

use super::invite::{InvitationStoreArgs, revoke_all};
use crate::access::{Dump, has_invitations};

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Backup or copy of a data directory to restore into the coordinator's directory, which must have no jobs; if
    /// omitted, the data was restored by other means, such as a dump of the database in --store
    #[arg(value_name = "COPY")]
    copy: Option<PathBuf>,

    /// Keep invitations valid that were valid in the copy, even if they were revoked later
    #[arg(long)]
    keep_invitations: bool,

    #[command(flatten)]
    store: InvitationStoreArgs,
}

pub(crate) fn make_backup(dir: &Path, file: &Path) -> anyhow::Result<()> {
    let n_bytes = backup(dir, file)?;
    print(&format!("{n_bytes} bytes of '{}' are in '{}'", dir.display(), file.display()))
}

/// Revokes the invitations of a copy, verifies the copy, and moves it into place.
pub(crate) fn restore_copy(args: &RestoreArgs) -> anyhow::Result<()> {
    let kept = "all invitations in the copy are valid again: 'queens-coordinator invitations' lists them";
    match (&args.copy, args.store.location()?) {
        (Some(copy), StoreLocation::Directory(dir)) => {
            let (audits, n_ended) = restore(copy, &dir, args.keep_invitations)?;
            match n_ended {
                _ if args.keep_invitations => say(kept),
                0 => {}
                1 => say("1 invitation is revoked: create it again if it is still needed"),
                n => say(&format!("{n} invitations are revoked: create again those that are still needed")),
            }
            show(&audits)
        }
        (Some(_), StoreLocation::Server(_)) => bail!(
            "a copy is restored into a directory, and --store names a database: have its own tools put the copy there, \
             and name none here"
        ),
        (None, location) => {
            // First, so that nobody is admitted if a later step fails.
            if args.keep_invitations {
                say(kept);
            } else if let Some(mut store) = args.store.open_if_there()? {
                revoke_all(&mut store)?;
            }
            show(&location.audit()?)
        }
    }
}

/// Copies the jobs, the invitations and the signing key of `copy`, a backup or a copy of a data directory. The
/// directory `dir` must have neither jobs nor invitations. The invitations are revoked unless they are kept. The jobs
/// are moved into place last: before that, a failure or a crash leaves none. Returns the audit of each job, and the
/// number of revoked invitations.
fn restore(copy: &Path, dir: &Path, keeps_invitations: bool) -> anyhow::Result<(Vec<JobAudit>, usize)> {
    let (from, to) = (StoreLocation::Directory(copy.to_owned()), StoreLocation::Directory(dir.to_owned()));
    let restoring = sqlite::restore(copy, dir)?;
    if has_invitations(&to) {
        bail!("there are invitations in '{}' already: name a new directory", dir.display());
    }
    let mut n_ended = 0;
    if copy.is_dir() {
        let of_invitations = "the invitations can't be restored, and so nothing is";
        let mut invitations = Dump::of(&from).context(of_invitations)?;
        if !keeps_invitations {
            n_ended = invitations.end_all();
        }
        Key::adopt_of(dir, copy).context("the signing key can't be restored, and so nothing is")?;
        invitations.put_in_directory(&to).context(of_invitations)?;
    }
    Ok((restoring.finish()?, n_ended))
}

/// Writes the certificate of a job in a data directory.
pub(crate) fn export_job(dir: &Path, job: JobId, file: &Path) -> anyhow::Result<()> {
    let exported = export_to(dir, job, &Name::of_any(VERSION), file)?;
    match note_exported(dir, job) {
        Ok(()) => {}
        Err(StoreError::InUse(_)) => warn!(
            "the coordinator of '{}' does not know that job {job} is exported: 'queens export' tells it",
            dir.display()
        ),
        Err(error) => warn!("it could not be noted that job {job} is exported: {error}"),
    }
    print(&format!("{} records of job {job} are in '{}'", exported.n_records, file.display()))
}

/// Plans each job again in a new directory, and keeps the records that are as written.
pub(crate) fn recover(damaged: &StoreLocation, new_dir: &Path) -> anyhow::Result<()> {
    let recovered = damaged.recover(new_dir)?;
    for (table, reason) in &recovered.missing {
        print(&format!("rows of table {table} are missing: {reason}"))?;
    }
    recovered.jobs.iter().try_for_each(|job| print(&describe_recovered(job)))?;
    if !recovered.blocked.is_empty() {
        let names: Vec<&str> = recovered.blocked.keys().map(|block| block.name.as_str()).collect();
        print(&format!("blocked: {}", names.join(", ")))?;
    }
    print(&format!("go on with: queens-coordinator --data-dir '{}'", new_dir.display()))
}

fn describe_recovered(recovered: &RecoveredJob) -> String {
    let RecoveredJob { job, was_lost, n_records, n_recorded, n_subproblems } = recovered;
    let name = format!("job {}  n = {}  {}", job.id, job.n, job.phase.name());
    let lost = if *was_lost { "; priority, times and what operators decided are lost" } else { "" };
    match n_subproblems {
        None => format!("{name}  no plan yet"),
        Some(all) if all == n_recorded => {
            format!("{name}  {n_records} records kept, which cover all {all} subproblems{lost}")
        }
        Some(all) => format!(
            "{name}  {n_records} records kept, which cover {n_recorded} of {all} subproblems: {} have to be counted \
             again or for the first time{lost}",
            all - n_recorded
        ),
    }
}

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

fn show(audits: &[JobAudit]) -> anyhow::Result<()> {
    if audits.is_empty() {
        return print("no jobs");
    }
    audits.iter().try_for_each(|audit| print(&describe_audit(audit)))
}

fn describe_audit(audit: &JobAudit) -> String {
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
