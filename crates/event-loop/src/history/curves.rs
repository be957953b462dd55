//! The curves of jobs and workers: how fast jobs were counted, at several resolutions. Older data are coarser.
//!
//! Each measurement goes into a step of every level at once, so a coarse step has the sum of the fine ones. A step
//! knows its measured time: a mean covers only that time, and nothing is claimed about the rest.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use queens_model::{JobId, JobState, JobStatus};
use queens_store::history::{LEVELS, Level, N_LEVELS, Point, Subject};

use crate::snapshot::Snapshot;

/// The sampling interval.
const MEASURE_INTERVAL: Duration = Duration::from_secs(1);

/// A longer interval is not recorded: this process stood still.
const FARTHEST: Duration = Duration::from_secs(10);

/// After a start, reports arrive soon about work that was done while nobody measured. They are ignored for this time.
const LATE_REPORTS: Duration = Duration::from_secs(2);

/// The maximum number of jobs that are measured at the same time.
const MOST_JOBS: usize = 32;

/// The time over which the present speed is averaged.
const NOW_MS: u64 = 10_000;
const HOUR_MS: u64 = 3_600_000;

/// The shortest measured time for a meaningful mean.
const SHORTEST_MS: u64 = 500;

/// The curves of all jobs, and of the fleet.
#[derive(Debug, Default)]
pub struct Curves {
    curves: BTreeMap<Subject, Curve>,
    /// The subjects that are counted at present.
    going: BTreeSet<Subject>,
    measured_at: Option<Duration>,
    /// The connection time of all workers, summed.
    worker_ms: u128,
    /// The subjects with points that are not stored in their present form.
    unstored: BTreeSet<Subject>,
    /// Per level, the first and the last step that are kept of jobs.
    kept: [(u64, u64); N_LEVELS],
    open: [OpenStep; N_LEVELS],
}

#[derive(Debug, Default)]
struct Curve {
    levels: [VecDeque<Point>; N_LEVELS],
    /// Per level, the first point that is not stored in its present form.
    unstored: [Option<u64>; N_LEVELS],
    /// The time of the last sample, and the nodes then.
    last: Option<(Duration, u128)>,
    /// The time when this process first saw it counted, and the nodes then.
    first: Option<(Duration, u128)>,
}

/// Nodes per second, if known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Speeds {
    /// Over the last ten seconds.
    pub now: Option<f64>,
    /// Over the last hour.
    pub hour: Option<f64>,
}

impl Curves {
    /// Continues with stored points.
    pub(crate) fn restore(mut points: Vec<Point>, are_stored: bool) -> Self {
        let mut curves = Self::default();
        points.sort_by_key(|point| (point.subject, point.level, point.number));
        for point in points {
            let curve = curves.curves.entry(point.subject).or_default();
            if curve.levels[point.level].back().is_none_or(|last| last.number < point.number) {
                curve.levels[point.level].push_back(point);
                if !point.subject.is_job() {
                    continue;
                }
                let open = &mut curves.open[point.level];
                if open.number < point.number {
                    *open = OpenStep { number: point.number, n_points: 0 };
                }
                open.n_points += usize::from(open.number == point.number);
            }
        }
        if !are_stored {
            curves.lose();
        }
        curves
    }

    /// Returns whether to sample now: once a second, and when a job begins or ends.
    pub(crate) fn is_due(&self, now: Duration, jobs: &[JobStatus]) -> bool {
        let going = measured(jobs);
        going != self.going
            || (!going.is_empty()
                && self.measured_at.is_none_or(|at| now.saturating_sub(at) >= MEASURE_INTERVAL))
    }

    /// Samples jobs and workers. `now` is a monotonic clock, `at_ms` the calendar. Returns whether there are new data.
    /// O(jobs + workers).
    pub(crate) fn measure(&mut self, now: Duration, at_ms: u64, snapshot: &Snapshot) -> bool {
        let measured_at = self.measured_at.replace(now);
        let n_workers = snapshot.workers.iter().filter(|worker| worker.connected).count();
        let passed = now.saturating_sub(measured_at.unwrap_or(now));
        self.worker_ms = self.worker_ms.saturating_add(passed.as_millis() * n_workers as u128);
        let going = measured(&snapshot.jobs);
        let before = std::mem::replace(&mut self.going, going);
        let looked_at = |subject: &Subject| before.contains(subject) || self.going.contains(subject);
        let mut standings: Vec<ProgressTotals> = Vec::new();
        for job in &snapshot.jobs {
            let (subject, work) = (Subject::Job(job.id), job.progress.work);
            if looked_at(&subject) {
                standings.push(ProgressTotals { subject, work, billionths: billionths(job.fraction()) });
            }
        }
        let of_method = |subject: Subject| {
            let jobs = snapshot.jobs.iter().filter(|job| Subject::of_method(job.method) == subject);
            jobs.map(|job| job.progress.work).fold(0, u128::saturating_add)
        };
        for subject in [Subject::Search, Subject::Halves, Subject::Workers] {
            if looked_at(&subject) {
                let work = if subject == Subject::Workers { self.worker_ms } else { of_method(subject) };
                standings.push(ProgressTotals { subject, work, billionths: 0 });
            }
        }
        let mut is_changed = false;
        for standing in standings {
            let is_going = self.going.contains(&standing.subject);
            let curve = self.curves.entry(standing.subject).or_default();
            if curve.measure(now, at_ms, standing, is_going, &mut self.open) {
                is_changed = true;
                self.unstored.insert(standing.subject);
            }
        }
        is_changed
    }

