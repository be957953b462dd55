//! Serving workers and operators: as the coordinator that leads, and before that as one that stands by.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use queens_certificate::Key;
use queens_coordinator::store::StoreLocation;
use queens_coordinator::store::postgres::{LeaderCandidate, LeaderLease};
use queens_coordinator::{Standing, grpc};
use queens_event_loop::{Coordinator, Handle, StartError};
use queens_ledger::store::StoreError;
use queens_model::{JobState, ListenAddress};
use queens_runtime::{cancel_on_signal, default_threads, go_on_at_hangup, ready};
use queens_store::Archive;
use queens_store::sqlite::{DATABASE, SqliteStore};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::auth_setup::DoorArgs;
use super::listeners::Ports;
use super::quota_args::LimitArgs;
use super::stand_by::{NOT_YET, StandingBy, wait_to_lead};
use super::store::StoreArgs;

/// How long sessions may take to end after a signal, and when another coordinator leads, which waits for nobody.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
const SHORT_FAREWELL: Duration = Duration::from_millis(500);

/// A coordinator that has heard of no worker for so long, while some ask others, lets another lead.
const UNHEARD: Duration = Duration::from_secs(5);

/// The same for one that has heard of no worker since it leads. Whoever reaches the port of another can pretend to be a
/// worker there: the lead goes to and fro no faster than that.
const NEVER_HEARD: Duration = Duration::from_secs(10);

/// For how long it does not try to lead again then.
const REST: Duration = Duration::from_secs(6);

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address and port to serve workers and operators on; port 0 takes a free one
    #[arg(long, env = "QUEENS_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:50051")]
    listen: ListenAddress,

    /// Address and port to serve the web page, /metrics and the JSON API on, such as 127.0.0.1:8080; if not given, they
    /// are not served
    ///
    /// Without TLS there are no passwords either: whoever reaches it can submit and cancel jobs.
    #[arg(long, env = "QUEENS_HTTP", value_name = "ADDRESS")]
    http: Option<ListenAddress>,

    /// Directory to keep jobs in; made if it is not there
    #[arg(long, env = "QUEENS_DATA_DIR", value_name = "DIR", default_value = "queens-data")]
    data_dir: PathBuf,

    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    door: DoorArgs,

    #[command(flatten)]
    limits: LimitArgs,
}

impl ServeArgs {
    /// Whether what they name is there and makes sense.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        self.door.tls()?;
        self.store.server()?;
        Ok(())
    }
}

/// Why a coordinator does not lead any more.
enum End {
    /// It was told to stop.
    Told,
    /// Its lead has ended.
    Superseded,
    /// It has given up its lead because workers reach only others.
    Unattended,
}

/// Serves until it is told to stop: as the only coordinator of its directory, or in turns with the others of its database.
pub(crate) fn serve(args: &ServeArgs) -> anyhow::Result<()> {
    // For signals alone.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async { go_on_at_hangup() }).context("failed to listen to signals")?;
    let ports = Ports::bind(&args.listen, args.http.as_ref(), &args.door, &args.limits);
    let ports = runtime.block_on(ports)?;
    let stop = CancellationToken::new();
    runtime.block_on(async { cancel_on_signal(stop.clone()) }).context("failed to listen to signals")?;
    let server = args.store.server()?;
    if server.is_some() && args.data_dir.join(DATABASE).exists() {
        let data_dir = args.data_dir.display();
        warn!(%data_dir, "there are jobs in the data directory as well: only those in the database are gone on with");
    }
    let Some(server) = server else {
        let store = SqliteStore::open(&args.data_dir)?.with_history();
        make_key(args);
        let coordinator = start(args, Box::new(store)).context("failed to go on with what is kept")?;
        return lead(args, &ports, coordinator, None, &stop).map(drop);
    };
    let place = args.door.place(ports.local_addr()?, ports.tls.as_deref());
    args.door.note_place(StoreLocation::Server(server.clone()), place, stop.clone())?;
    let own = ports.contact(&args.door)?;
    let mut candidate = LeaderCandidate::new(server, own.clone(), &args.data_dir);
    let (mut standing_by, mut not_before) = (None, Instant::now());
    while let Some((store, stood_by)) =
        wait_to_lead(&mut candidate, &own, &ports, standing_by.take(), not_before, &stop)?
    {
        make_key(args);
        let lease = store.lease();
        let coordinator = match start(args, Box::new(store)) {
            Ok(coordinator) => coordinator,
            Err(StartError::Store(error)) if error.may_heal() || matches!(error, StoreError::Fenced(_)) => {
                warn!(%error, "failed to begin to lead");
                standing_by = stood_by;
                continue;
            }
            Err(error) => return Err(error).context("failed to go on with what is kept"),
        };
        drop(stood_by);
        not_before = match lead(args, &ports, coordinator, Some(&lease), &stop)? {
            End::Told => return Ok(()),
            End::Superseded => Instant::now(),
            End::Unattended => Instant::now() + REST,
        };
        standing_by = Some(StandingBy::start(&ports, Standing::Unled(NOT_YET))?);
    }
    Ok(())
}

