//! `queens-worker`: reads its configuration, starts its parts, counts until it is told to stop, and drains.

mod args;
mod commands;
mod join;
mod join_request;
mod user_config;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use queens_counting::{Config, Departure, Metrics, Worker};
use queens_gpu::ChosenCards;
use queens_proto::client::Routes;
use queens_runtime::{cancel_on_signal, complain, print, wrong_usage};
use queens_service::{CONFIG_OK, arguments_of_service};
use queens_worker::{http, remote};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::args::{Args, machine_name};
use crate::commands::Command;
use crate::join::join;
use crate::user_config::{Membership, user_file};

const NOTHING_COUNTS: &str = "--threads 0 leaves nothing that counts: --gpu names no card";

fn main() -> ExitCode {
    let args = match arguments_of_service::<Args>(user_file()) {
        Ok(args) => args,
        Err(code) => return code,
    };
    if args.threads == Some(0) && args.gpu.clone().unwrap_or_default() == ChosenCards::default() {
        return wrong_usage::<Args>(NOTHING_COUNTS);
    }
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(mut args: Args) -> anyhow::Result<()> {
    let _logs = args.log.start("queens-worker")?;
    let credentials = match &args.command {
        None => args.credentials.credentials()?,
        Some(Command::Join(join_args)) => {
            let Membership { name, coordinators, credentials } = join(join_args)?;
            (args.name, args.coordinator) = (Some(name), coordinators);
            credentials
        }
    };
    let routes = Routes::new(args.coordinator.clone(), credentials)?;
    if args.config.check_config {
        return print(CONFIG_OK);
    }
    // One thread suffices beside the counting threads.
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(count(args, routes)).map(tell)
}

/// Counts for the coordinators until a signal, or until they dismiss this worker.
async fn count(args: Args, routes: Routes) -> anyhow::Result<Departure> {
    let drain = CancellationToken::new();
    cancel_on_signal(drain.clone()).context("failed to listen to signals")?;
    let listener = match &args.http {
        None => None,
        Some(address) => Some(
            TcpListener::bind(address.as_str())
                .await
                .with_context(|| format!("failed to listen on {address}, which --http asks for"))?,
        ),
    };
    let name = args.name.unwrap_or_else(machine_name);
    let kernel = args.kernel.kernel();
    let coordinators: Vec<String> = args.coordinator.iter().map(|one| one.uri().to_string()).collect();
    let cards = args.gpu.unwrap_or_default().here()?;
    let metrics = Arc::new(Metrics::new());
    let mut workers = Vec::new();
    for config in Config::of_machine(&name, kernel, args.threads, &cards, args.cpu, None) {
        let (name, threads) = (config.name.to_string(), config.n_threads());
        let coordinator = coordinators.join(",");
        info!(%name, kernel = config.counter_name(), threads, coordinator, "starting");
        let worker = Worker::start(config, &metrics).context("failed to start counting threads")?;
        workers.push((name, worker));
    }
    anyhow::ensure!(!workers.is_empty(), NOTHING_COUNTS);
    if let Some(listener) = listener {
        info!(address = %listener.local_addr()?, "serving metrics");
        // It serves until the process ends, so that a leaving worker still answers.
        tokio::spawn(http::serve(listener, metrics));
    }
    // Draining is part of a session: after a signal, it ends when the last report is acknowledged.
    let departure = remote::serve_all(&mut workers, &routes, &drain).await;
    workers.into_iter().for_each(|(_, worker)| worker.stop());
    Ok(departure?)
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