    /// Drops points that are too old or too many, and points in the future, which come from a wrong clock. Returns the
    /// first and the last step to keep of jobs, per level.
    pub(crate) fn prune(&mut self, at_ms: u64) -> [(u64, u64); N_LEVELS] {
        for (level, of) in LEVELS.iter().enumerate() {
            let last = at_ms / (of.step_seconds * 1000);
            let oldest = of.oldest(last);
            let first_of_jobs = self.first_of_most(level).max(oldest).min(last);
            self.kept[level] = (first_of_jobs, last);
            for (subject, curve) in &mut self.curves {
                let first = if subject.is_job() { first_of_jobs } else { oldest };
                let points = &mut curve.levels[level];
                while points.front().is_some_and(|point| point.number < first) {
                    points.pop_front();
                }
                while points.back().is_some_and(|point| point.number > last) {
                    points.pop_back();
                }
            }
        }
        let going = &self.going;
        self.curves.retain(|subject, curve| {
            going.contains(subject) || curve.levels.iter().any(|points| !points.is_empty())
        });
        self.kept
    }

    /// Returns the first step of a level that the maximum number of jobs' points allows. If there are too many points,
    /// a twentieth of them goes, so that this is rare.
    fn first_of_most(&self, level: usize) -> u64 {
        let most = LEVELS[level].most_points;
        let jobs = || self.curves.iter().filter(|(subject, _)| subject.is_job());
        let points = || jobs().flat_map(|(_, curve)| &curve.levels[level]);
        if points().count() <= most {
            return self.kept[level].0;
        }
        let mut numbers: Vec<u64> = points().map(|point| point.number).collect();
        // No step has so many points that none would go.
        let n_dropped = numbers.len() - (most - most / 20);
        *numbers.select_nth_unstable(n_dropped).1
    }

    /// Returns the points that are not stored in their present form.
    pub(crate) fn unstored(&self) -> Vec<Point> {
        let curves = self.unstored.iter().filter_map(|subject| self.curves.get(subject));
        let levels = curves.flat_map(|curve| curve.levels.iter().zip(curve.unstored));
        let mut unstored = Vec::new();
        for (points, first) in levels {
            let from =
                first.map_or(points.len(), |first| points.partition_point(|point| point.number < first));
            unstored.extend(points.range(from..));
        }
        unstored
    }

    /// Marks everything as stored.
    pub(crate) fn stored(&mut self) {
        for subject in std::mem::take(&mut self.unstored) {
            if let Some(curve) = self.curves.get_mut(&subject) {
                curve.unstored = Default::default();
            }
        }
    }

    /// Marks everything as not stored.
    pub(crate) fn lose(&mut self) {
        for (subject, curve) in &mut self.curves {
            curve.unstored =
                std::array::from_fn(|level| curve.levels[level].front().map(|first| first.number));
            self.unstored.insert(*subject);
        }
    }

    /// Returns the speeds of a job.
    pub fn speeds(&self, job: JobId, at_ms: u64) -> Speeds {
        let Some(Curve { levels: [fine, middle, ..], .. }) = self.curves.get(&Subject::Job(job)) else {
            return Speeds::default();
        };
        let over = |points: &VecDeque<Point>, time_ms| {
            let is_recent = |point: &&Point| point.at_ms().saturating_add(time_ms) >= at_ms;
            mean(points.iter().rev().take_while(is_recent))
        };
        Speeds { now: over(fine, NOW_MS), hour: over(middle, HOUR_MS) }
    }

    /// Returns the points of a job or the fleet, by level, the oldest first.
    pub fn levels(&self, subject: Subject) -> [Vec<Point>; N_LEVELS] {
        let Some(curve) = self.curves.get(&subject) else { return Default::default() };
        std::array::from_fn(|level| curve.levels[level].iter().copied().collect())
    }
}

