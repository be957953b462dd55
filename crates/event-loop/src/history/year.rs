//! Simulates a year that makes history as long as possible, and checks its size.

use std::fs;
use std::path::Path;

use queens_model::{EventKind, JobState};
use queens_solver::Method;
use queens_store::history::{LEVELS, Level, Point};
use queens_store::sqlite::{HISTORY, SqliteStore};

use super::tests::{job, worker};
use super::*;
use crate::event_log::EventLog;

/// The maximum size of the history of a year.
const MOST_BYTES: u64 = 10_000_000;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A time in 2024, which has as many digits as today's.
const BEGINNING: u64 = 20_000 * DAY;

/// The history of a coordinator without the coordinator, with a clock of its own.
struct World {
    historian: Historian,
    snapshots: watch::Sender<Arc<Snapshot>>,
    event_log: EventLog,
    /// Seconds since 1970.
    now: u64,
    work: u128,
    next_job: u64,
}

impl World {
    fn new(dir: &Path) -> Self {
        let mut history = SqliteStore::open(dir).expect("opens").with_history().history().expect("on disk");
        let past = history.load();
        let snapshots = watch::Sender::new(Arc::default());
        let historian = Historian::new(Some(history), past, snapshots.subscribe());
        Self { historian, snapshots, event_log: EventLog::default(), now: BEGINNING, work: 0, next_job: 1000 }
    }

    /// Counts for a second, while workers come and go: four long jobs, one of them by halves, and one that lasts a
    /// second, at 10^13 nodes a second each.
    fn count_for_a_second(&mut self) {
        let short = self.next_job;
        self.next_job += 1;
        for (state, work) in [(JobState::Running, 0), (JobState::Done, 10_000_000_000_000)] {
            let long = (1..=3).map(|id| job(id, JobState::Running, self.work));
            let halves = JobStatus { method: Method::Halves, ..job(4, JobState::Running, self.work) };
            let jobs = long.chain([halves, job(short, state, work)]).collect();
            let (events, workers) = (self.event_log.events(), Arc::new(vec![worker(1, true)]));
            self.snapshots.send_replace(Arc::new(Snapshot { jobs, events, workers, ..Snapshot::default() }));
            self.historian.look_at(Duration::from_secs(self.now), self.now * 1000);
            self.now += 1;
            self.work += 10_000_000_000_000;
        }
        self.now -= 1;
    }

    /// Counts for a second, after each `step` seconds, until `end`.
    fn pass(&mut self, end: u64, step: u64) {
        while self.now < end {
            self.count_for_a_second();
            self.now = self.now.next_multiple_of(step).max(self.now);
        }
    }

    fn flood(&mut self, n_events: usize) {
        for i in 0..n_events {
            let (kind, job) =
                if i % 2 == 0 { (EventKind::Worker, None) } else { (EventKind::Failure, Some(JobId(1))) };
            // The kept events reach their maximum number and size.
            self.event_log.add(kind, job, "ж".repeat(50));
        }
    }
}

#[test]
fn a_year_stays_small() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut world = World::new(dir.path());
    let mut largest = 0;
    let mut look = |world: &mut World| {
        world.historian.store_at(world.now * 1000);
        assert!(!world.historian.is_failing, "it is stored");
        let size = fs::metadata(dir.path().join(HISTORY)).expect("it is there").len();
        assert!(size <= MOST_BYTES, "{size} bytes");
        largest = largest.max(size);
    };
    for month in 1..=13 {
        let end = BEGINNING + month * 30 * DAY;
        while world.now < end - DAY {
            let pause = (world.now + DAY).min(end - DAY);
            world.pass(pause, if month == 13 { 10 * MINUTE } else { HOUR });
            world.flood(100);
            look(&mut world);
        }
        if ![1, 13].contains(&month) {
            continue;
        }
        // All levels become as full as possible.
        for (left, step, n_looks) in [(2 * HOUR, MINUTE, 12), (5 * MINUTE, 10, 12), (0, 1, 30)] {
            let rest = end - left - world.now;
            for n_left in (0..n_looks).rev() {
                world.pass(end - left - rest * n_left / n_looks, step);
                world.flood(if n_left == 0 { 2000 } else { 100 });
                look(&mut world);
            }
        }
    }
    drop(world);
    let mut history =
        SqliteStore::open(dir.path()).expect("opens").with_history().history().expect("on disk");
    let past = history.load();
    assert!(past.is_stored && past.events.len() == 2000, "{} events", past.events.len());
    for (level, Level { most_points: most, n_steps, .. }) in LEVELS.iter().enumerate() {
        let count = |is_job| {
            let is_of_it = |point: &&Point| point.level == level && point.subject.is_job() == is_job;
            past.points.iter().filter(is_of_it).count()
        };
        let (n_points, n_of_fleet) = (count(true), count(false));
        assert!(
            n_points <= *most && (most * 9 / 10 <= n_points || level == 5),
            "{n_points} of {most} at {level}"
        );
        let most = 3 * usize::try_from(*n_steps).expect("few");
        assert!(
            n_of_fleet <= most && (most / 30 <= n_of_fleet),
            "{n_of_fleet} of {most} of the fleet at {level}"
        );
    }
    #[expect(clippy::print_stdout, reason = "shown with --nocapture")]
    {
        println!("at most {largest} bytes for {} points and {} events", past.points.len(), past.events.len());
    }
}
