//! `queens-coordinator`: parses the command line, and serves or runs one of the commands.

mod commands;
mod examples;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};
use queens_ledger::store::StoreError;
use queens_model::{JobId, Name};
use queens_postgres::StoreLocation;
use queens_runtime::help::{Examples, Program};
use queens_runtime::{VERSION, complain, keep_files_private, version_in_full};
use queens_service::logs::LogArgs;
use queens_service::{CONFIG_OK, ConfigArgs, arguments_of_service};
use queens_solver::Kernel;
use queens_store::sqlite::{RecoveredJob, backup, export_to, note_exported};
use tracing::warn;

use crate::commands::audit_jobs::check;
use crate::commands::invite::{InvitationStoreArgs, InviteArgs, invitations, invite, revoke};
use crate::commands::restore::{RestoreArgs, restore_copy};
use crate::commands::serve::{ServeArgs, serve};
use crate::commands::signing_key::{show_key, sign};
use crate::commands::store::{MoveArgs, ReachArgs, StoreArgs, move_jobs};
use crate::commands::tls_certificates::{CertsArgs, certs};
use crate::examples::EXAMPLES;

/// Stores n-queens jobs, hands their parts to workers and adds up the counts
///
/// Ctrl-C or SIGTERM stops it. Started again on the same directory, it continues, and running workers keep their
/// leases. Logs go to stderr. The environment variable QUEENS_LOG sets the level: off, error, warn, info, debug or
/// trace.
#[derive(Debug, Parser)]
#[command(name = "queens-coordinator", version = VERSION, long_version = version_in_full(&Kernel::list()), max_term_width = 100, args_conflicts_with_subcommands = true)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    serve: ServeArgs,

    #[command(flatten)]
    log: LogArgs,

    #[command(flatten)]
    config: ConfigArgs,
}

impl Program for Args {
    const EXAMPLES: &'static [Examples] = &EXAMPLES;
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Copy the database to FILE, even while a coordinator uses it
    ///
    /// FILE appears only when it is complete, and no file is overwritten. To continue with it, put it into an empty
    /// directory under the name queens.db, and start a coordinator there.
    Backup {
        /// File to write
        #[arg(value_name = "FILE")]
        file: PathBuf,

        #[command(flatten)]
        data: DataArgs,

        #[command(flatten)]
        elsewhere: StoreUrlGuard,
    },

    /// Verify the counts of all jobs from their records alone
    ///
    /// Checks that every row is as it was written, that each plan belongs to its board, that no records overlap, and
    /// that they add up to the totals of the coordinator. Reads every record of a directory that is not in use, of a
    /// backup, or of a database. Plans every job again, which takes as long as the first time. The exit status is 0 if
    /// there is no contradiction.
    Check {
        /// Data directory or backup to check [default: that of --store or --data-dir]
        #[arg(value_name = "DIR|FILE")]
        path: Option<PathBuf>,

        #[command(flatten)]
        data: DataArgs,

        #[command(flatten)]
        store: StoreArgs,
    },

    /// Move all jobs from a data directory to a database on a server, or back
    ///
    /// No coordinator may use either meanwhile. Each row is verified on the way. The source is kept: never continue
    /// with both. Invitations, names and the audit log move with the jobs. Keys stay in their data directory, and
    /// workers drop their leases.
    Move(MoveArgs),

    /// Show the public key that verifies a directory's certificates
    ///
    /// The key is created with the directory, or now. The private key stays in the file signing.key, which only its
    /// owner can read. No backup and no certificate contains it.
    Key {
        /// Print it in PEM, the format of OpenSSL
        #[arg(long)]
        pem: bool,

        /// Create the directory with a key and nothing else: for signing releases
        #[arg(long)]
        new: bool,

        /// Import the key in FILE, another directory's signing.key, so that all coordinators of a database sign with
        /// one key
        #[arg(long, value_name = "FILE", conflicts_with = "new")]
        from: Option<PathBuf>,

        #[command(flatten)]
        data: DataArgs,
    },

    /// Sign a list of SHA-256 checksums with a directory's key: write FILE.sig, which OpenSSL verifies
    ///
    /// Only such lists are signed, and no file is overwritten. 'queens-coordinator key --pem' prints the public key.
    /// 'openssl pkeyutl -verify -pubin -inkey KEY.pem -rawin -in FILE -sigfile FILE.sig' verifies.
    Sign {
        /// List to sign, as sha256sum writes it
        #[arg(value_name = "FILE")]
        file: PathBuf,

        #[command(flatten)]
        data: DataArgs,
    },

    /// Write a certificate of a finished job to FILE, even while a coordinator uses the directory
    ///
    /// It contains all records of the job, signed with the directory's key. 'queens check FILE' verifies the count.
    /// FILE appears only when it is complete, and no file is overwritten.
    Export {
        /// Id of the job, as 'queens submit' and 'queens jobs' print it
        #[arg(value_name = "JOB", allow_negative_numbers = true)]
        job: JobId,

        /// File to write
        #[arg(value_name = "FILE")]
        file: PathBuf,

        #[command(flatten)]
        data: DataArgs,

        #[command(flatten)]
        elsewhere: StoreUrlGuard,
    },

    /// Invite a worker, an operator or a viewer, and print the command for them; its token is shown only once
    ///
    /// Only a salted hash of the token is kept. Running coordinators know it at once; with --store, all of that
    /// database. If the coordinator has just started, waits up to ten seconds until it has published its address.
    Invite(Box<Inviting>),

    /// List all invitations, with the worker names that are bound to each
    Invitations(InvitationStoreArgs),