impl Curve {
    fn measure(
        &mut self,
        now: Duration,
        at_ms: u64,
        standing: ProgressTotals,
        is_going: bool,
        open: &mut [OpenStep; N_LEVELS],
    ) -> bool {
        let ProgressTotals { subject, work, billionths } = standing;
        let (first_seen, nodes_then) = *self.first.get_or_insert((now, work));
        let next = is_going.then_some((now, work));
        let Some((at, before)) = std::mem::replace(&mut self.last, next) else { return false };
        let measured = now.saturating_sub(at);
        let is_late = nodes_then > 0 && at.saturating_sub(first_seen) < LATE_REPORTS;
        if is_late || measured > FARTHEST {
            return false;
        }
        let sample = Sample {
            subject,
            at_ms,
            measured_ms: u64::try_from(measured.as_millis()).unwrap_or(u64::MAX),
            work: u64::try_from(work.saturating_sub(before)).unwrap_or(u64::MAX),
            billionths,
        };
        for (level, open) in open.iter_mut().enumerate() {
            self.add(level, sample, open);
        }
        true
    }

    fn add(&mut self, level: usize, sample: Sample, open: &mut OpenStep) {
        let Sample { subject, at_ms, measured_ms, work, billionths } = sample;
        let step_ms = LEVELS[level].step_seconds * 1000;
        let (number, end_ms) = (at_ms / step_ms, at_ms % step_ms);
        let points = &mut self.levels[level];
        // The clock was set back.
        while points.back().is_some_and(|last| last.number > number) {
            points.pop_back();
        }
        match points.back_mut().filter(|last| last.number == number) {
            Some(point) => {
                point.end_ms = end_ms;
                point.measured_ms = point.measured_ms.saturating_add(measured_ms);
                point.work = point.work.saturating_add(work);
                point.billionths = billionths;
            }
            // The fleet has few points.
            None if !subject.is_job() || open.has_room(level, number) => {
                points.push_back(Point { subject, level, number, end_ms, measured_ms, work, billionths });
            }
            None => return,
        }
        let unstored = &mut self.unstored[level];
        *unstored = Some(unstored.map_or(number, |first| first.min(number)));
    }
}

/// The present state of a job or the fleet.
#[derive(Clone, Copy)]
struct ProgressTotals {
    subject: Subject,
    work: u128,
    billionths: u32,
}

/// The progress since the last sample.
#[derive(Clone, Copy)]
struct Sample {
    subject: Subject,
    at_ms: u64,
    measured_ms: u64,
    work: u64,
    billionths: u32,
}

/// The latest step of a level, and the number of jobs with a point in it.
#[derive(Clone, Copy, Debug, Default)]
struct OpenStep {
    number: u64,
    n_points: usize,
}

impl OpenStep {
    /// Makes room for one more point, if possible: a level holds at least twenty steps.
    fn has_room(&mut self, level: usize, number: u64) -> bool {
        if self.number != number {
            *self = Self { number, n_points: 0 };
        }
        let has_room = self.n_points < LEVELS[level].most_points / 20;
        self.n_points += usize::from(has_room);
        has_room
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is 0 to 1")]
fn billionths(share: f64) -> u32 {
    (share.clamp(0.0, 1.0) * 1e9) as u32
}

/// Returns the subjects to measure: the running jobs that are served first, and the fleet while any job runs.
fn measured(jobs: &[JobStatus]) -> BTreeSet<Subject> {
    let mut going: Vec<&JobStatus> = jobs.iter().filter(|job| job.state == JobState::Running).collect();
    let of_fleet: BTreeSet<Subject> = going.iter().map(|job| Subject::of_method(job.method)).collect();
    if going.len() > MOST_JOBS {
        going.sort_by_key(|job| (Reverse(job.priority), job.id));
        going.truncate(MOST_JOBS);
    }
    let workers = (!of_fleet.is_empty()).then_some(Subject::Workers);
    going.into_iter().map(|job| Subject::Job(job.id)).chain(of_fleet).chain(workers).collect()
}

/// Returns the work per second of these points together.
pub fn mean<'a>(points: impl IntoIterator<Item = &'a Point>) -> Option<f64> {
    let (mut work, mut measured_ms) = (0.0, 0);
    for point in points {
        work += point.work as f64;
        measured_ms = point.measured_ms.saturating_add(measured_ms);
    }
    (measured_ms >= SHORTEST_MS).then(|| work * 1000.0 / measured_ms as f64)
}

/// Returns the finest level that goes as far back as the longest, and its points; `None` if nothing is known. Up to
/// two steps, or a fiftieth of the time, may be missing: another step may measure the start of one. O(levels).
pub fn whole(levels: &[Vec<Point>; N_LEVELS]) -> Option<(&'static Level, &[Point])> {
    let ends = levels.iter().filter_map(|points| Some((begins(points.first()?), points.last()?.at_ms())));
    let (first, last) = ends.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))?;
    let is_whole = |(level, points): &(&Level, &Vec<Point>)| {
        let late = points.first().map(|point| begins(point) - first);
        late.is_some_and(|late| late <= (2000 * level.step_seconds).max((last - first) / 50))
    };
    LEVELS.iter().zip(levels).find(is_whole).map(|(level, points)| (level, &points[..]))
}

/// Returns the start of a point's measurement, in milliseconds since 1970.
pub fn begins(point: &Point) -> u64 {
    point.at_ms().saturating_sub(point.measured_ms)
}
