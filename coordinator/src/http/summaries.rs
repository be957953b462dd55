//! The summary that all subscribers get twice a second. It has a bounded size and is serialized once for all. Jobs in
//! it have their current speed, and otherwise the fields that `queens … --output json` prints.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use queens_event_loop::history::{Curves, Speeds};
use queens_event_loop::{Handle, Snapshot};
use queens_model::json::{Coordinator, SpeedBy};
use queens_model::{FleetSpeed, JobId, JobState, JobStatus, WorkerState};
use queens_store::unix_ms;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_stream::wrappers::WatchStream;
use tokio_util::sync::CancellationToken;
use tracing::error;

/// The time between two summaries.
const INTERVAL: Duration = Duration::from_millis(500);

/// The most jobs in a summary. The list of jobs has the others.
const MOST_JOBS: usize = 50;

/// The most concurrent subscribers.
const MOST_SUBSCRIBERS: usize = 256;

/// A subscriber that has not read for this long is replaced first.
const UNREAD: Duration = Duration::from_secs(10);

/// Access to the stream of summaries.
#[derive(Clone, Debug)]
pub(super) struct SummaryStream {
    summaries: watch::Receiver<Arc<str>>,
    curves: Arc<Mutex<Curves>>,
    subscribers: Arc<Subscribers>,
}

impl SummaryStream {
    /// Produces summaries until `stop` is cancelled, for `n_subscribers` subscribers, but at most [`MOST_SUBSCRIBERS`].
    pub(super) fn start(handle: Handle, n_subscribers: usize, stop: CancellationToken) -> Self {
        let stream = Self {
            summaries: watch::channel("".into()).1,
            curves: handle.history.curves.clone(),
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
                handle.metrics.counters.published_in(began.elapsed());
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

/// The subscribers of the stream. Their number is limited: a new one replaces another.
#[derive(Debug)]
struct Subscribers {
    n_places: usize,
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    n_admitted: u64,
    /// When each has last read.
    read: BTreeMap<u64, Instant>,
}

/// A subscription, which ends when it is dropped.
#[derive(Debug)]
pub(super) struct Subscriber {
    subscribers: Arc<Subscribers>,
    number: u64,
}

impl Subscribers {
    fn new(n_places: usize) -> Self {
        Self { n_places: n_places.max(1), list: Mutex::default() }
    }

    /// Adds a subscriber. At the limit, it replaces the one that has not read for [`UNREAD`], or else the oldest.
    fn subscribe(self: &Arc<Self>) -> Subscriber {
        let now = Instant::now();
        let mut list = self.list.lock();
        if list.read.len() >= self.n_places {
            let reads = |read: &Instant| now.duration_since(*read) < UNREAD;
            let first = list.read.iter().min_by_key(|(number, read)| (reads(read), **number));
            let first = first.map(|(number, _)| *number);
            first.and_then(|number| list.read.remove(&number));
        }
        list.n_admitted += 1;
        let number = list.n_admitted;
        list.read.insert(number, now);
        Subscriber { subscribers: self.clone(), number }
    }
}

impl Subscriber {
    /// Records that the subscriber reads; `false` if it has been replaced.
    pub(super) fn reads(&self) -> bool {
        let mut list = self.subscribers.list.lock();
        let read = list.read.get_mut(&self.number);
        read.map(|read| *read = Instant::now()).is_some()
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.subscribers.list.lock().read.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_makes_room_and_else_who_came_first() {
        let subscribers = Arc::new(Subscribers::new(3));
        let [first, second, third] = [(); 3].map(|()| subscribers.subscribe());
        tokio::time::advance(UNREAD).await;
        assert!(first.reads() && third.reads());
        let fourth = subscribers.subscribe();
        assert_eq!([&first, &second, &third, &fourth].map(Subscriber::reads), [true, false, true, true]);
        let fifth = subscribers.subscribe();
        assert_eq!([&first, &third, &fourth, &fifth].map(Subscriber::reads), [false, true, true, true]);
        drop((third, second));
        let sixth = subscribers.subscribe();
        assert_eq!([&fourth, &fifth, &sixth].map(Subscriber::reads), [true, true, true]);
    }
}
