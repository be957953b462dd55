//! `queens-worker`: counts for a coordinator.

use std::fs;
use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use queens_counting::{Config, Departure, Duty, Worker};
use queens_model::{ListenAddress, Name};
use queens_proto::client::{Routes, endpoint};
use queens_runtime::help::{Examples, Program};
use queens_runtime::{
    CredentialsArgs, VERSION, cancel_on_signal, complain, default_threads, print, threads, version_in_full,
};
use queens_service::logs::LogArgs;
use queens_service::{CONFIG_OK, ConfigArgs, arguments_of_service};
use queens_solver::{Kernel, KernelChoice};
use queens_worker::{http, remote};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;
use tracing::{info, warn};

/// Counts for a coordinator until told to stop.
///
/// On Ctrl-C or SIGTERM it reports its counts and leaves; a second signal ends it at once. Without a connection, it
/// goes on counting its leases, and retries until it succeeds. Logs go to stderr; the environment variable QUEENS_LOG
/// sets their level (warn, info, debug).
#[derive(Debug, Parser)]
#[command(name = "queens-worker", version = VERSION, long_version = version_in_full(&Kernel::list()), max_term_width = 100)]
struct Args {
    /// URL of the coordinator; for several coordinators of one database, the URLs of all, repeated or separated by
    /// commas: the worker finds the leader
    #[arg(long, env = "QUEENS_COORDINATOR", value_name = "URL", value_parser = endpoint, value_delimiter = ',',
          default_value = "http://127.0.0.1:50051")]
    coordinator: Vec<Endpoint>,

    #[command(flatten)]
    credentials: CredentialsArgs,

    /// Counting threads; by default one for each processor
    #[arg(long, env = "QUEENS_THREADS", value_name = "T", value_parser = threads,
          default_value_t = default_threads(), allow_negative_numbers = true)]
    threads: NonZeroUsize,

    /// Kernel to count with: 'auto' for the fastest on this processor, or a name: avx512, avx2, portable
    #[arg(long, env = "QUEENS_KERNEL", value_name = "KERNEL", default_value = "auto")]
    kernel: KernelChoice,

    /// Percent of its time that each thread counts; it pauses for the rest
    #[arg(long, env = "QUEENS_CPU", value_name = "PERCENT", default_value = "100", value_parser = duty)]
    cpu: Duty,

    /// Name of this worker [default: the machine's name]
    #[arg(long, env = "QUEENS_NAME", value_name = "NAME")]
    name: Option<Name>,

    /// Address and port to serve /metrics and /healthz on, such as 127.0.0.1:8081 [default: none]
    #[arg(long, env = "QUEENS_WORKER_HTTP", value_name = "ADDRESS")]
    http: Option<ListenAddress>,

    #[command(flatten)]
    log: LogArgs,

    #[command(flatten)]
    config: ConfigArgs,
}

impl Program for Args {
    const EXAMPLES: &'static [Examples] = &[(
        "",
        [
            ("queens-worker", "for the coordinator on this machine"),
            ("queens-worker --coordinator https://host:50051 --ca ca.pem", "for another"),
            ("queens-worker --threads 4 --cpu 50", "on four processors, half of the time"),
        ],
    )];
}

fn main() -> ExitCode {
    let args = match arguments_of_service::<Args>() {
        Ok(args) => args,
        Err(code) => return code,
    };
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> anyhow::Result<()> {
    let _logs = args.log.start("queens-worker")?;
    if args.config.check_config {
        Routes::new(args.coordinator, args.credentials.credentials()?)?;
        return print(CONFIG_OK).context("failed to write the answer");
    }
    let name = args.name.unwrap_or_else(machine_name);
    let kernel = args.kernel.kernel();
    let coordinators: Vec<String> = args.coordinator.iter().map(|one| one.uri().to_string()).collect();
    info!(%name, %kernel, threads = args.threads, coordinator = coordinators.join(","), "starting");
    let routes = Routes::new(args.coordinator, args.credentials.credentials()?)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = args.http.as_ref().map(|address| {
        let bound = runtime.block_on(TcpListener::bind(address.as_str()));
        bound.with_context(|| format!("failed to listen on {address}, which --http asks for"))
    });
    let listener = listener.transpose()?;
    let mut worker = Worker::start(Config { name, kernel, n_threads: args.threads, duty: args.cpu })
        .context("failed to start counting threads")?;
    let served = runtime.block_on(async {
        let drain = CancellationToken::new();
        cancel_on_signal(drain.clone()).context("failed to listen to signals")?;
        if let Some(listener) = listener {
            info!(address = %listener.local_addr()?, "serving metrics");
            // It serves until the process ends, so that a leaving worker still answers.
            tokio::spawn(http::serve(listener, worker.metrics()));
        }
        Ok(remote::serve(&mut worker, routes, &drain).await?)
    });
    worker.stop();
    served.map(tell)
}

fn tell(departure: Departure) {
    match departure {
        Departure::Recorded => info!("left; everything it counted is recorded"),
        Departure::Unanswered => warn!(
            "left without an answer to its goodbye; everything it reported is recorded, but the coordinator may take it for lost"
        ),
        Departure::Unreported => warn!("left; counts since the last acknowledged report are lost"),
    }
}

/// Parses a percentage, with or without its sign.
fn duty(text: &str) -> Result<Duty, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse().ok().and_then(Duty::percent);
    percent.ok_or_else(|| "expected a percentage from 1 to 100".to_owned())
}

/// Returns the machine's name, as far as it is a valid worker name.
fn machine_name() -> Name {
    let hostname = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Name::of_any(Some(hostname.trim()).filter(|name| !name.is_empty()).unwrap_or("worker"))
}

#[cfg(test)]
mod tests {
    use queens_runtime::help::faults;

    use super::*;

    #[test]
    fn its_examples_are_taken() {
        assert_eq!(faults::<Args>(), [""; 0]);
    }
}
