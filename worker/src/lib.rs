//! A worker: counting threads, and the session in which it gets leases and reports what they count to.
//!
//! The threads count and know nothing of networks; the session talks and counts nothing. Between them is a
//! *desk*: the leases, what is left of each and what is counted but not yet reported.

mod counting;
mod desk;
pub mod http;
mod metrics;
pub mod remote;
mod session;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use queens_messages::{Name, Report, ToCoordinator, ToWorker, WorkerId};
use queens_proto::Link;
use queens_solver::Kernel;
use tokio_util::sync::CancellationToken;
use tracing::error;

use desk::Desk;
use metrics::Counters;

pub use metrics::Metrics;

/// What a worker is.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name people know it by.
    pub name: Name,
    /// What it counts with.
    pub kernel: Kernel,
    /// How many threads count.
    pub n_threads: NonZeroUsize,
}

/// A worker with running threads. Outlives its sessions: what it holds and has counted is kept between them.
#[derive(Debug)]
pub struct Worker {
    id: WorkerId,
    config: Config,
    desk: Arc<Desk>,
    metrics: Arc<Metrics>,
    threads: Vec<JoinHandle<()>>,
    /// Sent and not acknowledged yet, oldest first.
    unacknowledged: Vec<Report>,
    /// Whether it is on its way out, and begins nothing more.
    sent_home: bool,
    next_sequence: u64,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The worker was told to leave and has left: all it counted is acknowledged, if the coordinator still answered.
    Drained,
    /// The link broke; another session can go on.
    LinkLost,
}

impl Worker {
    /// Starts the threads, which wait for leases.
    ///
    /// # Errors
    /// If a thread can't be started.
    pub fn start(config: Config) -> io::Result<Self> {
        let desk = Arc::new(Desk::default());
        let counters = Counters::new();
        let metrics = Arc::new(Metrics::new(&config, &counters, desk.clone()));
        let mut threads = Vec::with_capacity(config.n_threads.get());
        for i in 0..config.n_threads.get() {
            let (desk, kernel, counters) = (desk.clone(), config.kernel, counters.clone());
            let count = move || counting::run(&desk, kernel, &counters);
            threads.push(thread::Builder::new().name(format!("count-{i}")).spawn(count)?);
        }
        let id = WorkerId(RandomState::new().build_hasher().finish());
        Ok(Self {
            id,
            config,
            desk,
            metrics,
            threads,
            unacknowledged: Vec::new(),
            sent_home: false,
            next_sequence: 1,
        })
    }

    /// Its numbers for Prometheus.
    #[must_use]
    pub fn metrics(&self) -> Arc<Metrics> {
        self.metrics.clone()
    }

    /// Holds one session over a link. When `drain` is cancelled, it stops counting, reports what is counted and says
    /// goodbye.
    pub async fn serve(&mut self, link: Link<ToCoordinator, ToWorker>, drain: &CancellationToken) -> End {
        session::run(self, link, drain).await
    }

    /// Ends the threads; the chunks in hand are abandoned.
    pub fn stop(self) {
        self.desk.close();
        for thread in self.threads {
            if thread.join().is_err() {
                error!("a counting thread panicked");
            }
        }
    }
}
