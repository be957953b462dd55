//! The commands 'backup', 'restore' and 'recover'. The last saves the valid jobs of a damaged store.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use queens_coordinator::{Restored, restore};
use queens_program::{print, say};
use queens_store::postgres::StoreLocation;
use queens_store::sqlite::{RecoveredJob, backup};

use super::audit_jobs::show;
use super::invite::{InvitationStoreArgs, revoke_all};

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

/// Copies the database of a data directory to a file.
pub(crate) fn make_backup(dir: &Path, file: &Path) -> anyhow::Result<()> {
    let n_bytes = backup(dir, file)?;
    print(&format!("{n_bytes} bytes of '{}' are in '{}'", dir.display(), file.display()))
}

/// Revokes the invitations of a copy, verifies the copy, and moves it into place.
pub(crate) fn restore_copy(args: &RestoreArgs) -> anyhow::Result<()> {
    let kept = "all invitations in the copy are valid again: 'queens-coordinator invitations' lists them";
    match (&args.copy, args.store.location()?) {
        (Some(copy), StoreLocation::Directory(dir)) => {
            let Restored { audits, n_ended } = restore(copy, &dir, args.keep_invitations)?;
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

/// Plans each job again in a new directory, and keeps the records that are as written.
pub(crate) fn recover(damaged: &StoreLocation, new_dir: &Path) -> anyhow::Result<()> {
    let recovered = damaged.recover(new_dir)?;
    if recovered.n_unreadable > 0 {
        print(&format!("{} pages can't be read", recovered.n_unreadable))?;
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
