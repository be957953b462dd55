//! `queens-coordinator`: keeps jobs in a data directory and hands them to workers.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use queens_coordinator::store::sqlite::SqliteStore;
use queens_coordinator::{Coordinator, grpc};
use queens_process::{allow_many_files, arguments, cancel_on_signal, complain, default_threads, log};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Keeps n-queens jobs, hands their parts to workers and adds up what they count.
///
/// Ctrl-C or SIGTERM stops it; started again on the same directory, it goes on where it was, and workers that still
/// run go on with what they hold. Logs go to stderr; the environment variable QUEENS_LOG chooses how much (warn, info,
/// debug).
#[derive(Debug, Parser)]
#[command(name = "queens-coordinator", version, max_term_width = 100)]
struct Args {
    /// Address and port to serve workers and operators on; port 0 takes a free one
    #[arg(long, env = "QUEENS_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:50051")]
    listen: SocketAddr,

    /// Directory to keep jobs in; made if it is not there
    #[arg(long, env = "QUEENS_DATA_DIR", value_name = "DIR", default_value = "queens-data")]
    data_dir: PathBuf,
}

/// How long sessions may take to end after a signal.
const FAREWELL: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let args = match arguments::<Args>() {
        Ok(args) => args,
        Err(code) => return code,
    };
    log("info", io::stderr);
    // Each worker is a connection.
    if let Err(error) = allow_many_files() {
        warn!(%error, "the limit of open files stays as it is");
    }
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let listener = runtime
        .block_on(TcpListener::bind(args.listen))
        .with_context(|| format!("failed to listen on {}", args.listen))?;
    let store = SqliteStore::open(&args.data_dir)?;
    let coordinator = Coordinator::start(Box::new(store), default_threads())
        .with_context(|| format!("failed to go on with data directory '{}'", args.data_dir.display()))?;
    let served = runtime.block_on(serve(args, listener, coordinator));
    runtime.shutdown_timeout(FAREWELL);
    served
}

async fn serve(args: &Args, listener: TcpListener, coordinator: Coordinator) -> anyhow::Result<()> {
    let stop = CancellationToken::new();
    cancel_on_signal(stop.clone()).context("failed to listen to signals")?;
    info!(address = %listener.local_addr()?, data_dir = %args.data_dir.display(), "listening");
    let server = tokio::spawn(grpc::serve(grpc::incoming(listener), coordinator.handle(), stop.clone()));
    let failed = tokio::select! {
        () = stop.cancelled() => None,
        () = coordinator.stopped() => Some("the ledger's thread has ended"),
    };
    info!("stopping");
    stop.cancel();
    // Closes all sessions, so that the server can end.
    tokio::task::spawn_blocking(move || coordinator.stop()).await?;
    if let Ok(ended) = tokio::time::timeout(FAREWELL, server).await {
        ended?.context("the gRPC server failed")?;
    }
    match failed {
        Some(reason) => anyhow::bail!(reason),
        None => Ok(()),
    }
}