/// Makes the directory and the key in it that signs certificates.
fn make_key(args: &ServeArgs) {
    // If it can't be made, neither can the key.
    _ = fs::create_dir_all(&args.data_dir);
    if let Err(error) = Key::of_directory(&args.data_dir) {
        warn!(%error, "there is no key to sign certificates with");
    }
}

fn start(args: &ServeArgs, store: Box<dyn Archive>) -> Result<Coordinator, StartError> {
    let coordinator = Coordinator::start(store, default_threads(), args.limits.reporting())?;
    for job in coordinator.handle().snapshot().jobs.iter().filter(|job| job.state == JobState::Damaged) {
        let (id, reason) = (job.id, job.failure.as_deref().unwrap_or_default());
        error!(job = %id, reason, "what is stored of a job contradicts itself: it is set aside");
    }
    Ok(coordinator)
}

/// Serves in a runtime of its own, so that nothing of it goes on for long when the lead has ended.
fn lead(
    args: &ServeArgs,
    ports: &Ports,
    coordinator: Coordinator,
    lease: Option<&LeaderLease>,
    stop: &CancellationToken,
) -> anyhow::Result<End> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(serve_as_leader(args, ports, coordinator, lease, stop));
    let is_over = matches!(ended, Ok(End::Told) | Err(_));
    runtime.shutdown_timeout(if is_over { DRAIN_TIMEOUT } else { SHORT_FAREWELL });
    ended
}

async fn serve_as_leader(
    args: &ServeArgs,
    ports: &Ports,
    coordinator: Coordinator,
    lease: Option<&LeaderLease>,
    told: &CancellationToken,
) -> anyhow::Result<End> {
    let stop = told.child_token();
    let store = args.store.whereabouts(&args.data_dir)?;
    let place = args.door.place(ports.local_addr()?, ports.tls.as_deref());
    let authenticator = args.door.authenticator(&store, place, args.limits.quota(), stop.clone())?;
    if let Some(tls) = &ports.tls {
        tls.follow(stop.clone()).context("failed to listen to signals")?;
        info!(pin = %tls.pin(), "connections are encrypted, and only who is invited gets in");
    }
    info!(address = %ports.local_addr()?, data_dir = %args.data_dir.display(), "listening");
    let handle = coordinator.handle();
    let server =
        grpc::serve_invited(ports.for_workers()?, handle.clone(), authenticator.clone(), stop.clone());
    let server = tokio::spawn(server);
    let site = ports
        .for_pages()?
        .map(|(site, limits)| tokio::spawn(site.serve(limits, handle.clone(), authenticator, stop.clone())));
    ready();
    let end = tokio::select! {
        () = told.cancelled() => Ok(End::Told),
        end = tenure_ended(lease, &handle) => Ok(end),
        () = coordinator.stopped() => match lease {
            Some(lease) if lease.has_ended() => Ok(End::Superseded),
            _ => Err("the ledger's thread has ended".to_owned()),
        },
    };
    // The lead of one that goes on no more ends with its store.
    let end = handle.snapshot().damage.clone().map_or(end, Err);
    let patience = match end {
        Ok(End::Superseded) => {
            warn!("this coordinator leads no more: nothing is acknowledged that is not recorded");
            SHORT_FAREWELL
        }
        Ok(End::Unattended) => {
            warn!("no worker is heard here, and some ask another coordinator: it may lead");
            SHORT_FAREWELL
        }
        Ok(End::Told) | Err(_) => {
            info!("stopping");
            DRAIN_TIMEOUT
        }
    };
    stop.cancel();
    // Closes all sessions, so that the server can end.
    let stopped = tokio::task::spawn_blocking(move || coordinator.stop());
    if matches!(end, Ok(End::Told) | Err(_)) {
        stopped.await?;
    } else if tokio::time::timeout(patience, stopped).await.is_err() {
        info!("what was being written has no answer: it counts only if it was recorded in time");
    }
    if let Ok(ended) = tokio::time::timeout(patience, server).await {
        ended?.context("the gRPC server failed")?;
    }
    if let Some(site) = site
        && let Ok(ended) = tokio::time::timeout(patience, site).await
    {
        ended?.context("the HTTP server failed")?;
    }
    end.map_err(anyhow::Error::msg)
}

/// Returns when the lead has ended, or should.
async fn tenure_ended(lease: Option<&LeaderLease>, handle: &Handle) -> End {
    let Some(lease) = lease else { return std::future::pending().await };
    let began = Instant::now();
    let is_unheard = || {
        let since_worker_contact = handle.since_worker_contact();
        since_worker_contact >= if since_worker_contact < began.elapsed() { UNHEARD } else { NEVER_HEARD }
    };
    let unattended = async {
        while !(lease.has_standby_contact() && is_unheard()) {
            tokio::time::sleep(SHORT_FAREWELL).await;
        }
    };
    tokio::select! {
        // First: who was stopped for a while has heard of nobody either.
        biased;
        () = lease.ended() => End::Superseded,
        () = unattended => {
            lease.end();
            End::Unattended
        }
    }
}
