//! A worker with running threads.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use queens_gpu::CardId;
use queens_model::{HalvesSkill, Name, ToCoordinator, ToWorker, WorkerId};
use queens_proto::Link;
use queens_runtime::VERSION;
use queens_solver::Method;
use queens_worker_session::{Identity, WorkerSession};
use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::config::Config;
use crate::counter::Counter;
use crate::counting;
use crate::machine;
use crate::metrics::{ChunkCounters, Metrics};
use crate::session::{self, End};
use crate::shared_queue::SharedQueue;

/// A worker with running threads. It outlives its sessions, and keeps its leases and counts between them.
#[derive(Debug)]
pub struct Worker {
    session: WorkerSession,
    queue: Arc<SharedQueue>,
    metrics: Arc<Metrics>,
    threads: Vec<JoinHandle<()>>,
}

impl Worker {
    /// Starts the threads, which wait for leases.
    ///
    /// # Errors
    /// If a thread can't be started.
    pub fn start(config: Config) -> io::Result<Self> {
        let queue = Arc::new(SharedQueue::default());
        let counters = ChunkCounters::new();
        let kernel = config.kernel;
        let of_card = |card: &CardId| Counter::of_card(*card, kernel, any_number().0);
        let mut all: Vec<Counter> = config.cards.iter().flat_map(of_card).collect();
        if all.is_empty() {
            all.extend((0..config.n_threads.get()).map(|_| Counter::kernel(kernel)));
        }
        let metrics = Arc::new(Metrics::new(&config, all.len(), &counters, queue.clone()));
        let mut threads = Vec::with_capacity(all.len());
        for (i, counter) in all.into_iter().enumerate() {
            let (queue, counters, duty) = (queue.clone(), counters.clone(), config.duty);
            let count = move || counting::run(&queue, counter, duty, &counters);
            threads.push(thread::Builder::new().name(format!("count-{i}")).spawn(count)?);
        }
        // A guess until it is measured. The first leases of a card are small, and grow with its measured speed.
        let speed = |method: Method| method.typical_speed(kernel).into();
        let counter_name = Name::of_any(config.counter_name());
        let identity = Identity {
            worker: any_number(),
            name: config.name,
            build: Name::of_any(VERSION),
            kernel: counter_name,
            n_threads: u32::try_from(threads.len()).unwrap_or(u32::MAX),
            speed: speed(Method::Search),
            halves: HalvesSkill {
                decomposition: Method::Halves.decomposition(),
                speed: speed(Method::Halves),
            },
            machine: machine::number(),
        };
        Ok(Self { session: WorkerSession::new(identity), queue, metrics, threads })
    }

    /// Returns the worker's metrics for Prometheus.
    #[must_use]
    pub fn metrics(&self) -> Arc<Metrics> {
        self.metrics.clone()
    }

    /// Runs one session over a link. When `drain` is cancelled, the worker stops counting, reports its counts and says
    /// goodbye.
    pub async fn serve(&mut self, link: Link<ToCoordinator, ToWorker>, drain: &CancellationToken) -> End {
        session::run(&mut self.session, &self.queue, link, drain).await
    }

    /// Draws a new number for the next session, because another worker has this one's. Leases and counts are kept.
    pub fn renumber(&mut self) {
        self.session.renumber(any_number());
    }

    /// Returns whether there are counts that no coordinator has acknowledged.
    #[must_use]
    pub fn has_counted(&self) -> bool {
        self.queue.at(|queue| self.session.has_counted(queue))
    }

    /// Returns whether the worker would lose anything if it ended now.
    #[must_use]
    pub fn has_something(&self) -> bool {
        self.queue.at(|queue| self.session.has_something(queue))
    }

    /// Ends the threads and abandons their current chunks.
    pub fn stop(self) {
        self.queue.close();
        for thread in self.threads {
            if thread.join().is_err() {
                error!("a counting thread panicked");
            }
        }
    }
}

/// Returns a random number, almost certainly unique among workers.
fn any_number() -> WorkerId {
    WorkerId(RandomState::new().build_hasher().finish())
}