    /// Revoke one or all invitations, and disconnect their users
    Revoke {
        /// Number of the invitation, from 'queens-coordinator invitations'
        #[arg(value_name = "NUMBER", required_unless_present = "all")]
        number: Option<u64>,

        /// Revoke and list all invitations: for use after a database was restored, since later revocations are lost in
        /// the copy
        #[arg(long, conflicts_with = "number")]
        all: bool,

        #[command(flatten)]
        store: InvitationStoreArgs,
    },

    /// Create a private certificate authority, and a TLS certificate for the coordinator
    Certs(CertsArgs),

    /// Restore a backup or a copy: verify it, and revoke its invitations
    ///
    /// All invitations are revoked unless you keep them, since revocations after the copy are lost in it. A copy of a
    /// directory includes the signing key. No coordinator may use the directory meanwhile. A coordinator that is
    /// started on it repeats the work recorded after the copy, and draws new seeds for recounts.
    Restore(RestoreArgs),

    /// Recover the valid jobs of a damaged directory or database into a new directory
    ///
    /// Nothing is written to DAMAGED. Each job is planned again, and the records that are as written are kept. A
    /// coordinator that is started on NEW_DIR repeats the rest. Workers drop their leases.
    Recover {
        /// Damaged directory or backup, which must not be in use; or a database as postgres://USER@HOST:PORT/DATABASE
        #[arg(value_name = "DAMAGED")]
        damaged: String,

        /// Directory to create; an existing one must be empty
        #[arg(value_name = "NEW_DIR")]
        new_dir: PathBuf,

        #[command(flatten)]
        reach: ReachArgs,
    },
}

#[derive(Debug, clap::Args)]
struct Inviting {
    #[command(flatten)]
    invite: InviteArgs,

    #[command(flatten)]
    store: InvitationStoreArgs,
}

#[derive(Debug, clap::Args)]
struct DataArgs {
    /// Data directory of the coordinator
    #[arg(long, env = "QUEENS_DATA_DIR", value_name = "DIR", default_value = "queens-data")]
    data_dir: PathBuf,
}

/// Refuses a database for commands that work on directories only. Otherwise they could take outdated data in the
/// directory for the jobs.
#[derive(Debug, clap::Args)]
struct StoreUrlGuard {
    #[arg(long, env = "QUEENS_STORE", value_name = "URL", hide = true)]
    store: Option<String>,
}

impl StoreUrlGuard {
    fn refuse(&self, instead: &str) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.store.is_none(),
            "jobs are in a database, as --store or QUEENS_STORE says, and not in a directory: {instead}"
        );
        Ok(())
    }
}

fn main() -> ExitCode {
    let args = match arguments_of_service::<Args>() {
        Ok(args) => args,
        Err(code) => return code,
    };
    match start(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn start(args: &Args) -> anyhow::Result<()> {
    let _logs = args.log.start("queens-coordinator")?;
    // Databases contain seeds that must stay secret until a job is done. Certificates are public.
    if !matches!(args.command, Some(Command::Export { .. } | Command::Certs(_) | Command::Sign { .. })) {
        keep_files_private();
    }
    match &args.command {
        None if args.config.check_config => {
            args.serve.check()?;
            print(CONFIG_OK)
        }
        None => serve(&args.serve),
        Some(Command::Backup { file, data, elsewhere }) => {
            elsewhere.refuse("'pg_dump --schema=queens' copies them")?;
            make_backup(data, file)
        }
        Some(Command::Check { path, data, store }) => check(&store.audit(&data.data_dir, path.as_deref())?),
        Some(Command::Move(args)) => move_jobs(args),
        Some(Command::Key { pem, new, from, data }) => show_key(&data.data_dir, *pem, *new, from.as_deref()),
        Some(Command::Sign { file, data }) => sign(&data.data_dir, file),
        Some(Command::Export { job, file, data, elsewhere }) => {
            elsewhere.refuse("'queens export' asks the coordinator")?;
            export_job(data, *job, file)
        }
        Some(Command::Restore(args)) => restore_copy(args),
        Some(Command::Recover { damaged, new_dir, reach }) => save(&reach.location(damaged)?, new_dir),
        Some(Command::Invite(inviting)) => invite(&inviting.invite, &inviting.store),
        Some(Command::Invitations(store)) => invitations(store.open()?),
        Some(Command::Revoke { number, all: _, store }) => revoke(*number, store.open()?),
        Some(Command::Certs(args)) => certs(args),
    }
}

fn make_backup(data: &DataArgs, file: &Path) -> anyhow::Result<()> {
    let n_bytes = backup(&data.data_dir, file)?;
    print(&format!("{n_bytes} bytes of '{}' are in '{}'", data.data_dir.display(), file.display()))
}

fn export_job(data: &DataArgs, job: JobId, file: &Path) -> anyhow::Result<()> {
    let exported = export_to(&data.data_dir, job, &Name::of_any(VERSION), file)?;
    match note_exported(&data.data_dir, job) {
        Ok(()) => {}
        Err(StoreError::InUse(_)) => warn!(
            "the coordinator of '{}' does not know that job {job} is exported: 'queens export' tells it",
            data.data_dir.display()
        ),
        Err(error) => warn!("it could not be noted that job {job} is exported: {error}"),
    }
    print(&format!("{} records of job {job} are in '{}'", exported.n_records, file.display()))
}

fn save(damaged: &StoreLocation, new_dir: &Path) -> anyhow::Result<()> {
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

fn print(line: &str) -> anyhow::Result<()> {
    queens_runtime::print(line).context("failed to write the answer")
}

#[cfg(test)]
mod tests {
    use queens_runtime::help::faults;

    use super::*;

    #[test]
    fn each_command_has_examples_that_it_takes() {
        assert_eq!(faults::<Args>(), [""; 0]);
    }
}
