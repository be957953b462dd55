//! Tests that history shows what was measured, and nothing else.

use queens_model::{CardSensors, EventKind, JobState, Name, Progress, WorkerId, WorkerState, WorkerStatus};
use queens_solver::{BoardSize, Method};
use queens_store::history::{Change, Curve, MOST_CURVES, NotKept, Past, Point, Subject};
use queens_store::sqlite::SqliteStore;

use super::*;

/// A recent time, at the first second of a day.
const BEGINNING_MS: u64 = 20_000 * 86_400_000;

pub(super) fn job(id: u64, state: JobState, nodes: u128) -> JobStatus {
    JobStatus {
        progress: Progress {
            work: nodes,
            estimated_work: 1 << 60,
            estimated_work_recorded: nodes,
            ..Progress::default()
        },
        n_workers: 1,
        ..JobStatus::new(JobId(id), BoardSize::new(27).expect("a board size"), Method::Search, state)
    }
}

/// Returns a snapshot with these jobs.
fn of_jobs<const N: usize>(jobs: [JobStatus; N]) -> Snapshot {
    Snapshot { jobs: jobs.into(), ..Snapshot::default() }
}

pub(super) fn worker(id: u64, connected: bool) -> WorkerStatus {
    WorkerStatus {
        id: WorkerId(id),
        name: Name::of_any("w"),
        build: Name::of_any("0"),
        kernel: Name::of_any("none"),
        methods: vec![Method::Search],
        n_threads: 1,
        connected,
        silent: Duration::ZERO,
        speed: None,
        n_leases: 0,
        n_recorded: 0,
        state: WorkerState::Ready,
        failure: None,
        counting: None,
        sensors: CardSensors::default(),
    }
}

/// The curves of job 1, sampled manually.
#[derive(Default)]
struct Observations {
    curves: Curves,
    now_ms: u64,
    /// How far the calendar is ahead of the clock.
    ahead_ms: u64,
    work: u128,
}

impl Observations {
    fn at_ms(&self) -> u64 {
        BEGINNING_MS + self.now_ms + self.ahead_ms
    }

    fn measure(&mut self, state: JobState) {
        let (now, at_ms) = (Duration::from_millis(self.now_ms), self.at_ms());
        self.curves.measure(now, at_ms, &of_jobs([job(1, state, self.work)]));
    }

    fn count(&mut self, milliseconds: u64, work: u128) {
        self.now_ms += milliseconds;
        self.work += work;
        self.measure(JobState::Running);
    }

    fn curve(&self) -> Curve {
        self.curves.curve(Subject::Job(JobId(1)))
    }

    /// Returns the work and milliseconds of the curve.
    fn sums(&self) -> (u64, u64) {
        let points = self.curve().points;
        (points.iter().map(|point| point.work).sum(), points.iter().map(|point| point.measured_ms).sum())
    }
}

#[test]
fn what_nobody_measured_is_in_no_mean() {
    let mut looks = Observations::default();
    looks.measure(JobState::Running);
    (0..60).for_each(|_| looks.count(1000, 500));
    // The job is paused, and the process stops meanwhile.
    looks.now_ms += 400;
    looks.measure(JobState::Paused);
    looks.now_ms += 600_000;
    looks.measure(JobState::Running);
    (0..60).for_each(|_| looks.count(1000, 500));
    // The process stands still, and reports come when it continues.
    looks.count(120_000, 1_000_000);
    (0..60).for_each(|_| looks.count(1000, 500));
    assert_eq!(looks.sums(), (90_000, 180_400));
    let speeds = looks.curves.speeds(JobId(1), looks.at_ms());
    assert_eq!(speeds.now, Some(500.0));
    assert!(speeds.hour.is_some_and(|hour| (498.0..500.0).contains(&hour)), "{speeds:?}");
    assert_eq!(looks.curves.speeds(JobId(1), looks.at_ms() + 20_000).now, None);
    assert_eq!(looks.curves.speeds(JobId(2), looks.at_ms()), Speeds::default());
}

#[test]
fn what_was_counted_before_this_process_looked_is_not_told_of_its_time() {
    let mut looks = Observations { work: 1_000_000, ..Observations::default() };
    looks.measure(JobState::Running);
    // Workers that counted meanwhile report at once.
    looks.count(1000, 777_777);
    looks.count(1000, 555);
    (0..10).for_each(|_| looks.count(1000, 500));
    assert_eq!(looks.sums(), (5000, 10_000));
}

