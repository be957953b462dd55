//! A worker's metrics for Prometheus.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use queens_solver::{Count, DECOMPOSITION_VERSION, Method};

use crate::config::Config;
use crate::shared_queue::SharedQueue;

/// Counters that each kernel call updates, at the cost of a few additions.
#[derive(Clone, Debug)]
pub(crate) struct ChunkCounters {
    // Floating point, so that they can't wrap.
    work: Family<OfMethod, Counter<f64, AtomicU64>>,
    solutions: Counter<f64, AtomicU64>,
    chunk: Histogram,
}

/// All metrics of a worker, encoded on request.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    connected: Arc<AtomicBool>,
}

impl ChunkCounters {
    pub(crate) fn new() -> Self {
        // Buckets from a millisecond to 33 seconds.
        let chunk = Histogram::new(exponential_buckets(1e-3, 2.0, 16));
        let counters = Self { work: Family::default(), solutions: Counter::default(), chunk };
        // All series exist from the start, so that rates begin at 0.
        for method in Method::ALL {
            drop(counters.work.get_or_create(&OfMethod { method: method.name() }));
        }
        counters
    }

    /// Records a chunk that this method counted in `time`.
    pub(crate) fn counted(&self, method: Method, count: Count, time: Duration) {
        self.work.get_or_create(&OfMethod { method: method.name() }).inc_by(count.work as f64);
        self.solutions.inc_by(count.solutions as f64);
        self.chunk.observe(time.as_secs_f64());
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfMethod {
    method: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Build {
    version: &'static str,
    decomposition: u32,
    kernel: &'static str,
}

impl Metrics {
    pub(crate) fn new(
        config: &Config,
        n_threads: usize,
        counters: &ChunkCounters,
        queue: Arc<SharedQueue>,
    ) -> Self {
        let mut registry = Registry::with_prefix("queens_worker");
        let ChunkCounters { work: nodes, solutions, chunk } = counters.clone();
        let info = Family::<Build, ConstGauge<i64>>::new_with_constructor(|| ConstGauge::new(1));
        let build = Build {
            version: queens_runtime::VERSION,
            decomposition: DECOMPOSITION_VERSION,
            kernel: config.counter_name(),
        };
        drop(info.get_or_create(&build));
        registry.register("build_info", "The running program and its kernel", info);
        let work = "Work counted, recorded or not: nodes by search, units of pairs by halves";
        registry.register("work", work, nodes);
        registry.register("solutions", "Solutions counted, without the weights of their parts", solutions);
        registry.register_with_unit("chunk", "Time of a kernel call", Unit::Seconds, chunk);
        let connected = Arc::new(AtomicBool::new(false));
        let n_threads = n_threads as f64;
        registry.register_collector(Box::new(Gauges { queue, n_threads, connected: connected.clone() }));
        Self { registry, connected }
    }

    /// Sets whether a session with the coordinator exists.
    pub fn set_connected(&self, connected: bool) {
        self.connected.store(connected, Ordering::Relaxed);
    }

    /// Returns the registry of all metrics.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }
}

/// Values that are read when the metrics are encoded.
#[derive(Debug)]
struct Gauges {
    queue: Arc<SharedQueue>,
    n_threads: f64,
    connected: Arc<AtomicBool>,
}

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let connected = f64::from(u8::from(self.connected.load(Ordering::Relaxed)));
        let numbers = [
            ("connected", "Whether there is a session with the coordinator.", connected),
            ("leases", "Leases that are counted or wait to be.", self.queue.n_held() as f64),
            ("threads", "Counting threads.", self.n_threads),
        ];
        for (name, help, number) in numbers {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(number).encode(metric)?;
        }
        Ok(())
    }
}
