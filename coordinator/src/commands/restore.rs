//! The command that restores a backup or a copy.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use queens_coordinator::{Restored, restore};
use queens_postgres::StoreLocation;
use queens_runtime::say;

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