#[test]
fn a_clock_that_is_put_back_leaves_nothing_in_the_future() {
    let mut looks = Observations { ahead_ms: 40 * 86_400_000, ..Observations::default() };
    looks.measure(JobState::Running);
    (0..10).for_each(|_| looks.count(1000, 500));
    looks.ahead_ms = 0;
    (0..10).for_each(|_| looks.count(1000, 500));
    let at_ms = looks.at_ms();
    assert!(looks.curve().points.iter().all(|point| point.at_ms <= at_ms), "{:?}", looks.curve());
    assert_eq!(looks.curves.speeds(JobId(1), at_ms).now, Some(500.0));
    assert_eq!(looks.sums(), (5000, 10_000));
}

/// A history store that keeps all changes in memory, or fails on demand.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<KeptChanges>>);

#[derive(Debug, Default)]
struct KeptChanges {
    fails: Option<fn(String) -> NotKept>,
    changes: Vec<Change>,
}

impl History for Kept {
    fn load(&mut self) -> Past {
        Past { is_stored: true, ..Past::default() }
    }

    fn store(&mut self, change: &Change) -> Result<(), NotKept> {
        let mut kept = self.0.lock();
        let Change { curves, events, .. } = change;
        kept.changes.push(Change { curves: curves.clone(), events: events.clone(), ..Change::default() });
        kept.fails.map_or(Ok(()), |fails| Err(fails("it is full".to_owned())))
    }
}

impl Kept {
    /// Returns the changes since the last call, and sets whether it fails from now on.
    fn take(&self, fails: Option<fn(String) -> NotKept>) -> Vec<Change> {
        let mut kept = self.0.lock();
        kept.fails = fails;
        std::mem::take(&mut kept.changes)
    }
}

