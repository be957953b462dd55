//! Estimates the remaining time of a job.
//!
//! The remaining work is counted in nodes: the unrecorded estimated work, times the ratio of measured to estimated
//! nodes of the records. The speed is the measured speed of the threads that count the job *now*, times the share of it
//! that was lately achieved. So it matters at once if a worker joins, is blocked or moves to another job. A worker that
//! is held up matters as soon as it achieves less than its speed promises. There is no estimate until nearly all of the
//! speed is measured: before that, a worker's own figure is a guess.
//!
//! The range is some two standard deviations wide on each side. It covers the ratio, by the number of recorded parts;
//! the speed, by its variation; and a few per cent of unknowns.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use queens_model::{JobId, TimeLeft};

use crate::jobs::counting::Counting;
use crate::jobs::job::Job;
use crate::jobs::job_table::Jobs;
use crate::workers::worker_table::Workers;

/// The minimum interval between two measurements, and the addition for each worker of the cluster.
const LOOK_SECONDS: f64 = 0.2;
const LOOK_SECONDS_PER_WORKER: f64 = 50e-6;

/// The number of periods that are kept, the length of the first ones, and the longest. When there are too many, each
/// two are merged.
const MOST_PERIODS: usize = 32;
const FIRST_PERIOD_SECONDS: f64 = 1.0;
const LONGEST_PERIOD_SECONDS: f64 = 60.0;

/// The weight of a period relative to the next one: about the last ten matter.
const FADING: f64 = 0.9;

/// A thread that is overdue with a report by more than this is not assumed to go on counting.
const LONGEST_SILENCE_SECONDS: f64 = 10.0;

/// The prior before any measurement: promises are kept for this long, with this spread.
const TRUST_SECONDS: f64 = 0.3;
const FIRST_SPREAD: f64 = 0.1;

/// The largest guessed share of a team's speed with which an estimate is given.
const MOST_GUESSED: f64 = 0.1;

/// The standard deviation of one part's measured nodes from its estimate (root mean square, n = 15 to 19).
const SPREAD_OF_ESTIMATES: f64 = 0.2;

/// Allowances for future disturbances that the past does not show, and for the last reports.
const UNKNOWN: f64 = 0.08;
const SLACK_SECONDS: f64 = 0.3;

/// The speed at which each job is counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paces {
    /// The time of the last measurement.
    measured: Duration,
    /// The paces of active jobs.
    of_jobs: BTreeMap<JobId, JobPace>,
}

/// The measured speed of one job.
#[derive(Clone, Debug, Default)]
struct JobPace {
    periods: VecDeque<Period>,
    period_seconds: f64,
    /// The nodes that were counted at the last measurement, reported or not, and those promised for each second since.
    before: Option<(f64, f64)>,
    left: Option<TimeLeft>,
}

/// The nodes counted in some time, and the nodes that the threads would have counted at their measured speed.
#[derive(Clone, Copy, Debug, Default)]
struct Period {
    seconds: f64,
    counted: f64,
    promised: f64,
}

/// The threads that count a job at present.
#[derive(Clone, Copy, Debug, Default)]
struct Team {
    /// Nodes per second.
    speed: f64,
    /// The part of the speed that is not measured yet.
    guessed: f64,
    /// The nodes that they should have counted and not reported.
    in_hand: f64,
}

impl Team {
    fn is_measured(&self) -> bool {
        self.guessed < MOST_GUESSED * self.speed
    }
}

impl Paces {
    /// Measures the progress since the last measurement, if that is long enough ago.
    pub(crate) fn measure(&mut self, now: Duration, jobs: &Jobs, workers: &Workers) {
        let seconds = now.saturating_sub(self.measured).as_secs_f64();
        if seconds < LOOK_SECONDS + LOOK_SECONDS_PER_WORKER * workers.len() as f64 {
            return;
        }
        self.measured = now;
        self.of_jobs.retain(|&id, _| jobs.get(id).is_some_and(Job::is_active));
        let teams = teams(now, jobs, workers);
        for (&id, pace) in &mut self.of_jobs {
            if !teams.contains_key(&id) {
                pace.pause();
            }
        }
        for (id, team) in teams {
            let Some(counting) = jobs.get(id).filter(|job| job.is_active()).and_then(Job::counting) else {
                continue;
            };
            self.of_jobs.entry(id).or_default().measure(seconds, team, counting);
        }
    }

    /// Returns the remaining time of a job; `None` if nobody counts it, or the speed is unknown.
    pub(crate) fn time_left(&self, job: JobId) -> Option<TimeLeft> {
        self.of_jobs.get(&job)?.left
    }
}

fn teams(now: Duration, jobs: &Jobs, workers: &Workers) -> BTreeMap<JobId, Team> {
    let mut teams: BTreeMap<JobId, Team> = BTreeMap::new();
    for (_, worker) in workers.iter().filter(|(_, worker)| worker.is_connected()) {
        for (job, share) in worker.held.shares().filter(|(_, share)| share.n_running > 0) {
            let counted = jobs.get(job).and_then(|job| worker.counted(job.method()));
            let Some(counted) = counted else { continue };
            let speed = counted.measured().unwrap_or(counted.work_per_second);
            let team = teams.entry(job).or_default();
            let n_threads = f64::from(share.n_running);
            let longest = LONGEST_SILENCE_SECONDS + worker.extra_interval().as_secs_f64();
            let silent = share.silent_seconds(now).min(longest * n_threads);
            team.speed += speed * n_threads;
            team.guessed += if counted.is_guess() { speed * n_threads } else { 0.0 };
            team.in_hand += (speed * silent).min(share.running_work as f64);
        }
    }
    teams
}

