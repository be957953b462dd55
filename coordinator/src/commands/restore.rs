//! Restoring what was backed up or copied.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use queens_coordinator::store::{Whereabouts, restore};
use queens_process::say;

use super::audits::show;
use super::invite::{BookArgs, revoke_all};

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Backup, or copy of a data directory, to put into the coordinator's directory, which must have no jobs; if not
    /// given, what is there already was put there by other means, such as a dump of the database that --store names
    #[arg(value_name = "COPY")]
    copy: Option<PathBuf>,

    /// Let in whoever was invited when the copy was made, also those whose invitations were revoked after that
    #[arg(long)]
    keep_invitations: bool,

    #[command(flatten)]
    book: BookArgs,
}

/// Puts a copy in place, proves what is there, and ends all invitations in it.
pub(crate) fn restore_copy(args: &RestoreArgs) -> anyhow::Result<()> {
    let audits = match (&args.copy, args.book.whereabouts()?) {
        (None, whereabouts) => whereabouts.audit()?,
        (Some(copy), Whereabouts::Directory(dir)) => restore(copy, &dir)?,
        (Some(_), Whereabouts::Server(_)) => bail!(
            "a copy is restored into a directory, and --store names a database: have its own tools put the copy there, \
             and name none here"
        ),
    };
    show(&audits)?;
    if args.keep_invitations {
        say(
            "whoever was invited when the copy was made is let in: 'queens-coordinator invitations' lists them",
        );
    } else if let Some(mut book) = args.book.open_if_there()? {
        revoke_all(&mut book)?;
    }
    Ok(())
}
