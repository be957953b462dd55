//! The coordinator's metrics for Prometheus.
//!
//! A counter costs the event loop one addition; all other metrics come from the snapshot when they are scraped. No
//! label has many values: workers have no metrics of their own, and of finished jobs only the last have.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use queens_ledger::store::draw::Recorded;
use queens_model::{JobState, JobStatus, WorkerState, WorkerStatus};
use queens_solver::{Count, DECOMPOSITION_VERSION, Method};
use tokio::sync::watch;

use crate::snapshot::Snapshot;

/// The maximum number of finished jobs with metrics.
const MOST_JOBS_OVER: usize = 100;

type Labels = Vec<(&'static str, String)>;

/// The counters, updated by the event loop.
#[derive(Clone, Debug)]
pub struct Counters {
    /// In floating point, so that it can't wrap: 2^64 nodes are the work of weeks for a large cluster.
    work: Family<Labels, Counter<f64, AtomicU64>>,
    reported: Family<Labels, Counter>,
    /// From a report's arrival to its acknowledgement, in seconds, like all of these.
    pub(crate) report: Histogram,
    /// A transaction.
    pub(crate) commit: Histogram,
    publishing: Counter<f64, AtomicU64>,
    /// A step of the event loop.
    pub(crate) step: Histogram,
}

/// The fate of a reported span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fate {
    /// It was new, and is part of the total.
    Accepted,
    /// It was granted as a recount, and recounted.
    CountedAgain,
    /// It repeats a record, with the same count.
    Duplicate,
    /// It overlaps recorded spans, or is not needed.
    Discarded,
    /// It repeats a record, with another count.
    Conflict,
    /// It was not granted to the worker that reported it.
    Unleased,
}

impl Fate {
    const ALL: [Self; 6] = [
        Self::Accepted,
        Self::CountedAgain,
        Self::Duplicate,
        Self::Discarded,
        Self::Conflict,
        Self::Unleased,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::CountedAgain => "counted_again",
            Self::Duplicate => "duplicate",
            Self::Discarded => "discarded",
            Self::Conflict => "conflict",
            Self::Unleased => "unleased",
        }
    }

    /// Returns the fate of a span that lies wholly in recorded ones.
    pub(crate) fn of_repeated(count: Count, recorded: Option<&Recorded>) -> Self {
        match recorded {
            None => Self::Discarded,
            Some(recorded) if recorded.count() == count => Self::Duplicate,
            Some(_) => Self::Conflict,
        }
    }
}

/// All metrics, encoded on demand.
#[derive(Debug)]
pub struct Metrics {
    /// The registry of all metrics.
    pub registry: Registry,
    /// The counters among them.
    pub counters: Counters,
}

impl Counters {
    pub(crate) fn new() -> Self {
        // Buckets from a tenth of a millisecond to 26 seconds.
        let latency = || Histogram::new(exponential_buckets(1e-4, 4.0, 10));
        let counters = Self {
            work: Family::default(),
            reported: Family::default(),
            report: latency(),
            commit: latency(),
            publishing: Counter::default(),
            step: latency(),
        };
        // All series exist from the start, so that rates begin at 0.
        for fate in Fate::ALL {
            counters.add_spans(fate, 0);
        }
        for method in Method::ALL {
            counters.add_work(method, 0);
        }
        counters
    }

    /// Counts recorded work by a method.
    pub(crate) fn add_work(&self, method: Method, work: u64) {
        self.work.get_or_create(&of_method(method)).inc_by(work as f64);
    }

    /// Counts reported spans with this fate.
    pub(crate) fn add_spans(&self, fate: Fate, n_spans: u64) {
        self.reported.get_or_create(&vec![("outcome", fate.name().to_owned())]).inc_by(n_spans);
    }

    /// Adds the time to make a snapshot, or the data that all pages get from one.
    pub fn published_in(&self, time: Duration) {
        self.publishing.inc_by(time.as_secs_f64());
    }
}

