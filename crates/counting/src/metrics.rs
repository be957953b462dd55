//! Metrics of a process and its workers, for Prometheus, with the temperature, power and clock of cards.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use queens_model::CardSensors;
use queens_solver::{Count, DECOMPOSITION_VERSION, Method};

use crate::config::{Config, Device};
use crate::sensor_monitor::LastSensors;
use crate::shared_queue::SharedQueue;

/// A worker's counters, which each kernel call updates at the cost of a few additions.
#[derive(Clone, Debug)]
pub(crate) struct ChunkCounters {
    // Floating point, so that they can't wrap.
    work: BTreeMap<Method, Counter<f64, AtomicU64>>,
    solutions: Counter<f64, AtomicU64>,
    chunk: Histogram,
    pub(crate) tally: Arc<Tally>,
}

/// The sums of some threads, which each chunk updates at the cost of two additions.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    n_subproblems: AtomicU64,
    // Wraps after half a million years.
    microseconds: AtomicU64,
}

impl Tally {
    /// Adds a chunk that took `time`.
    pub(crate) fn add(&self, n_subproblems: u64, time: Duration) {
        self.n_subproblems.fetch_add(n_subproblems, Ordering::Relaxed);
        let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(microseconds, Ordering::Relaxed);
    }

    pub(crate) fn n_subproblems(&self) -> u64 {
        self.n_subproblems.load(Ordering::Relaxed)
    }

    pub(crate) fn thread_time(&self) -> Duration {
        Duration::from_micros(self.microseconds.load(Ordering::Relaxed))
    }
}

/// The metrics of a process with its workers, encoded on request.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    build: Family<Build, ConstGauge<i64>>,
    work: Family<OfMethod, Counter<f64, AtomicU64>>,
    solutions: Family<OfDevice, Counter<f64, AtomicU64>>,
    chunk: Family<OfDevice, Histogram, fn() -> Histogram>,
    workers: Arc<Mutex<Vec<WorkerToWatch>>>,
    /// Of the processor, and of all cards.
    tallies: [Arc<Tally>; 2],
}

/// What a process has counted since it started, recorded or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Subproblems of all jobs, by both methods.
    pub n_subproblems: u64,
    /// The processor time of counting.
    pub core_time: Duration,
    /// The time that threads of cards counted. A card has several threads, which take turns.
    pub card_thread_time: Duration,
}

/// What the workers of a process do now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Workers: the processor, and each card.
    pub n_workers: usize,
    /// Workers with a session.
    pub n_connected: usize,
    /// Leases that are counted or wait to be.
    pub n_leases: usize,
    /// What all of them have counted since the process started, recorded or not.
    pub counted: Counted,
}

/// A worker whose state is read when the metrics are encoded.
#[derive(Debug)]
struct WorkerToWatch {
    device: Device,
    n_threads: usize,
    queue: Arc<SharedQueue>,
    is_connected: Arc<AtomicBool>,
    sensors: LastSensors,
}

