//! `queens-coordinator`: keeps jobs in a data directory and hands them to workers.

mod commands;
mod examples;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};
use queens_coordinator::store::StoreLocation;
use queens_ledger::store::StoreError;
use queens_model::{JobId, Name};
use queens_runtime::help::{Examples, Program};
use queens_runtime::{VERSION, complain, keep_files_private, version_in_full};
use queens_service::logs::LogArgs;
use queens_service::{CONFIG_OK, ConfigArgs, arguments_of_service};
use queens_solver::Kernel;
use queens_store::sqlite::{RecoveredJob, backup, export_to, note_exported};
use tracing::warn;

use crate::commands::audit_jobs::check;
use crate::commands::invite::{BookArgs, InviteArgs, invitations, invite, revoke};
use crate::commands::restore::{RestoreArgs, restore_copy};
use crate::commands::serve::{ServeArgs, serve};
use crate::commands::signing_key::{show_key, sign};
use crate::commands::store::{MoveArgs, ReachArgs, StoreArgs, move_jobs};
use crate::commands::tls_certificates::{CertsArgs, certs};
use crate::examples::EXAMPLES;

/// Keeps n-queens jobs, hands their parts to workers and adds up what they count.
///
/// Ctrl-C or SIGTERM stops it; started again on the same directory, it goes on where it was, and workers that still
/// run go on with what they hold. Logs go to stderr; the environment variable QUEENS_LOG chooses how much (off,
/// error, warn, info, debug or trace).
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
    /// Copy the database to FILE, also while a coordinator uses it
    ///
    /// FILE is complete when it is there, and nothing is overwritten. To go on with it, put it into an empty directory
    /// under the name queens.db and start a coordinator there.
    Backup {
        /// File to write
        #[arg(value_name = "FILE")]
        file: PathBuf,

        #[command(flatten)]
        data: DataArgs,

        #[command(flatten)]
        elsewhere: StoreUrlGuard,
    },

    /// Prove from the records alone what each job has counted: that every row is what was written, that the plans are
    /// those of their boards, that no records overlap, and that they add up to what the coordinator goes by
    ///
    /// Reads every record of a directory that no coordinator uses, of a backup, or of a database on a server, and makes
    /// every plan again, which takes as long as planning the jobs. Exit status 0 if nothing contradicts anything.
    Check {
        /// Data directory or backup to check; if not given, what --store or --data-dir names
        #[arg(value_name = "DIR|FILE")]
        path: Option<PathBuf>,

        #[command(flatten)]
        data: DataArgs,

        #[command(flatten)]
        store: StoreArgs,
    },

    /// Move all jobs from a data directory to a database on a server, or back
    ///
    /// No coordinator may use either meanwhile. Each row is proved on the way, and what was there stays there: never go
    /// on with both. Invitations, names and decisions go with the jobs; keys stay in their data directory, and workers
    /// drop what they hold.
    Move(MoveArgs),

    /// Show the public key that certificates of a directory are signed with
    ///
    /// It is made with the directory, or now. The private one stays in the directory's file signing.key, which nobody
    /// but its owner can read: no backup and no certificate has it.
    Key {
        /// Print it in PEM, as OpenSSL takes it
        #[arg(long)]
        pem: bool,

        /// Make the directory, with a key and nothing else: for signing releases
        #[arg(long)]
        new: bool,

        /// Take the key in FILE, another directory's signing.key, so that coordinators of one database sign alike
        #[arg(long, value_name = "FILE", conflicts_with = "new")]
        from: Option<PathBuf>,

        #[command(flatten)]
        data: DataArgs,
    },

    /// Sign a list of SHA-256 sums with a directory's key: write FILE.sig, which OpenSSL checks
    ///
    /// Nothing but such a list is signed, and nothing is overwritten. 'queens-coordinator key --pem' tells the public key;
    /// 'openssl pkeyutl -verify -pubin -inkey KEY.pem -rawin -in FILE -sigfile FILE.sig' checks.
    Sign {
        /// List to sign, as sha256sum writes it
        #[arg(value_name = "FILE")]
        file: PathBuf,

        #[command(flatten)]
        data: DataArgs,
    },

    /// Write a certificate of a job that is done to FILE, also while a coordinator uses the directory
    ///
    /// It has all records of the job, signed with the directory's key, and proves the count to whoever runs 'queens
    /// check FILE'. FILE is complete when it is there, and nothing is overwritten.
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

    /// Invite a worker, an operator or a viewer, and print a line for them; a token in it is told only once
    ///
    /// Only a salted hash of the token is kept. A coordinator that runs learns of it at once; with --store, all of that
    /// database do. One that was started a moment ago is waited for, ten seconds at most, until it has noted where it is
    /// reached.
    Invite(Box<Inviting>),

    /// List who was invited, with the names of workers that are bound to each
    Invitations(BookArgs),

    /// End an invitation, or all of them; who came with it is put out
    Revoke {
        /// Number of the invitation, as 'queens-coordinator invitations' lists them
        #[arg(value_name = "NUMBER", required_unless_present = "all")]
        number: Option<u64>,

        /// End all invitations, and say which: when a copy of the database was put back, those that were revoked after it
        /// was made are good again
        #[arg(long, conflicts_with = "number")]
        all: bool,

        #[command(flatten)]
        store: BookArgs,
    },

    /// Make a private authority and a TLS certificate for the coordinator, for sites without their own
    Certs(CertsArgs),

    /// Put a backup or a copy in place: prove it, and end the invitations that are in it
    ///
    /// Invitations that were revoked after the copy was made are good again in it, so that all are ended, unless you keep
    /// them. Of a copy of a directory, the signing key is copied as well. No coordinator may use the directory meanwhile. One
    /// that is started on it counts again what was recorded after the copy was made, and draws new seeds for recounts.
    Restore(RestoreArgs),

    /// Make a new directory from what proves itself of a damaged one, or of a database
    ///
    /// Nothing is written to DAMAGED. Of each job the plan is made again, and the records are kept that are what was
    /// written; a coordinator that is started on NEW_DIR counts the rest again. Workers drop what they hold.
    Recover {
        /// Directory or backup that is damaged, which nobody may use; or a database as
        /// postgres://USER@HOST:PORT/DATABASE
        #[arg(value_name = "DAMAGED")]
        damaged: String,

        /// Directory to make; if it is there, it must be empty
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
    store: BookArgs,
}

#[derive(Debug, clap::Args)]
struct DataArgs {
    /// The coordinator's directory
    #[arg(long, env = "QUEENS_DATA_DIR", value_name = "DIR", default_value = "queens-data")]
    data_dir: PathBuf,
}

/// What names a database to a command that knows directories alone: it must not take what lies in one for the jobs.
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
    // Databases hold seeds that nobody is told before a job is done. Certificates are for everybody.
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
        Some(Command::Recover { damaged, new_dir, reach }) => save(&reach.whereabouts(damaged)?, new_dir),
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
