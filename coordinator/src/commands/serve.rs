//! The main command: runs a coordinator as standby until it leads, then as leader.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::Context;
use clap::Args;
use queens_certificate::Key;
use queens_event_loop::{Coordinator, Handle, StartError};
use queens_ledger::store::StoreError;
use queens_model::{JobState, ListenAddress, PageUrl};
use queens_platform::Hangups;
use queens_program::{ready, stop_on_signal};
use queens_store::Archive;
use queens_store::postgres::{LeaderCandidate, LeaderLease, LeaderView, StoreLocation};
use queens_store::sqlite::{DATABASE, SqliteStore};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::auth_setup::AuthArgs;
use super::listeners::{LimitArgs, Ports};
use super::stand_by::{NOT_YET, StandingBy, wait_to_lead};
use super::store::StoreArgs;
use crate::grpc;
use crate::http::{ImageName, PageOptions};

/// How long sessions may take to end after a signal; and after a loss of the lease, when the new leader does not wait.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
const SHORT_DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// A leader without contact to workers for this long gives up the lease, if workers ask a standby.
const UNHEARD: Duration = Duration::from_secs(5);

/// The same for a leader that no worker has contacted yet. Anybody who reaches a standby's port can pretend to be a
/// worker: this bounds how fast the lease can change hands.
const NEVER_HEARD: Duration = Duration::from_secs(10);

/// How long it then does not try to lead again.
const REST: Duration = Duration::from_secs(6);

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address and port for workers and operators; port 0 picks a free one
    #[arg(long, env = "QUEENS_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:50051")]
    listen: ListenAddress,

    /// Address and port for the web pages, /metrics and the JSON API, such as 127.0.0.1:8080; off by default
    ///
    /// Without TLS there is no authentication: anybody who reaches it can submit and cancel jobs.
    #[arg(long, env = "QUEENS_HTTP", value_name = "ADDRESS")]
    http: Option<ListenAddress>,

    /// Directory for jobs; created if it does not exist
    #[arg(long, env = "QUEENS_DATA_DIR", value_name = "DIR", default_value = "queens-data")]
    data_dir: PathBuf,

    /// Serve public pages without log-in: /public lists the jobs, /people the people who joined by a link
    ///
    /// People appear under the names that they chose. The pages show no addresses, machines or names of workers.
    #[arg(long, env = "QUEENS_PUBLIC", requires = "http")]
    public: bool,

    /// Page about this count, with a place to get the programs: the page of a campaign links it, and workers are told
    /// of it when they need another version, have to wait, or are done [default: none]
    #[arg(long, env = "QUEENS_ABOUT_URL", value_name = "URL")]
    about_url: Option<PageUrl>,

    /// OCI image of the programs, such as ghcr.io/example/queens: the page of a campaign shows how to count by Docker
    /// [default: none]
    #[arg(long, env = "QUEENS_IMAGE", value_name = "IMAGE", requires = "http")]
    image: Option<ImageName>,

    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    auth: AuthArgs,

    #[command(flatten)]
    limits: LimitArgs,
}

impl ServeArgs {
    /// Checks that the referenced files exist and are valid.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        self.auth.tls()?;
        self.store.server()?;
        Ok(())
    }
}

/// Why a coordinator stops leading.
enum End {
    /// It was stopped.
    Told,
    /// Its lease has expired.
    Superseded,
    /// It has given up the lease because workers only reach others.
    Unattended,
}

/// Serves until it is stopped: as the only coordinator of its directory, or in turns with the others of its database.
pub(crate) fn serve(args: &ServeArgs) -> anyhow::Result<()> {
    // Handles signals only.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    // From here on a hangup is a request to read files again, which ends nothing, also where nobody listens.
    runtime.block_on(async { Hangups::new() }).context("failed to listen to signals")?;
    let ports = Ports::bind(&args.listen, args.http.as_ref(), &args.auth, &args.limits);
    let ports = runtime.block_on(ports)?;
    let stop = runtime.block_on(async { stop_on_signal() })?;
    let server = args.store.server()?;
    if server.is_some() && args.data_dir.join(DATABASE).exists() {
        let data_dir = args.data_dir.display();
        warn!(%data_dir, "there are jobs in the data directory as well: only those in the database are gone on with");
    }
    let Some(server) = server else {
        let store = SqliteStore::open(&args.data_dir)?.with_history();
        make_key(args);
        let coordinator = start(args, Box::new(store)).context("failed to continue with the stored jobs")?;
        return lead(args, &ports, coordinator, None, &stop).map(drop);
    };
    let place = ports.place(&args.auth)?;
    args.auth.note_place(StoreLocation::Server(server.clone()), place, stop.clone())?;
    let own = ports.contact(&args.auth)?;
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
            Err(error) => return Err(error).context("failed to continue with the stored jobs"),
        };
        drop(stood_by);
        not_before = match lead(args, &ports, coordinator, Some(&lease), &stop)? {
            End::Told => return Ok(()),
            End::Superseded => Instant::now(),
            End::Unattended => Instant::now() + REST,
        };
        standing_by = Some(StandingBy::start(&ports, LeaderView::Unled(NOT_YET))?);
    }
    Ok(())
}