impl Metrics {
    pub(crate) fn new(counters: Counters, snapshots: watch::Receiver<Arc<Snapshot>>) -> Self {
        let mut registry = Registry::with_prefix("queens");
        let Counters { work, reported, report, commit, publishing, step } = counters.clone();
        let version = queens_platform::VERSION.to_owned();
        let build = vec![("version", version), ("decomposition", DECOMPOSITION_VERSION.to_string())];
        let info = Family::<Labels, ConstGauge<i64>>::new_with_constructor(|| ConstGauge::new(1));
        drop(info.get_or_create(&build));
        registry.register("build_info", "The running program", info);
        registry.register(
            "work",
            "Work recorded since the coordinator started: nodes by search, units of pairs by halves",
            work,
        );
        registry.register(
            "reports",
            "Reported spans since the coordinator started: new, counted again as asked, the same as recorded, \
             overlapping or unwanted, or contradicting the record, or not granted to the worker that reported them",
            reported,
        );
        registry.register_with_unit(
            "report",
            "Time from a report's arrival until it was durable",
            Unit::Seconds,
            report,
        );
        registry.register_with_unit("commit", "Time of a transaction", Unit::Seconds, commit);
        registry.register_with_unit(
            "publishing",
            "Time spent on making snapshots and what all pages are told",
            Unit::Seconds,
            publishing,
        );
        registry.register_with_unit(
            "step",
            "Time of a step of the event loop, in which all others have to wait",
            Unit::Seconds,
            step,
        );
        register_leading(&mut registry, true);
        registry.register_collector(Box::new(SnapshotNumbers(snapshots)));
        Self { registry, counters }
    }
}

/// Registers whether the coordinator leads among those of its database. With a data directory, it always does.
pub fn register_leading(registry: &mut Registry, leads: bool) {
    let help = "Whether this coordinator leads (1) or stands by (0)";
    registry.register("leading", help, ConstGauge::new(i64::from(leads)));
}

/// The metrics of the snapshot.
#[derive(Debug)]
struct SnapshotNumbers(watch::Receiver<Arc<Snapshot>>);

impl Collector for SnapshotNumbers {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let snapshot = self.0.borrow().clone();
        let writable = f64::from(u8::from(snapshot.store_error.is_none()));
        single(&mut encoder, "store_writable", "Whether reports can be recorded", writable)?;
        encode_workers(&mut encoder, &snapshot.workers)?;
        encode_jobs(&mut encoder, &snapshot.jobs)
    }
}

fn of_method(method: Method) -> Labels {
    vec![("method", method.name().to_owned())]
}

fn of_state(state: &str) -> Labels {
    vec![("state", state.to_owned())]
}

fn of_job(job: &JobStatus) -> Labels {
    vec![("job", job.id.to_string()), ("n", job.n.to_string()), ("method", job.method.name().to_owned())]
}

fn encode_workers(encoder: &mut DescriptorEncoder<'_>, workers: &[WorkerStatus]) -> fmt::Result {
    let number = |is_counted: &dyn Fn(&WorkerStatus) -> bool| {
        workers.iter().filter(|worker| is_counted(worker)).count() as f64
    };
    let connected = WorkerState::ALL
        .map(|state| (of_state(state.name()), number(&|worker| worker.connected && worker.state == state)));
    let lost = (of_state("lost"), number(&|worker| !worker.connected));
    let states = connected.into_iter().chain([lost]);
    gauge(encoder, "workers", "Workers by state; lost: the connection broke, it may come back", states)?;
    let threads = |is_counted: &dyn Fn(&WorkerStatus) -> bool| {
        let counted = workers.iter().filter(|worker| worker.connected && is_counted(worker));
        counted.map(|worker| u64::from(worker.n_threads)).sum::<u64>() as f64
    };
    single(encoder, "worker_threads", "Counting threads of the connected workers", threads(&|_| true))?;
    let able =
        Method::ALL.map(|method| (of_method(method), threads(&|worker| worker.methods.contains(&method))));
    gauge(encoder, "method_threads", "Those of them that can count by the method", able)?;
    let leases: u64 = workers.iter().map(|worker| u64::from(worker.n_leases)).sum();
    single(encoder, "leases", "Leases that are counted or wait at a worker", leases as f64)
}