impl JobPace {
    /// Suspends the estimate, because nobody counts the job or the speed is unknown.
    fn pause(&mut self) {
        self.before = None;
        self.left = None;
    }

    fn measure(&mut self, seconds: f64, team: Team, counting: &Counting) {
        let counted = counting.progress().work as f64 + team.in_hand;
        let before = self.before.replace((counted, team.speed));
        if !team.is_measured() {
            // A promise that rests on a wrong guess says nothing.
            self.pause();
            return;
        }
        if let Some((counted_before, speed_before)) = before {
            let promised = f64::midpoint(team.speed, speed_before) * seconds;
            self.add(Period { seconds, counted: counted - counted_before, promised });
        }
        self.left = self.estimate(team, counting);
    }

    fn add(&mut self, period: Period) {
        self.period_seconds = self.period_seconds.max(FIRST_PERIOD_SECONDS);
        match self.periods.back_mut().filter(|last| last.seconds < self.period_seconds) {
            Some(last) => *last = last.with(period),
            None => self.periods.push_back(period),
        }
        if self.periods.len() <= MOST_PERIODS {
            return;
        }
        if self.period_seconds < LONGEST_PERIOD_SECONDS {
            self.period_seconds *= 2.0;
            let pairs = self.periods.make_contiguous().chunks(2);
            self.periods = pairs
                .map(|pair| pair.iter().fold(Period::default(), |sum, period| sum.with(*period)))
                .collect();
        } else {
            self.periods.pop_front();
        }
    }

    fn estimate(&self, team: Team, counting: &Counting) -> Option<TimeLeft> {
        let progress = counting.progress();
        let n_parts = counting.plan().parts().len().max(1) as f64;
        let (work, work_recorded) = (progress.estimated_work as f64, progress.estimated_work_recorded as f64);
        // As if one part had been counted before, exactly as estimated.
        let typical = work / n_parts;
        let ratio = (progress.work as f64 + typical) / (work_recorded + typical);
        let nodes_left = ((work - work_recorded) * ratio - team.in_hand).max(0.0);
        let recorded = work_recorded / work.max(1.0);
        let ratio_spread =
            SPREAD_OF_ESTIMATES * ((1.0 - recorded).max(0.0) / (recorded * n_parts + 1.0)).sqrt();

        let (share, share_spread, mean_seconds, n_periods) = self.share_kept(team.speed);
        let expected = nodes_left / (team.speed * share);
        let to_come = (mean_seconds / expected).min(1.0);
        // Doubled, because successive seconds are alike.
        let variance = 2.0 * share_spread.powi(2) * (1.0 / n_periods + to_come) + ratio_spread.powi(2);
        let either_way = (2.0 * variance.sqrt() + UNKNOWN).min(5.0).exp();
        let low = (expected / either_way - SLACK_SECONDS).max(0.0);
        TimeLeft::new(low, expected, expected * either_way + SLACK_SECONDS).ok()
    }

    /// Returns the share of the promised nodes that was lately counted, and its standard deviation between periods. The
    /// other two values are the mean length and the number of those periods.
    fn share_kept(&self, speed: f64) -> (f64, f64, f64, f64) {
        let weighted = || {
            let weights = std::iter::successors(Some(1.0), |weight| Some(weight * FADING));
            let promised = self.periods.iter().rev().filter(|period| period.promised > 0.0);
            // A worker that comes back may report more than it had time for.
            let counted = |period: &Period| period.counted.clamp(0.0, 2.0 * period.promised);
            promised.map(move |period| Period { counted: counted(period), ..*period }).zip(weights)
        };
        let trust = TRUST_SECONDS * speed;
        let (counted, promised, seconds, n_periods) =
            weighted().fold((trust, trust, 0.0, 0.0), |(counted, promised, seconds, n), (period, weight)| {
                (
                    counted + weight * period.counted,
                    promised + weight * period.promised,
                    seconds + weight * period.seconds,
                    n + weight,
                )
            });
        let share = (counted / promised).clamp(0.01, 2.0);
        let squares: f64 = weighted()
            .map(|(period, weight)| weight * (period.counted / period.promised / share - 1.0).powi(2))
            .sum();
        // As if three periods had varied like that before.
        let spread = ((squares + 3.0 * FIRST_SPREAD.powi(2)) / (n_periods + 2.0)).sqrt();
        (share, spread, seconds / f64::max(n_periods, 1.0), f64::max(n_periods, 1.0))
    }
}

impl Period {
    fn with(self, other: Self) -> Self {
        Self {
            seconds: self.seconds + other.seconds,
            counted: self.counted + other.counted,
            promised: self.promised + other.promised,
        }
    }
}