/// Publishes a running job for this many seconds, ten times a second.
async fn count(snapshots: &watch::Sender<Arc<Snapshot>>, seconds: u128) {
    for _ in 0..10 * seconds {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let work = snapshots.borrow().jobs.first().map_or(0, |job| job.progress.work) + 100;
        let jobs = vec![job(1, JobState::Running, work)];
        let events = snapshots.borrow().events.clone();
        snapshots.send_replace(Arc::new(Snapshot { jobs, events, ..Snapshot::default() }));
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_stored_once_a_minute_and_not_while_nothing_happens() {
    let (kept, snapshots) = (Kept::default(), watch::Sender::new(Arc::<Snapshot>::default()));
    let past = kept.clone().load();
    let historian = Historian::new(Some(Box::new(kept.clone())), past, snapshots.subscribe());
    let running = tokio::spawn(historian.run());
    count(&snapshots, 600).await;
    let n_stored = kept.take(None).len();
    assert!((8..=10).contains(&n_stored), "{n_stored} times in ten minutes");
    // The last minute may be stored later, and nothing after that.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let n_late = kept.take(None).len();
    assert!(n_late <= 1 && n_stored + n_late >= 9, "{n_stored} and {n_late} times");
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(kept.take(None).len(), 0);
    // At the end, new points are stored at once.
    count(&snapshots, 3).await;
    drop(snapshots);
    running.await.expect("it ends");
    assert_eq!(kept.take(None).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_stored_is_stored_later() {
    let (kept, snapshots) = (Kept::default(), watch::Sender::new(Arc::<Snapshot>::default()));
    let past = kept.clone().load();
    let mut event_log = crate::event_log::EventLog::default();
    event_log.add(EventKind::Store, None, "coordinator started".to_owned());
    snapshots.send_replace(Arc::new(Snapshot { events: event_log.events(), ..Snapshot::default() }));
    let historian = Historian::new(Some(Box::new(kept.clone())), past, snapshots.subscribe());
    let running = tokio::spawn(historian.run());
    let work = |changes: &[Change]| -> Vec<u64> {
        let work = |change: &Change| {
            let points = change.curves.iter().flat_map(|(_, curve)| &curve.points);
            points.map(|point| point.work).sum()
        };
        changes.iter().map(work).collect()
    };
    kept.take(Some(NotKept::Failed));
    count(&snapshots, 210).await;
    let failed = kept.take(None);
    assert!(failed.len() >= 3 && failed.iter().all(|change| change.events.len() == 1));
    count(&snapshots, 90).await;
    let stored = kept.take(Some(NotKept::Lost));
    assert_eq!(stored.iter().map(|change| change.events.len()).collect::<Vec<_>>()[..1], [1]);
    assert!(work(&stored)[0] > *work(&failed).last().expect("some"));
    // After a loss, everything is stored again.
    count(&snapshots, 72).await;
    let lost = kept.take(None);
    assert_eq!(lost[0].events.len(), 0);
    count(&snapshots, 72).await;
    assert_eq!(kept.take(None)[0].events.len(), 1);
    drop(snapshots);
    running.await.expect("it ends");
}

#[test]
fn many_jobs_do_not_take_more_room() {
    let mut curves = Curves::default();
    let mut now = 0;
    for id in 2..=2000 {
        for (state, work) in [(JobState::Running, 0), (JobState::Done, 1000)] {
            now += 600;
            let jobs = of_jobs([job(1, JobState::Running, now.into()), job(id, state, work)]);
            curves.measure(Duration::from_millis(now), BEGINNING_MS + now, &jobs);
        }
        if id == 1000 {
            curves.limit(BEGINNING_MS + now);
            curves.stored();
        }
    }
    curves.limit(BEGINNING_MS + now);
    let is_kept = |id| !curves.curve(Subject::Job(JobId(id))).points.is_empty();
    let kept: Vec<u64> = (1..=2000).filter(|id| is_kept(*id)).collect();
    // The job that goes on is there, and the latest ones.
    assert_eq!((kept.len(), kept[0], kept[1]), (MOST_CURVES, 1, 1502));
    // Dropped curves are removed from the store.
    let removed = curves.unstored().into_iter().filter(|(_, curve)| curve.points.is_empty());
    assert_eq!(removed.count(), 1000);
}

/// Measures two jobs by search and one by halves, in turn and together, and arriving workers.
#[test]
fn the_fleet_is_measured_while_anything_is_counted() {
    let mut curves = Curves::default();
    let halves = |state, work| JobStatus { method: Method::Halves, ..job(3, state, work) };
    let (running, done) = (JobState::Running, JobState::Done);
    let mut now = 0;
    let mut look = |jobs: [JobStatus; 3], n_workers: u64| {
        let workers = (0..n_workers).map(|id| worker(id, true)).chain([worker(99, false)]).collect();
        let snapshot = Snapshot { workers: Arc::new(workers), ..of_jobs(jobs) };
        curves.measure(Duration::from_secs(now), BEGINNING_MS + now * 1000, &snapshot);
        now += 1;
        let sums = |subject| {
            let sum = |sums: (u64, u64), point: &Point| (sums.0 + point.work, sums.1 + point.measured_ms);
            curves.curve(subject).points.iter().fold((0, 0), sum)
        };
        [Subject::Search, Subject::Halves, Subject::Workers].map(sums)
    };
    look([job(1, running, 0), job(2, JobState::Queued, 0), halves(JobState::Queued, 0)], 1);
    look([job(1, running, 50), job(2, JobState::Queued, 0), halves(JobState::Queued, 0)], 2);
    // One ends and another begins; no work is lost or counted twice.
    look([job(1, done, 70), job(2, running, 5), halves(running, 0)], 3);
    let [search, by_halves, workers] = look([job(1, done, 70), job(2, running, 15), halves(running, 7)], 3);
    assert_eq!((search, by_halves), ((85, 3000), (7, 1000)));
    assert_eq!(workers, (8000, 3000), "milliseconds of connected workers");
    look([job(1, done, 70), job(2, done, 15), halves(done, 7)], 3);
    let after = look([job(1, done, 70), job(2, done, 15), halves(done, 7)], 3);
    assert_eq!(after, [(85, 4000), (7, 2000), (11_000, 4000)], "nothing goes on");
}

#[test]
fn the_fleet_goes_on_after_a_restart_also_when_its_jobs_are_gone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let all = |curves: &Mutex<Curves>| {
        [Subject::Search, Subject::Workers, Subject::Job(JobId(1))]
            .map(|subject| curves.lock().curve(subject).points)
    };
    let now_ms = unix_ms();
    let before = {
        let store = SqliteStore::open(dir.path()).expect("opens").with_history();
        let (history, past) = open(&store, &[]);
        let snapshots = watch::Sender::new(Arc::<Snapshot>::default());
        let mut historian = Historian::new(history, past, snapshots.subscribe());
        for second in 0..20 {
            let workers = Arc::new(vec![worker(1, true), worker(2, true)]);
            let jobs = of_jobs([job(1, JobState::Running, u128::from(second) * 100)]);
            snapshots.send_replace(Arc::new(Snapshot { workers, ..jobs }));
            historian.look_at(Duration::from_secs(second), now_ms - 20_000 + second * 1000);
        }
        historian.store_at(now_ms);
        assert!(!historian.is_failing, "it is stored");
        all(&historian.shared.curves)
    };
    assert!(before.iter().all(|points| !points.is_empty()), "{before:?}");
    let store = SqliteStore::open(dir.path()).expect("opens").with_history();
    // This database does not have the job.
    let (history, past) = open(&store, &[]);
    let after =
        all(&Historian::new(history, past, watch::Sender::new(Arc::default()).subscribe()).shared.curves);
    assert_eq!(after[..2], before[..2]);
    assert!(after[2].is_empty());
}
