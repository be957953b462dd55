//! How long a job should still take.
//!
//! What is left is counted in nodes: the estimated work that is not recorded, times the ratio of measured to estimated
//! nodes of what is. How fast it goes is what the threads that count the job *now* were measured at, times the share
//! of that which was really counted lately. So a worker that joins, is blocked or goes over to another job matters at
//! once, and one that is held up as soon as less comes from it than it promised. Nothing is told until nearly all of
//! the speed was measured: what a worker says of itself before is a guess.
//!
//! The range is some two standard deviations wide on each side: of the ratio, by how many crosses are recorded; of the
//! speed, by how much it has varied; and a few per cent for what nobody knows.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use queens_model::{JobId, TimeLeft};

use crate::jobs::counting::Counting;
use crate::jobs::job::Job;
use crate::state::State;

/// Time between two looks: the least, and what each worker of the cluster adds to it.
const LOOK_SECONDS: f64 = 0.2;
const LOOK_SECONDS_PER_WORKER: f64 = 50e-6;

/// Periods of which it is kept what was counted in them, how long the first are, and how long they get: when there are
/// too many, each two become one.
const MOST_PERIODS: usize = 32;
const FIRST_PERIOD_SECONDS: f64 = 1.0;
const LONGEST_PERIOD_SECONDS: f64 = 60.0;

/// How much less a period matters than the one after it: about the last ten do.
const FADING: f64 = 0.9;

/// A thread of which nothing was heard for longer, though its worker should have reported, is not taken to go on counting.
const LONGEST_SILENCE_SECONDS: f64 = 10.0;

/// What is expected before anything is measured: promises are kept, for this long, but not to more than this.
const TRUST_SECONDS: f64 = 0.3;
const FIRST_SPREAD: f64 = 0.1;

/// The share of a team's speed that may be guessed when something is told of it.
const MOST_GUESSED: f64 = 0.1;

/// The standard deviation of one cross's measured nodes from its estimate (root mean square, n = 15 to 19).
const SPREAD_OF_ESTIMATES: f64 = 0.2;

/// What the future may have in store that the past has not, and how long the last reports may take.
const UNKNOWN: f64 = 0.08;
const SLACK_SECONDS: f64 = 0.3;

/// How fast jobs are counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paces {
    /// When it was last looked at.
    looked: Duration,
    /// Of jobs that are there to be counted.
    of_jobs: BTreeMap<JobId, JobPace>,
}

/// How fast a job is counted, as far as it was looked at.
#[derive(Clone, Debug, Default)]
struct JobPace {
    periods: VecDeque<Period>,
    period_seconds: f64,
    /// Nodes that were counted at the last look, reported or not, and what was promised for each second since.
    before: Option<(f64, f64)>,
    left: Option<TimeLeft>,
}

/// What was counted in some time, in nodes, and what the threads would have counted at their measured speed.
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
    /// That part of it which nobody has measured yet.
    guessed: f64,
    /// Nodes they should have counted and not reported.
    in_hand: f64,
}

impl Team {
    fn is_measured(&self) -> bool {
        self.guessed < MOST_GUESSED * self.speed
    }
}

impl Paces {
    /// Looks at what was counted since the last look, if that is long enough ago.
    pub(crate) fn look(&mut self, state: &State) {
        let seconds = state.now().saturating_sub(self.looked).as_secs_f64();
        if seconds < LOOK_SECONDS + LOOK_SECONDS_PER_WORKER * state.workers().len() as f64 {
            return;
        }
        self.looked = state.now();
        self.of_jobs.retain(|&id, _| state.jobs().get(id).is_some_and(Job::is_active));
        let teams = teams(state);
        for (&id, pace) in &mut self.of_jobs {
            if !teams.contains_key(&id) {
                pace.pause();
            }
        }
        for (id, team) in teams {
            let Some(counting) = state.jobs().get(id).filter(|job| job.is_active()).and_then(Job::counting)
            else {
                continue;
            };
            self.of_jobs.entry(id).or_default().look(seconds, team, counting);
        }
    }

    /// How long a job should still take; `None` if nobody counts it, or nobody knows how fast.
    pub(crate) fn time_left(&self, job: JobId) -> Option<TimeLeft> {
        self.of_jobs.get(&job)?.left
    }
}

fn teams(state: &State) -> BTreeMap<JobId, Team> {
    let mut teams: BTreeMap<JobId, Team> = BTreeMap::new();
    for (_, worker) in state.workers().iter().filter(|(_, worker)| worker.is_connected()) {
        for (job, share) in worker.held_leases().shares().filter(|(_, share)| share.n_running() > 0) {
            let counted = state.method(job).and_then(|method| worker.counted(method));
            let Some(counted) = counted else { continue };
            let speed = counted.measured().unwrap_or_else(|| counted.nodes_per_second());
            let team = teams.entry(job).or_default();
            let n_threads = f64::from(share.n_running());
            let longest = LONGEST_SILENCE_SECONDS + worker.extra_interval().as_secs_f64();
            let silent = share.silent_seconds(state.now()).min(longest * n_threads);
            team.speed += speed * n_threads;
            team.guessed += if counted.is_guess() { speed * n_threads } else { 0.0 };
            team.in_hand += (speed * silent).min(share.running_work() as f64);
        }
    }
    teams
}

impl JobPace {
    /// Nobody counts the job, or nobody knows how fast.
    fn pause(&mut self) {
        self.before = None;
        self.left = None;
    }

    fn look(&mut self, seconds: f64, team: Team, counting: &Counting) {
        let counted = counting.progress().nodes as f64 + team.in_hand;
        let before = self.before.replace((counted, team.speed));
        if !team.is_measured() {
            // What a wrong guess promises says nothing.
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
        let n_crosses = counting.plan().parts().len().max(1) as f64;
        let (work, work_recorded) = (progress.work as f64, progress.work_recorded as f64);
        // As if one cross had been counted before and had turned out as estimated.
        let typical = work / n_crosses;
        let ratio = (progress.nodes as f64 + typical) / (work_recorded + typical);
        let nodes_left = ((work - work_recorded) * ratio - team.in_hand).max(0.0);
        let recorded = work_recorded / work.max(1.0);
        let ratio_spread =
            SPREAD_OF_ESTIMATES * ((1.0 - recorded).max(0.0) / (recorded * n_crosses + 1.0)).sqrt();

        let (share, share_spread, mean_seconds, n_periods) = self.share_kept(team.speed);
        let expected = nodes_left / (team.speed * share);
        let to_come = (mean_seconds / expected).min(1.0);
        // Twice, as one second is much like the next.
        let variance = 2.0 * share_spread.powi(2) * (1.0 / n_periods + to_come) + ratio_spread.powi(2);
        let either_way = (2.0 * variance.sqrt() + UNKNOWN).min(5.0).exp();
        let low = (expected / either_way - SLACK_SECONDS).max(0.0);
        TimeLeft::new(low, expected, expected * either_way + SLACK_SECONDS).ok()
    }

    /// The share of what threads promised that they counted lately, its standard deviation from one period to the
    /// next, the mean length of those periods and their number.
    fn share_kept(&self, speed: f64) -> (f64, f64, f64, f64) {
        let weighted = || {
            let weights = std::iter::successors(Some(1.0), |weight| Some(weight * FADING));
            let promised = self.periods.iter().rev().filter(|period| period.promised > 0.0);
            // A worker that comes back may have more to tell than it had time for.
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