fn encode_jobs(encoder: &mut DescriptorEncoder<'_>, jobs: &[JobStatus]) -> fmt::Result {
    let number = |state| jobs.iter().filter(|job| job.state == state).count() as f64;
    let states = JobState::ALL.map(|state| (of_state(state.name()), number(state)));
    gauge(encoder, "jobs", "Jobs by state", states)?;

    let n_over = jobs.iter().filter(|job| is_closed(job)).count();
    let mut to_skip = n_over.saturating_sub(MOST_JOBS_OVER);
    let is_listed = |job: &&JobStatus| {
        let is_skipped = is_closed(job) && to_skip > 0;
        to_skip -= usize::from(is_skipped);
        !is_skipped
    };
    let listed: Vec<&JobStatus> = jobs.iter().filter(is_listed).collect();
    let mut of_jobs = |name, help, number: &dyn Fn(&JobStatus) -> f64| {
        let rows = listed.iter().map(|job| (of_job(job), number(job)));
        gauge(encoder, name, help, rows)
    };
    of_jobs(
        "job_solutions",
        "Weighted solutions recorded; of a job that is done, Q(n). Exact below 2^53, as all samples are; the JSON API \
         has all digits",
        &|job| job.progress.solutions as f64,
    )?;
    of_jobs("job_work", "Work recorded: nodes by search, units of pairs by halves", &|job| {
        job.progress.work as f64
    })?;
    of_jobs("job_work_ratio", "Recorded share of the estimated work, 0 to 1", &JobStatus::fraction)?;
    of_jobs("job_workers", "Workers that hold leases of the job", &|job| f64::from(job.n_workers))?;
    of_jobs("job_failed_spans", "Spans that workers failed to count", &|job| job.n_failed as f64)?;
    of_jobs("job_disputed_spans", "Recorded spans that another count contradicts", &|job| {
        job.n_disputed as f64
    })?;
    of_jobs("job_verified_spans", "Recorded spans on which two parties agree", &|job| job.n_verified as f64)?;
    of_jobs("job_spans_to_recount", "Recorded spans that are known to be counted again", &|job| {
        job.recounting.n_open as f64
    })?;
    of_jobs(
        "job_open_cases",
        "Recorded spans with different counts on which no two parties agree yet",
        &|job| job.recounting.n_cases as f64,
    )?;
    of_jobs("job_active_seconds", "Time the job has been counted", &|job| job.active.as_secs_f64())?;
    let left = listed.iter().filter(|job| !is_closed(job)).flat_map(|job| {
        let bounds = job
            .time_left
            .map(|left| [("low", left.low()), ("expected", left.expected()), ("high", left.high())]);
        let labels = |bound: &str| [of_job(job), vec![("bound", bound.to_owned())]].concat();
        bounds.into_iter().flatten().map(move |(bound, seconds)| (labels(bound), seconds))
    });
    gauge(
        encoder,
        "job_left_seconds",
        "Time the job should still take, and the range it should lie in 19 times out of 20",
        left,
    )
}

/// Returns whether the job can never continue.
fn is_closed(job: &JobStatus) -> bool {
    matches!(job.state, JobState::Done | JobState::Cancelled | JobState::Damaged)
}

/// Writes a gauge without labels.
fn single(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, number: f64) -> fmt::Result {
    let metric = encoder.encode_descriptor(name, &format!("{help}."), None, MetricType::Gauge)?;
    ConstGauge::new(number).encode(metric)
}

/// Writes a gauge with its samples.
fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    samples: impl IntoIterator<Item = (Labels, f64)>,
) -> fmt::Result {
    let help = format!("{help}.");
    let mut metric = encoder.encode_descriptor(name, &help, None, MetricType::Gauge)?;
    for (labels, number) in samples {
        ConstGauge::new(number).encode(metric.encode_family(&labels)?)?;
    }
    Ok(())
}
