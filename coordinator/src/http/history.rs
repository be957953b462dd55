//! How jobs were counted lately, in memory of a bounded size: the longer ago, the coarser. It begins anew with each
//! coordinator process.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use queens_proto::{JobId, JobState, JobStatus};
use serde::Serialize;

use crate::Snapshot;
use crate::journal::unix_ms;

/// Steps between samples and how many are kept: five minutes, two hours and thirty days.
const LEVELS: [(Duration, usize); 3] =
    [(Duration::from_secs(1), 300), (Duration::from_secs(10), 720), (Duration::from_secs(600), 4320)];

/// What counts as now.
const NOW: Duration = Duration::from_secs(10);
/// Workers report once a second: rates over less would go up and down with what happens to fall into it.
const SMOOTH: Duration = Duration::from_secs(5);
const HOUR: Duration = Duration::from_secs(3600);

/// Those of all jobs that were counted since the coordinator began.
#[derive(Debug, Default)]
pub(super) struct Histories(BTreeMap<JobId, History>);

#[derive(Debug)]
struct History {
    levels: [VecDeque<Sample>; LEVELS.len()],
    is_over: bool,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    at_ms: u64,
    nodes: u128,
    fraction: f64,
}

/// Nodes per second, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Pace {
    /// Over the last ten seconds.
    pub(super) now: Option<f64>,
    /// Over the last hour, or since it is known.
    pub(super) hour: Option<f64>,
}

/// Samples in even steps, the oldest first.
#[derive(Debug, Serialize)]
pub(super) struct LevelView {
    step_seconds: u64,
    samples: Vec<SampleView>,
}

#[derive(Debug, Serialize)]
struct SampleView {
    at_ms: u64,
    /// Of the step that ends here, or of five seconds if it is shorter.
    nodes_per_second: f64,
    fraction: f64,
}

impl Histories {
    /// Adds how things stand. Called at least once a second.
    pub(super) fn add(&mut self, snapshot: &Snapshot) {
        let (at, at_ms) = (Instant::now(), unix_ms());
        for job in &snapshot.jobs {
            let sample = Sample { at, at_ms, nodes: job.progress.nodes, fraction: job.fraction() };
            self.add_sample(job, sample);
        }
    }

    fn add_sample(&mut self, job: &JobStatus, sample: Sample) {
        let is_over = job.state.is_over();
        // A job without a past begins to have one when it is counted.
        let history = match self.0.get_mut(&job.id) {
            Some(history) if !(is_over && history.is_over) => history,
            None if job.state == JobState::Running => {
                self.0.entry(job.id).or_insert(History { levels: Default::default(), is_over })
            }
            _ => return,
        };
        history.is_over = is_over;
        for (samples, (step, most)) in history.levels.iter_mut().zip(LEVELS) {
            // Ticks are not exact.
            let is_due = |last: &Sample| sample.at.saturating_duration_since(last.at) >= step.mul_f64(0.95);
            if samples.back().is_none_or(is_due) || is_over {
                if samples.len() == most {
                    samples.pop_front();
                }
                samples.push_back(sample);
            }
        }
    }

    /// How fast a job is counted.
    pub(super) fn pace(&self, job: JobId) -> Pace {
        let Some(History { levels: [fine, middle, _], .. }) = self.0.get(&job) else {
            return Pace::default();
        };
        let Some(&last) = fine.back() else { return Pace::default() };
        let over = |samples: &VecDeque<Sample>, time: Duration| {
            let is_recent = |first: &&Sample| last.at.saturating_duration_since(first.at) <= time;
            samples.iter().find(is_recent).and_then(|first| rate(*first, last))
        };
        // The middle samples begin to tell more when the fine ones are full.
        let hour = over(if fine.len() < LEVELS[0].1 { fine } else { middle }, HOUR);
        Pace { now: over(fine, NOW), hour }
    }

    /// All samples of a job.
    pub(super) fn levels(&self, job: JobId) -> Vec<LevelView> {
        let Some(history) = self.0.get(&job) else { return Vec::new() };
        let level = |(samples, (step, _)): (&VecDeque<Sample>, (Duration, usize))| {
            let (step_seconds, smooth) = (step.as_secs(), SMOOTH.as_secs().div_ceil(step.as_secs()));
            let before = std::iter::repeat_n(
                samples.front(),
                usize::try_from(smooth).map_or(0, |smooth| smooth.saturating_sub(1)),
            );
            let before = before.flatten().chain(samples.iter());
            let samples = before.zip(samples.iter().skip(1)).filter_map(|(a, b)| view(*a, *b)).collect();
            LevelView { step_seconds, samples }
        };
        history.levels.iter().zip(LEVELS).map(level).collect()
    }
}

fn view(before: Sample, sample: Sample) -> Option<SampleView> {
    let nodes_per_second = rate(before, sample)?;
    Some(SampleView { at_ms: sample.at_ms, nodes_per_second, fraction: sample.fraction })
}

fn rate(from: Sample, to: Sample) -> Option<f64> {
    let seconds = to.at.saturating_duration_since(from.at).as_secs_f64();
    (seconds > 0.5).then(|| to.nodes.saturating_sub(from.nodes) as f64 / seconds)
}
