//! Waits as a standby until this coordinator leads.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use queens_ledger::store::StoreError;
use queens_program::{complain, ready};
use queens_store::postgres::{Contact, LeaderCandidate, LeaderView, PostgresStore, Standby};
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::listeners::Ports;
use crate::grpc;

/// How long to wait before the next attempt to lead.
const RETRY: Duration = Duration::from_millis(500);

/// How long answers in progress may take when this coordinator begins to lead.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

pub(crate) const NOT_YET: &str = "who leads is not known yet";
const UNREACHABLE: &str = "its database can't be reached";
const ABOUT_TO_LEAD: &str = "it is about to lead";
const NOBODY: &str = "there is no leader at the moment";
const NAMESAKE: &str = "one with the same URL leads, or did seconds ago";

/// The servers of a standby coordinator; stopped on drop.
#[derive(Debug)]
pub(crate) struct StandingBy {
    standby: Standby,
    stop: CancellationToken,
    runtime: Option<Runtime>,
}

impl StandingBy {
    pub(crate) fn start(ports: &Ports, leader: LeaderView) -> anyhow::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (standby, stop) = (Standby::new(leader), CancellationToken::new());
        let serving = async {
            if let Some(tls) = &ports.tls {
                tls.follow(stop.clone()).context("failed to listen to signals")?;
            }
            let served = grpc::stand_by(ports.for_workers()?, standby.clone(), stop.clone());
            tokio::spawn(async { served.await.unwrap_or_else(|error| failed("gRPC", &error)) });
            if let Some(site) = ports.for_pages()? {
                let served = site.stand_by(standby.clone(), stop.clone());
                tokio::spawn(async { served.await.unwrap_or_else(|error| failed("HTTP", &error)) });
            }
            anyhow::Ok(())
        };
        runtime.block_on(serving)?;
        info!(address = %ports.local_addr()?, "standing by");
        ready();
        Ok(Self { standby, stop, runtime: Some(runtime) })
    }
}

impl Drop for StandingBy {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(DRAIN_TIMEOUT);
        }
    }
}

fn failed(server: &str, error: &dyn std::error::Error) {
    complain(&format!("the {server} server of a coordinator that stands by failed: {error}"));
}

/// Waits until this coordinator leads, not before a given time; `None` if it is stopped. If other coordinators lead,
/// standby servers start. They are returned with the lease, and run until they are dropped.
pub(crate) fn wait_to_lead(
    candidate: &mut LeaderCandidate,
    own: &Contact,
    ports: &Ports,
    mut standing_by: Option<StandingBy>,
    not_before: Instant,
    stop: &CancellationToken,
) -> anyhow::Result<Option<(PostgresStore, Option<StandingBy>)>> {
    while !stop.is_cancelled() {
        let may_lead = Instant::now() >= not_before;
        let stood = if may_lead { candidate.try_to_lead() } else { candidate.current_leader().map(Err) };
        let (leader, why) = match stood {
            Ok(Ok(store)) => {
                if let Some(standing_by) = &standing_by {
                    standing_by.standby.set_leader(LeaderView::Unled(ABOUT_TO_LEAD));
                }
                return Ok(Some((store, standing_by)));
            }
            Ok(Err(Some(leader))) if leader != *own => (LeaderView::Led(leader), None),
            Ok(Err(Some(_))) => (LeaderView::Unled(NAMESAKE), None),
            Ok(Err(None)) => (LeaderView::Unled(NOBODY), None),
            Err(StoreError::Failed(reason)) => (LeaderView::Unled(UNREACHABLE), Some(reason)),
            Err(error) => return Err(error.into()),
        };
        let is_away = why.is_some();
        let reason = why.unwrap_or_else(|| leader.to_string());
        let (standing_by, is_news) = match &mut standing_by {
            Some(standing_by) => {
                let is_news = standing_by.standby.set_leader(leader);
                (standing_by, is_news)
            }
            None => (standing_by.insert(StandingBy::start(ports, leader)?), true),
        };
        if is_news && is_away {
            warn!(reason, "waiting to lead");
        } else if is_news {
            info!(reason, "waiting to lead");
        }
        if standing_by.standby.take_contact()
            && let Err(error) = candidate.note_standby_contact()
        {
            info!(%error, "the leader is not told that workers connect here");
        }
        thread::sleep(RETRY);
    }
    Ok(None)
}
