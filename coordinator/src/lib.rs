//! The coordinator of n-queens jobs, as a server: parses the command line, and serves or runs one of the commands.
//!
//! Another crate decides and persists ([`queens_event_loop`]). This one accepts connections (`net`), authenticates
//! (`access`), serves workers and operators by gRPC (`grpc`), and browsers and programs by HTTP (`http`).

mod access;
mod args;
mod commands;
mod grpc;
mod http;
mod net;
mod refusal;

use std::process::ExitCode;

use queens_platform::keep_files_private;
use queens_program::service::{CONFIG_OK, arguments_of_service};
use queens_program::{complain, print};

pub use self::access::{InvitationStore, NewInvitation, PublishedAddress};
pub use self::grpc::serve_to_all;
pub use self::http::serve_pages_to_all;

use crate::args::{Args, Command};
use crate::commands::backup::{check, export_job, make_backup, recover, restore_copy};
use crate::commands::campaign::campaign;
use crate::commands::invite::{approve, invitations, invite, revoke};
use crate::commands::migrate_store::move_jobs;
use crate::commands::serve::serve;
use crate::commands::signing_key::{show_key, sign};
use crate::commands::tls_certificates::certs;

/// Runs the program `queens-coordinator`.
pub fn main() -> ExitCode {
    let args = match arguments_of_service::<Args>(None) {
        Ok(args) => args,
        Err(code) => return code,
    };
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> anyhow::Result<()> {
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
        Some(Command::Backup { file, data }) => {
            make_backup(data.dir("'pg_dump --schema=queens' copies them")?, file)
        }
        Some(Command::Check { path, data, store }) => check(&store.audit(&data.data_dir, path.as_deref())?),
        Some(Command::Move(args)) => move_jobs(args),
        Some(Command::Key { pem, new, from, data }) => show_key(&data.data_dir, *pem, *new, from.as_deref()),
        Some(Command::Sign { file, data }) => sign(&data.data_dir, file),
        Some(Command::Export { job, file, data }) => {
            export_job(data.dir("'queens export' asks the coordinator")?, *job, file)
        }
        Some(Command::Restore(args)) => restore_copy(args),
        Some(Command::Recover { damaged, new_dir, reach }) => recover(&reach.location(damaged)?, new_dir),
        Some(Command::Invite(args)) => invite(args),
        Some(Command::Invitations(store)) => invitations(store.open()?),
        Some(Command::Approve { numbers, store }) => approve(numbers, store.open()?),
        Some(Command::Revoke { number, all: _, store }) => revoke(*number, store.open()?),
        Some(Command::Campaign(command)) => campaign(command),
        Some(Command::Certs(args)) => certs(args),
    }
}
