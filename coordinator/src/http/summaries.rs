//! The summary that all subscribers get twice a second. It has a bounded size and is serialized once for all. Jobs in it
//! have their current speed, and otherwise the fields that `queens … --output json` prints.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};

use queens_event_loop::history::{SharedCurves, Speeds};
use queens_event_loop::{Handle, Snapshot};
use queens_model::json::{Coordinator, SpeedBy};
use queens_model::{FleetSpeed, JobId, JobState, JobStatus, WorkerState};
use queens_store::unix_ms;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use tokio_stream::wrappers::WatchStream;
use tokio_util::sync::CancellationToken;
use tracing::error;

use super::subscribers::{Subscriber, Subscribers};

/// The time between two summaries.
const INTERVAL: Duration = Duration::from_millis(500);

/// The most jobs in a summary. The list of jobs has the others.
const MOST_JOBS: usize = 50;

/// The most concurrent subscribers.
const MOST_SUBSCRIBERS: usize = 256;

/// Access to the stream of summaries.
#[derive(Clone, Debug)]
pub(super) struct SummaryStream {
    summaries: watch::Receiver<Arc<str>>,
    curves: SharedCurves,
    subscribers: Arc<Subscribers>,
}

impl SummaryStream {
    /// Produces summaries until `stop` is cancelled, for `n_subscribers` subscribers, but at most [`MOST_SUBSCRIBERS`].
    pub(super) fn start(handle: Handle, n_subscribers: usize, stop: CancellationToken) -> Self {
        let stream = Self {
            summaries: watch::channel("".into()).1,
            curves: handle.curves().clone(),
            subscribers: Arc::new(Subscribers::new(n_subscribers.min(MOST_SUBSCRIBERS))),
        };
        let (sender, summaries) = watch::channel(stream.summary(&handle));
        let maker = stream.clone();
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(INTERVAL);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    _ = ticks.tick() => {}
                }
                let began = Instant::now();
                sender.send_replace(maker.summary(&handle));
                handle.metrics().counters().published_in(began.elapsed());
            }
        });
        Self { summaries, ..stream }
    }

    pub(super) fn subscribe(&self) -> Subscriber {
        self.subscribers.subscribe()
    }

    /// Returns the stream of summaries from now on.
    pub(super) fn summaries(&self) -> WatchStream<Arc<str>> {
        WatchStream::new(self.summaries.clone())
    }

    pub(super) fn speeds(&self, job: JobId) -> Speeds {
        self.curves.lock().speeds(job, unix_ms())
    }

    fn summary(&self, handle: &Handle) -> Arc<str> {
        let snapshot = &*handle.snapshot();
        let mut jobs: Vec<&JobStatus> = snapshot.jobs.iter().collect();
        jobs.sort_by_key(|job| served(job));
        let jobs = jobs.into_iter().take(MOST_JOBS);
        let summary = Summary {
            version: queens_platform::VERSION,
            store_error: snapshot.store_error.clone(),
            coordinator: handle.status().into(),
            jobs: jobs.map(|job| Job::of(job, snapshot, self.speeds(job.id))).collect(),
            n_jobs: snapshot.jobs.len(),
            workers: fleet(snapshot),
        };
        let json = serde_json::to_string(&summary).unwrap_or_else(|error| {
            error!(%error, "a summary can't be written as JSON");
            "{}".to_owned()
        });
        json.into()
    }
}

/// A job and its speed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Job {
    #[serde(flatten)]
    status: queens_model::json::Job,
    /// The speed over the last ten seconds: nodes for the search, units of pairs for halves. Null if the job is not
    /// running or its speed is not known yet.
    #[cfg_attr(test, schema(required))]
    work_per_second: Option<f64>,
    /// The same over the measured part of the last hour.
    #[cfg_attr(test, schema(required))]
    work_per_second_hour: Option<f64>,
}

impl Job {
    pub(super) fn of(job: &JobStatus, snapshot: &Snapshot, speeds: Speeds) -> Self {
        let speeds = if job.state == JobState::Running { speeds } else { Speeds::default() };
        Self {
            status: queens_model::json::Job::of(job, snapshot.store_error.as_deref()),
            work_per_second: speeds.now,
            work_per_second_hour: speeds.hour,
        }
    }
}

/// Sorts the open jobs in the order of scheduling, then the others, the latest first.
pub(super) fn served(job: &JobStatus) -> impl Ord + use<> {
    let over = job.state.is_over();
    let (urgency, age) =
        if over { (Reverse(0), u64::MAX - job.id.0) } else { (Reverse(job.priority.get()), job.id.0) };
    (over, urgency, age)
}

/// The summary, sent twice a second.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Summary {
    /// The coordinator's version.
    version: &'static str,
    /// Why nothing can be recorded now; null if all is well.
    #[cfg_attr(test, schema(required))]
    store_error: Option<String>,
    coordinator: Coordinator,
    /// At most 50: the open jobs in the order of scheduling, then the others, the latest first.
    jobs: Vec<Job>,
    /// Number of all jobs.
    n_jobs: usize,
    workers: Fleet,
}

/// All workers together.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct Fleet {
    /// Number of workers.
    total: usize,
    /// Number of connected workers.
    connected: usize,
    /// Counting threads of the connected workers.
    threads: u64,
    /// Number of connected workers that count something.
    counting: usize,
    /// Number of counting workers whose speed is measured.
    measured: usize,
    /// Total speed of the workers whose speed is measured; null if workers count but no speed is measured. It adds
    /// nodes of the search and units of halves.
    #[cfg_attr(test, schema(required))]
    work_per_second: Option<f64>,
    /// The same, split by method.
    #[cfg_attr(test, schema(required))]
    speed_by: Option<SpeedBy>,
    /// Number of draining workers.
    draining: usize,
    /// Number of blocked workers.
    blocked: usize,
    /// Number of stuck workers.
    stuck: usize,
    /// Number of failing workers.
    failing: usize,
}

fn fleet(snapshot: &Snapshot) -> Fleet {
    let speed = FleetSpeed::of(snapshot.workers.iter());
    let mut fleet = Fleet {
        total: snapshot.workers.len(),
        counting: speed.n_counting,
        measured: speed.n_measured,
        work_per_second: speed.speed.map(|speeds| speeds.sum().get()),
        speed_by: speed.speed.map(SpeedBy::from),
        ..Fleet::default()
    };
    for worker in snapshot.workers.iter() {
        if worker.connected {
            fleet.connected += 1;
            fleet.threads += u64::from(worker.n_threads);
        }
        match worker.state {
            WorkerState::Ready => {}
            WorkerState::Draining => fleet.draining += 1,
            WorkerState::Blocked => fleet.blocked += 1,
            WorkerState::Stuck => fleet.stuck += 1,
            WorkerState::Failing => fleet.failing += 1,
        }
    }
    fleet
}