/// Creates the data directory, and the key in it that signs certificates.
fn make_key(args: &ServeArgs) {
    // The next call reports a failure.
    _ = fs::create_dir_all(&args.data_dir);
    if let Err(error) = Key::of_directory(&args.data_dir) {
        warn!(%error, "there is no key to sign certificates with");
    }
}

fn start(args: &ServeArgs, store: Box<dyn Archive>) -> Result<Coordinator, StartError> {
    let n_planning = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let coordinator = Coordinator::start(store, n_planning, args.limits.reporting())?;
    for job in coordinator.handle().snapshot().jobs.iter().filter(|job| job.state == JobState::Damaged) {
        let (id, reason) = (job.id, job.failure.as_deref().unwrap_or_default());
        error!(job = %id, reason, "the stored data of a job are inconsistent: it is set aside");
    }
    Ok(coordinator)
}

/// Serves in a runtime of its own, which is shut down soon after the lease ends.
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
    runtime.shutdown_timeout(if is_over { DRAIN_TIMEOUT } else { SHORT_DRAIN_TIMEOUT });
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
    let store = args.store.location(&args.data_dir)?;
    let place = ports.place(&args.auth)?;
    let authenticator = args.auth.authenticator(&store, place, args.limits.quota(), stop.clone())?;
    if let Some(tls) = &ports.tls {
        tls.follow(stop.clone()).context("failed to listen to signals")?;
        info!(pin = %tls.pin(), "connections are encrypted and need an invitation");
    }
    info!(address = %ports.local_addr()?, data_dir = %args.data_dir.display(), "listening");
    let handle = coordinator.handle();
    let (workers, about) = (ports.for_workers()?, args.about_url.clone());
    let server = grpc::serve(workers, handle.clone(), authenticator.clone(), about, stop.clone());
    let server = tokio::spawn(server);
    let options = PageOptions {
        is_public: args.public,
        about: args.about_url.clone(),
        image: args.image.clone(),
        url: ports.contact(&args.auth)?.url,
    };
    let site = ports
        .for_pages()?
        .map(|site| tokio::spawn(site.serve(handle.clone(), authenticator, options, stop.clone())));
    ready();
    let end = tokio::select! {
        () = told.cancelled() => Ok(End::Told),
        end = lease_ended(lease, &handle) => Ok(end),
        () = coordinator.stopped() => match lease {
            Some(lease) if lease.has_ended() => Ok(End::Superseded),
            _ => Err("the ledger's thread has ended".to_owned()),
        },
    };
    // After a failure of the store, the reason is in the snapshot.
    let end = handle.snapshot().damage.clone().map_or(end, Err);
    let patience = match end {
        Ok(End::Superseded) => {
            warn!("this coordinator leads no more: nothing is acknowledged that is not recorded");
            SHORT_DRAIN_TIMEOUT
        }
        Ok(End::Unattended) => {
            warn!("no worker is heard here, and some ask another coordinator: it may lead");
            SHORT_DRAIN_TIMEOUT
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
        info!("the last write has no answer: it counts only if it was recorded in time");
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

/// Waits until the lease has ended, or the leader should give it up.
async fn lease_ended(lease: Option<&LeaderLease>, handle: &Handle) -> End {
    let Some(lease) = lease else { return std::future::pending().await };
    let began = Instant::now();
    let is_unheard = || {
        let since_worker_contact = handle.loop_monitor.since_worker_contact();
        since_worker_contact >= if since_worker_contact < began.elapsed() { UNHEARD } else { NEVER_HEARD }
    };
    let unattended = async {
        while !(lease.has_standby_contact() && is_unheard()) {
            tokio::time::sleep(SHORT_DRAIN_TIMEOUT).await;
        }
    };
    tokio::select! {
        // The lease first: a process that was suspended has not heard of workers either.
        biased;
        () = lease.ended() => End::Superseded,
        () = unattended => {
            lease.end();
            End::Unattended
        }
    }
}
