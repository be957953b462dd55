//! `queens-worker`: counts for a coordinator.

use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use queens_process::{arguments, cancel_on_signal, complain, default_threads, log, threads};
use queens_solver::KernelChoice;
use queens_worker::{Config, Worker, remote};
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;
use tracing::info;

/// Counts for a coordinator, until it is told to leave.
///
/// Ctrl-C or SIGTERM makes it report what it has counted and leave; a second one ends it at once. Without a connection
/// it goes on with what it holds and tries to connect for as long as it takes. Logs go to stderr; the environment
/// variable QUEENS_LOG chooses how much (warn, info, debug).
#[derive(Debug, Parser)]
#[command(name = "queens-worker", version, max_term_width = 100)]
struct Args {
    /// URL of the coordinator
    #[arg(long, env = "QUEENS_COORDINATOR", value_name = "URL", value_parser = remote::endpoint,
          default_value = "http://127.0.0.1:50051")]
    coordinator: Endpoint,

    /// Counting threads; by default one for each processor
    #[arg(long, env = "QUEENS_THREADS", value_name = "T", value_parser = threads,
          default_value_t = default_threads(), allow_negative_numbers = true)]
    threads: NonZeroUsize,

    /// What to count with: 'auto' for the fastest kernel of this processor, or one by name: avx512, avx2, portable
    #[arg(long, env = "QUEENS_KERNEL", value_name = "KERNEL", default_value = "auto")]
    kernel: KernelChoice,

    /// Name to be known by [default: this machine's name]
    #[arg(long, env = "QUEENS_NAME", value_name = "NAME", value_parser = name)]
    name: Option<String>,
}

fn main() -> ExitCode {
    let args = match arguments::<Args>() {
        Ok(args) => args,
        Err(code) => return code,
    };
    log("info", io::stderr);
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> anyhow::Result<()> {
    let name = args.name.unwrap_or_else(machine_name);
    let kernel = args.kernel.kernel();
    info!(name, %kernel, threads = args.threads, coordinator = %args.coordinator.uri(), "starting");
    let mut worker = Worker::start(Config { name, kernel, n_threads: args.threads })
        .context("failed to start counting threads")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let drain = CancellationToken::new();
        cancel_on_signal(drain.clone()).context("failed to listen to signals")?;
        Ok(worker.serve_remote(&args.coordinator, &drain).await?)
    });
    worker.stop();
    info!("left");
    served
}

/// The machine's name, as far as it can be used as a worker's.
fn machine_name() -> String {
    let hostname = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name(hostname.trim()).unwrap_or_else(|_| "worker".to_owned())
}

fn name(text: &str) -> Result<String, String> {
    let fits = (1..=100).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if fits { Ok(text.to_owned()) } else { Err("expected 1 to 100 printable characters".to_owned()) }
}
