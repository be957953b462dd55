//! The command line of `queens-coordinator`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use queens_model::JobId;
use queens_platform::{VERSION, version_in_full};
use queens_program::help::Program;
use queens_program::service::{ConfigArgs, LogArgs};
use queens_solver::Kernel;

use crate::commands::backup::RestoreArgs;
use crate::commands::campaign::CampaignCommand;
use crate::commands::invite::{InvitationStoreArgs, InviteArgs};
use crate::commands::migrate_store::MoveArgs;
use crate::commands::serve::ServeArgs;
use crate::commands::store::{DataArgs, DirectoryArgs, ReachArgs, StoreArgs};
use crate::commands::tls_certificates::CertsArgs;

/// Stores n-queens jobs, hands their parts to workers and adds up the counts
///
/// Ctrl-C or SIGTERM stops it. Started again on the same directory, it continues, and running workers keep their
/// leases. Logs go to stderr. The environment variable QUEENS_LOG sets the level: off, error, warn, info, debug or
/// trace.
#[derive(Debug, Parser)]
#[command(name = "queens-coordinator", version = VERSION, long_version = version_in_full(&Kernel::list()), max_term_width = 100, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) serve: ServeArgs,

    #[command(flatten)]
    pub(crate) log: LogArgs,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

impl Program for Args {
    const EXAMPLES: &'static str = EXAMPLES;
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Copy the database to FILE, even while a coordinator uses it
    ///
    /// FILE appears only when it is complete, and no file is overwritten. To continue with it, put it into an empty
    /// directory under the name queens.db, and start a coordinator there.
    Backup {
        /// File to write
        #[arg(value_name = "FILE")]
        file: PathBuf,

        #[command(flatten)]
        data: DirectoryArgs,
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
        data: DirectoryArgs,
    },

    /// Invite a worker, an operator or a viewer, and print the command for them; its token is shown only once
    ///
    /// Only a salted hash of the token is kept. Running coordinators know it at once; with --store, all of that
    /// database. If the coordinator has just started, waits up to ten seconds until it has published its address.
    Invite(Box<InviteArgs>),

    /// List all invitations, with the worker names that are bound to each
    Invitations(InvitationStoreArgs),

    /// Approve people who have joined a campaign that was opened with --approve
    Approve {
        /// Numbers of their invitations, from 'queens-coordinator invitations'; 'revoke' refuses others
        #[arg(value_name = "NUMBER", required = true)]
        numbers: Vec<u64>,

        #[command(flatten)]
        store: InvitationStoreArgs,
    },

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

    /// Let people join by a link, without an invitation from you for each
    #[command(subcommand)]
    Campaign(CampaignCommand),

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

/// The examples at the end of the help: of the program, then of its commands. A test parses each of them.
const EXAMPLES: &str = "\
queens-coordinator --data-dir jobs  # keeps jobs in the directory jobs
queens-coordinator --http 127.0.0.1:8080  # also serves the pages
queens-coordinator --config coordinator.toml --check-config  # checks the file

queens-coordinator backup monday.db  # copies the usual directory
queens-coordinator backup a && queens-coordinator check a  # and verify it
queens-coordinator restore monday.db --data-dir new  # a backup
queens-coordinator restore snapshots/jobs --data-dir jobs  # of a directory
queens-coordinator restore --store postgres://queens@db/queens  # a dump
queens-coordinator check monday.db  # a backup
queens-coordinator check --store postgres://queens@db/queens  # a database
queens-coordinator move --from jobs --to postgres://queens@db/queens  # there
queens-coordinator move --from postgres://queens@db/queens --to jobs  # back
queens-coordinator key --data-dir jobs  # as 'queens check --key' takes it
queens-coordinator key --pem > key.pem  # for OpenSSL
queens-coordinator key --new --data-dir releases  # a key to sign releases
queens-coordinator sign SHA256SUMS  # makes SHA256SUMS.sig
queens-coordinator export 3 q20.certificate  # the proof of job 3
queens-coordinator export 3 q && queens check q  # and check it
queens-coordinator invite --role worker --uses 50  # for up to fifty
queens-coordinator invite --role operator --name alice  # alice may submit
queens-coordinator invite --role viewer --expires 30d  # may look for 30 days
queens-coordinator invitations  # lists those of the usual directory
queens-coordinator revoke 3  # number 3 of 'invitations'
queens-coordinator campaign open 3  # a link to count job 3
queens-coordinator campaign open --most-people 50 --expires 7d  # for few
queens-coordinator campaign open --approve  # people wait for your approval
queens-coordinator approve 3 4  # numbers of 'invitations'
queens-coordinator campaign close 1  # number 1 of 'campaign list'
queens-coordinator campaign close --all  # nobody can join any more
queens-coordinator campaign reopen 1  # under its old link
queens-coordinator campaign list  # with the people who have joined
queens-coordinator certs keys --host count.example.org  # by its name
queens-coordinator certs keys --host localhost --host 192.0.2.7  # by several
queens-coordinator certs keys --client carol  # for somebody to invite
queens-coordinator recover jobs saved  # the provable records of jobs
queens-coordinator recover broken.db saved  # from a backup
queens-coordinator recover a b && queens-coordinator check b  # and verify it";

#[cfg(test)]
mod tests {
    use queens_program::tests::faults;

    use super::*;

    #[test]
    fn each_command_has_examples_that_it_takes() {
        assert_eq!(faults::<Args>(), [""; 0]);
    }
}
