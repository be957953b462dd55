//! `queens-worker`: reads its configuration, starts its parts, counts until it is told to stop, and drains. Its
//! commands talk to a worker that runs.

mod args;
mod campaign_link;
mod commands;
mod install;
mod join;
mod join_request;
mod manners;
mod relocation;
mod user_config;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use queens_counting::{Config, Departure, LeaveRequests, Metrics, Worker};
use queens_gpu::ChosenCards;
use queens_platform::lower_process_priority;
use queens_program::service::{CONFIG_OK, arguments_of_service};
use queens_program::{complain, print, stop_on_signal, wrong_usage};
use queens_proto::client::Routes;
use queens_worker::control::server::{self, ControlledWorker};
use queens_worker::idle_timeout::has_been_idle;
use queens_worker::news::News;
use queens_worker::own_numbers::OwnNumbers;
use queens_worker::pause_monitor::PauseControl;
use queens_worker::{http, progress, remote};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::args::{Args, machine_name};
use crate::commands::{Command, control};
use crate::install::{install, uninstall};
use crate::join::{JoinArgs, join};
use crate::manners::MannersArgs;
use crate::relocation::Relocation;
use crate::user_config::{Membership, user_file};

const NOTHING_COUNTS: &str = "--threads 0 leaves nothing that counts: --gpu names no card";

fn main() -> ExitCode {
    let mut args = match arguments_of_service::<Args>(user_file()) {
        Ok(args) => args,
        Err(code) => return code,
    };
    let counts = args.threads != Some(0) || args.gpu.clone().unwrap_or_default() != ChosenCards::default();
    let done = match args.command.take() {
        Some(Command::Control(command)) => control(command),
        Some(Command::Install { print }) => install(print),
        Some(Command::Uninstall) => uninstall(),
        _ if !counts => return wrong_usage::<Args>(NOTHING_COUNTS),
        Some(Command::Join(join_args)) => run(args, Some(join_args)),
        None => run(args, None),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Counts, after joining a campaign if `join_args` has its link.
fn run(mut args: Args, join_args: Option<JoinArgs>) -> anyhow::Result<()> {
    let _logs = args.log.start("queens-worker")?;
    let (credentials, campaign) = match join_args {
        None => (args.credentials.credentials()?, args.campaign.clone().campaign()?),
        Some(join_args) => {
            let Membership { name, coordinators, credentials, campaign, waiting: _ } = join(&join_args)?;
            (args.name, args.coordinator) = (Some(name), coordinators);
            args.manners.of_a_guest();
            (credentials, Some(campaign))
        }
    };
    let (sender, routes) = watch::channel(Routes::new(args.coordinator.clone(), credentials.clone())?);
    let relocation = campaign.map(|campaign| {
        let file = args.config.file().map(Path::to_owned).or_else(user_file);
        Relocation::new(campaign, args.coordinator.clone(), credentials, sender, file)
    });
    args.manners.check()?;
    if args.config.check_config {
        return print(CONFIG_OK);
    }
    if args.manners.nice {
        lower_process_priority().context("failed to lower the priority, which --nice asks for")?;
    }
    // One thread suffices beside the counting threads.
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(count(args, routes, relocation)).map(tell)
}

/// Counts for the coordinators until a signal, or until they dismiss this worker.
async fn count(
    args: Args,
    routes: watch::Receiver<Routes>,
    relocation: Option<Relocation>,
) -> anyhow::Result<Departure> {
    let drain = stop_on_signal()?;
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
        let config = Config { is_nice: args.manners.nice, ..config };
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
        tokio::spawn(http::serve(listener, metrics.clone()));
    }
    let pauses = PauseControl::default();
    let own = OwnNumbers::new(name.clone());
    watch(args.manners, &metrics, &own, &pauses, &drain).await;
    let news = Arc::new(News::default());
    let (logging, of) = (news.clone(), metrics.clone());
    tokio::spawn(async move { logging.run(&of).await });
    if let Some(relocation) = relocation {
        tokio::spawn(relocation.run(metrics.clone(), pauses.flag()));
    }
    tokio::spawn(server::serve(ControlledWorker {
        name: name.to_string(),
        routes: routes.clone(),
        news: news.clone(),
        started: Instant::now(),
        metrics,
        own: own.clone(),
        pauses: pauses.clone(),
        drain: drain.clone(),
    }));
    // Draining is part of a session: after a signal, it ends when the last report is acknowledged.
    let requests = LeaveRequests { drain, pause: pauses.flag() };
    let departure = remote::serve_all(&mut workers, &routes, &news, &requests, &own).await;
    workers.into_iter().for_each(|(_, worker)| worker.stop());
    Ok(departure?)
}

/// Starts what watches the worker until the process ends: its pauses, its idle time, its progress. Whether it may count
/// now is known before this returns.
async fn watch(
    manners: MannersArgs,
    metrics: &Arc<Metrics>,
    own: &OwnNumbers,
    pauses: &PauseControl,
    drain: &CancellationToken,
) {
    let (policy, sensors) = (manners.policy(), manners.sensors());
    pauses.check(&policy, &sensors).await;
    if let Some(limit) = manners.idle_timeout {
        let (metrics, pause, drain) = (metrics.clone(), pauses.flag(), drain.clone());
        tokio::spawn(async move {
            has_been_idle(limit, &metrics, &pause).await;
            info!("there was nothing to count for {limit:?}, the limit of --idle-timeout: leaving");
            drain.cancel();
        });
    }
    let pauses = pauses.clone();
    tokio::spawn(async move { pauses.monitor(&policy, &sensors).await });
    let (metrics, own) = (metrics.clone(), own.clone());
    tokio::spawn(async move { progress::log(&metrics, &own).await });
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