impl ChunkCounters {
    /// Records a chunk that this method counted in `time`.
    pub(crate) fn counted(&self, method: Method, count: Count, time: Duration) {
        if let Some(work) = self.work.get(&method) {
            work.inc_by(count.work as f64);
        }
        self.solutions.inc_by(count.solutions as f64);
        self.chunk.observe(time.as_secs_f64());
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfMethod {
    device: String,
    method: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfDevice {
    device: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Build {
    version: &'static str,
    decomposition: u32,
    device: String,
    kernel: &'static str,
}

impl Metrics {
    /// Returns the metrics of a process without workers.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("queens_worker");
        let build = Family::<Build, ConstGauge<i64>>::new_with_constructor(|| ConstGauge::new(1));
        registry.register("build_info", "The running program, its kernels and cards", build.clone());
        let (work, solutions) = (Family::default(), Family::default());
        // Buckets from a millisecond to 33 seconds.
        let histogram: fn() -> Histogram = || Histogram::new(exponential_buckets(1e-3, 2.0, 16));
        let chunk = Family::new_with_constructor(histogram);
        let help = "Work counted, recorded or not: nodes by search, units of pairs by halves";
        registry.register("work", help, Clone::clone(&work));
        let help = "Solutions counted, without the weights of their parts";
        registry.register("solutions", help, Clone::clone(&solutions));
        registry.register_with_unit("chunk", "Time of a kernel call", Unit::Seconds, Clone::clone(&chunk));
        let workers = Arc::new(Mutex::new(Vec::new()));
        registry.register_collector(Box::new(Gauges(workers.clone())));
        Self { registry, build, work, solutions, chunk, workers, tallies: Default::default() }
    }

    /// Adds a worker; returns the flag that says whether it has a session with a coordinator.
    pub(crate) fn add(
        &self,
        config: &Config,
        queue: Arc<SharedQueue>,
        sensors: LastSensors,
    ) -> Arc<AtomicBool> {
        let (device, is_connected) = (config.device, Arc::new(AtomicBool::new(false)));
        drop(self.build.get_or_create(&Build {
            version: queens_platform::VERSION,
            decomposition: DECOMPOSITION_VERSION,
            device: device.to_string(),
            kernel: config.counter_name(),
        }));
        let n_threads = config.n_threads();
        let worker = WorkerToWatch { device, n_threads, queue, is_connected: is_connected.clone(), sensors };
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        is_connected
    }

    /// Returns a worker's counters. All series exist from the start, so that rates begin at 0.
    pub(crate) fn chunk_counters(&self, device: Device) -> ChunkCounters {
        let of_method = |method: Method| {
            let labels = OfMethod { device: device.to_string(), method: method.name() };
            (method, self.work.get_or_create_owned(&labels))
        };
        let of_device = OfDevice { device: device.to_string() };
        ChunkCounters {
            work: Method::ALL.into_iter().map(of_method).collect(),
            solutions: self.solutions.get_or_create_owned(&of_device),
            chunk: self.chunk.get_or_create_owned(&of_device),
            tally: self.tally(device).clone(),
        }
    }

    fn tally(&self, device: Device) -> &Arc<Tally> {
        let [of_processor, of_cards] = &self.tallies;
        match device {
            Device::Processor(_) => of_processor,
            Device::Card(_) => of_cards,
        }
    }

    /// Returns what the workers do now, and what they have counted.
    #[must_use]
    pub fn activity(&self) -> Activity {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let is_connected = |worker: &&WorkerToWatch| worker.is_connected.load(Ordering::Relaxed);
        let [of_processor, of_cards] = &self.tallies;
        Activity {
            n_workers: workers.len(),
            n_connected: workers.iter().filter(is_connected).count(),
            n_leases: workers.iter().map(|worker| worker.queue.n_held()).sum(),
            counted: Counted {
                n_subproblems: of_processor.n_subproblems().saturating_add(of_cards.n_subproblems()),
                core_time: of_processor.thread_time(),
                card_thread_time: of_cards.thread_time(),
            },
        }
    }

    /// Returns the registry of all metrics.
    #[must_use]
    pub const fn registry(&self) -> &Registry {
        &self.registry
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// Values that are read when the metrics are encoded.
#[derive(Debug)]
struct Gauges(Arc<Mutex<Vec<WorkerToWatch>>>);

/// A metric's name and help, and its value for a worker and its card, if it has one.
type Value = (&'static str, &'static str, fn(&WorkerToWatch, CardSensors) -> Option<f64>);

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let values: [Value; 6] = [
            ("connected", "Whether there is a session with the coordinator.", |worker, _| {
                Some(f64::from(u8::from(worker.is_connected.load(Ordering::Relaxed))))
            }),
            ("leases", "Leases that are counted or wait to be.", |worker, _| {
                Some(worker.queue.n_held() as f64)
            }),
            ("threads", "Counting threads.", |worker, _| Some(worker.n_threads as f64)),
            ("card_celsius", "Temperature of a card, if its driver tells it.", |_, card| {
                card.celsius().map(f64::from)
            }),
            ("card_watts", "Power of a card, if its driver tells it.", |_, card| card.watts().map(f64::from)),
            ("card_hertz", "Clock of a card, if its driver tells it.", |_, card| {
                card.megahertz().map(|megahertz| f64::from(megahertz) * 1e6)
            }),
        ];
        let workers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The values of a card are of one moment.
        let workers: Vec<(&WorkerToWatch, CardSensors)> =
            workers.iter().map(|worker| (worker, worker.sensors.get())).collect();
        for (name, help, value) in values {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (worker, sensors) in &workers {
                if let Some(value) = value(worker, *sensors) {
                    let of_device = OfDevice { device: worker.device.to_string() };
                    ConstGauge::new(value).encode(metric.encode_family(&of_device)?)?;
                }
            }
        }
        Ok(())
    }
}
