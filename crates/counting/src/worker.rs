//! A worker with running threads.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};

use queens_gpu::CardId;
use queens_model::{HalvesSkill, Hello, Name, Speed, ToCoordinator, ToWorker, WorkerId};
use queens_platform::{VERSION, lower_thread_priority, machine_identity};
use queens_solver::Method;
use queens_worker_session::{ChunkAim, WorkerSession};
use tokio::sync::{Semaphore, mpsc};
use tracing::{error, warn};

use crate::config::{Config, Device};
use crate::counter::Counter;
use crate::counting;
use crate::leave_requests::LeaveRequests;
use crate::metrics::Metrics;
use crate::sensor_monitor::{LastSensors, SensorMonitor};
use crate::session::{self, End, TO_COORDINATOR, TO_WORKER};
use crate::shared_queue::SharedQueue;

/// How many times as fast as a thread of the processor a thread of one of NVIDIA's cards is thought to be until it is
/// measured. A first lease is meant for a tenth of a second, and a large card ends it sooner.
const CARD_SPEED: f64 = 20.0;

/// A worker with running threads. It outlives its sessions, and keeps its leases and counts between them.
#[derive(Debug)]
pub struct Worker {
    session: WorkerSession,
    queue: Arc<SharedQueue>,
    /// Whether a session with a coordinator exists, for the metrics.
    is_connected: Arc<AtomicBool>,
    /// Has a permit of each thread that has opened its card.
    is_ready: Arc<Semaphore>,
    threads: Vec<JoinHandle<()>>,
    sensors: LastSensors,
    /// Reads the sensors, on a worker that counts on a card.
    monitor: Option<SensorMonitor>,
}

impl Worker {
    /// Starts the threads, which wait for leases. Their metrics are added to those of the process.
    ///
    /// # Errors
    /// If a thread can't be started.
    pub fn start(config: Config, metrics: &Metrics) -> io::Result<Self> {
        let (aim, times_as_fast) = match config.device {
            Device::Processor(_) => (ChunkAim::PROCESSOR, 1.0),
            Device::Card(CardId::Cuda(_)) => (ChunkAim::CARD, CARD_SPEED),
            // It may be anything, even a processor.
            Device::Card(CardId::OpenCl(_)) => (ChunkAim::CARD, 1.0),
        };
        let queue = Arc::new(SharedQueue::new(aim));
        let counters = metrics.chunk_counters(config.device);
        let kernel = config.kernel;
        let all: Vec<Counter> = match config.device {
            Device::Processor(n_threads) => (0..n_threads.get()).map(|_| Counter::kernel(kernel)).collect(),
            Device::Card(card) => Counter::of_card(card, kernel, any_number().0),
        };
        let sensors = LastSensors::default();
        let monitor = match config.device {
            Device::Processor(_) => None,
            Device::Card(card) => Some(SensorMonitor::start(card, sensors.clone())?),
        };
        let is_connected = metrics.add(&config, queue.clone(), sensors.clone());
        let is_ready = Arc::new(Semaphore::new(0));
        let mut threads = Vec::with_capacity(all.len());
        for (i, counter) in all.into_iter().enumerate() {
            let (queue, counters, is_ready) = (queue.clone(), counters.clone(), is_ready.clone());
            let (duty, board, mut counter) = (config.duty, config.board, counter);
            let count = move || {
                if config.is_nice
                    && let Err(error) = lower_thread_priority()
                {
                    warn!(%error, "failed to lower the priority of a counting thread further");
                }
                if let Some(n) = board {
                    _ = counter.opens_card(n, Method::Halves, &AtomicBool::new(false));
                }
                is_ready.add_permits(1);
                counting::run(&queue, counter, duty, &counters);
            };
            threads.push(thread::Builder::new().name(format!("count-{i}")).spawn(count)?);
        }
        // A guess until it is measured. A card counts only halves.
        let search = Speed::from(Method::Search.typical_speed(kernel));
        let halves = Speed::from(Method::Halves.typical_speed(kernel));
        let halves = Speed::try_from(times_as_fast * halves.get()).unwrap_or(halves);
        let counter_name = Name::of_any(config.counter_name());
        let hello = Hello {
            worker: any_number(),
            name: config.name,
            build: Name::of_any(VERSION),
            kernel: counter_name,
            n_threads: u32::try_from(threads.len()).unwrap_or(u32::MAX),
            speed: search,
            decomposition: Method::Search.decomposition(),
            halves: HalvesSkill { decomposition: Method::Halves.decomposition(), speed: halves },
            machine: machine_number(),
            held: Vec::new(),
        };
        Ok(Self {
            session: WorkerSession::new(hello),
            queue,
            is_connected,
            is_ready,
            threads,
            sensors,
            monitor,
        })
    }

    /// Returns the flag that says in the metrics whether a session with a coordinator exists.
    #[must_use]
    pub fn is_connected(&self) -> Arc<AtomicBool> {
        self.is_connected.clone()
    }

    /// Waits until the threads have opened the card for the board that the configuration names.
    pub async fn is_ready(&self) {
        let n_threads = u32::try_from(self.threads.len()).unwrap_or(u32::MAX);
        drop(self.is_ready.acquire_many(n_threads).await);
    }

    /// Begins a session. Returns what runs it, and the channels of its messages, of which dropping one breaks the link:
    /// from the worker, beginning with its Hello, and to it.
    ///
    /// The session runs until the link breaks or a request makes the worker leave. Then it stops counting, reports its
    /// counts and says goodbye.
    pub fn begin<'a>(
        &'a mut self,
        requests: &'a LeaveRequests,
    ) -> (impl Future<Output = End> + 'a, mpsc::Receiver<ToCoordinator>, mpsc::Sender<ToWorker>) {
        let (sender, from_worker) = mpsc::channel(TO_COORDINATOR);
        let (to_worker, receiver) = mpsc::channel(TO_WORKER);
        let link = (sender, receiver);
        let run = session::run(&mut self.session, &self.queue, &self.sensors, link, requests);
        (run, from_worker, to_worker)
    }

    /// Stops counting. Until [`resume`](Self::resume), sessions only report counts and give leases back.
    pub fn pause(&mut self) {
        self.queue.at(|queue| self.session.pause(queue));
    }

    /// Returns whether the worker begins no new chunk, because it is paused or leaves.
    #[must_use]
    pub fn begins_nothing(&self) -> bool {
        self.session.begins_nothing()
    }

    /// Lets the next session count again.
    pub fn resume(&mut self) {
        self.session.resume();
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
        drop(self.monitor);
    }
}

/// Returns a random number, almost certainly unique among workers.
fn any_number() -> WorkerId {
    WorkerId(RandomState::new().build_hasher().finish())
}

/// Returns a number that all programs on this machine share, constant at least until it reboots: a hash of its
/// [identity](queens_platform::machine_identity). It reveals nothing of the machine, its owner or its place. Without an
/// identity, the number identifies this process. A recount should not run on the machine of the first count, whose
/// memory may be faulty: the number is enough for that.
fn machine_number() -> u64 {
    machine_identity().map_or_else(|| any_number().0, |identity| hash(&identity)).max(1)
}

/// Computes FNV-1a: programs of all versions must compute the same number.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    b"queens machine".iter().chain(bytes).fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_one_number() {
        assert_ne!(hash(b"one"), hash(b"two"));
        assert_eq!(hash(b""), 0x449e_9d55_a634_4c23, "the same in all versions");
        if machine_identity().is_some() {
            assert_eq!(machine_number(), machine_number());
        }
    }
}
