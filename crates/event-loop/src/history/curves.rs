//! The curves of jobs and workers: how fast jobs were counted. A curve has a limited number of points, and gets coarser
//! as it gets longer.
//!
//! A point knows its measured time: a mean covers only that time, and nothing is claimed about the rest.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use queens_model::{JobId, JobState, JobStatus};
use queens_store::history::{Curve, MOST_CURVES, MOST_POINTS, Point, Subject, mean};

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

/// The curves of all jobs, and of the fleet.
#[derive(Debug, Default)]
pub struct Curves {
    measured: BTreeMap<Subject, Measured>,
    /// The subjects that are counted at present.
    going: BTreeSet<Subject>,
    measured_at: Option<Duration>,
    /// The connection time of all workers, summed.
    worker_ms: u128,
    /// The subjects with a curve that is not stored in its present form, or whose stored curve is dropped.
    unstored: BTreeSet<Subject>,
}

#[derive(Debug, Default)]
struct Measured {
    curve: Curve,
    /// The measurements of the last hour, for the present speeds. After a restart, they begin with points of the curve.
    recent: VecDeque<Point>,
    /// The time of the last sample, and the work then.
    last: Option<(Duration, u128)>,
    /// The time when this process first saw it counted, and the work then.
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
    /// Continues with stored curves.
    pub(crate) fn restore(curves: Vec<(Subject, Curve)>, are_stored: bool, at_ms: u64) -> Self {
        let measured = |curve: Curve| {
            let recent =
                curve.points.iter().filter(|point| is_within(point, HOUR_MS, at_ms)).copied().collect();
            Measured { curve, recent, ..Measured::default() }
        };
        let measured = curves.into_iter().map(|(subject, curve)| (subject, measured(curve))).collect();
        let mut curves = Self { measured, ..Self::default() };
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
            let measured = self.measured.entry(standing.subject).or_default();
            if measured.measure(now, at_ms, standing, is_going) {
                is_changed = true;
                self.unstored.insert(standing.subject);
            }
        }
        is_changed
    }

    /// Drops the curves of jobs that were not measured for the longest time, if there are too many, and measurements
    /// that are no longer recent.
    pub(crate) fn limit(&mut self, at_ms: u64) {
        for measured in self.measured.values_mut() {
            measured.recent.retain(|point| is_within(point, HOUR_MS, at_ms));
        }
        let jobs = self.measured.iter().filter(|(subject, _)| subject.is_job());
        let last = |measured: &Measured| measured.curve.points.last().map(|point| point.at_ms);
        let mut jobs: Vec<_> = jobs.map(|(subject, measured)| (Reverse(last(measured)), *subject)).collect();
        jobs.sort_unstable();
        for (_, subject) in jobs.into_iter().skip(MOST_CURVES) {
            self.measured.remove(&subject);
            self.unstored.insert(subject);
        }
    }

    /// Returns the curves that are not stored in their present form; empty ones are dropped.
    pub(crate) fn unstored(&self) -> Vec<(Subject, Curve)> {
        self.unstored.iter().map(|subject| (*subject, self.curve(*subject))).collect()
    }

    /// Marks everything as stored.
    pub(crate) fn stored(&mut self) {
        self.unstored.clear();
    }

    /// Marks everything as not stored.
    pub(crate) fn lose(&mut self) {
        self.unstored.extend(self.measured.keys());
    }

    /// Returns the speeds of a job.
    pub fn speeds(&self, job: JobId, at_ms: u64) -> Speeds {
        let Some(Measured { recent, .. }) = self.measured.get(&Subject::Job(job)) else {
            return Speeds::default();
        };
        let over = |time_ms| mean(recent.iter().rev().take_while(|point| is_within(point, time_ms, at_ms)));
        Speeds { now: over(NOW_MS), hour: over(HOUR_MS) }
    }

    /// Returns the curve of a job or the fleet.
    pub fn curve(&self, subject: Subject) -> Curve {
        self.measured.get(&subject).map(|measured| measured.curve.clone()).unwrap_or_default()
    }
}

impl Measured {
    fn measure(&mut self, now: Duration, at_ms: u64, standing: ProgressTotals, is_going: bool) -> bool {
        let ProgressTotals { work, billionths, .. } = standing;
        let (first_seen, work_then) = *self.first.get_or_insert((now, work));
        let next = is_going.then_some((now, work));
        let Some((at, before)) = std::mem::replace(&mut self.last, next) else { return false };
        let measured = now.saturating_sub(at);
        let is_late = work_then > 0 && at.saturating_sub(first_seen) < LATE_REPORTS;
        if is_late || measured > FARTHEST {
            return false;
        }
        let point = Point {
            at_ms,
            measured_ms: u64::try_from(measured.as_millis()).unwrap_or(u64::MAX),
            work: u64::try_from(work.saturating_sub(before)).unwrap_or(u64::MAX),
            billionths,
        };
        self.curve.add(point, MOST_POINTS);
        // The clock was set back.
        while self.recent.back().is_some_and(|last| last.at_ms > at_ms) {
            self.recent.pop_back();
        }
        self.recent.push_back(point);
        true
    }
}

/// Returns whether a point was measured in the last milliseconds before `at_ms`.
const fn is_within(point: &Point, time_ms: u64, at_ms: u64) -> bool {
    point.at_ms.saturating_add(time_ms) >= at_ms
}

/// The present state of a job or the fleet.
#[derive(Clone, Copy)]
struct ProgressTotals {
    subject: Subject,
    work: u128,
    billionths: u32,
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
