//! What is measured is told, and nothing else is.

use queens_proto::{JobState, Priority, Progress};
use queens_solver::BoardSize;

use super::*;
use crate::store::history::{LEVELS, Point};

/// A time of today, on the first second of a day.
const BEGINNING_MS: u64 = 20_000 * 86_400_000;

pub(super) fn job(id: u64, state: JobState, nodes: u128) -> JobStatus {
    JobStatus {
        id: JobId(id),
        n: BoardSize::new(27).expect("a board size"),
        state,
        progress: Progress { nodes, work: 1 << 60, work_recorded: nodes, ..Progress::default() },
        active: Duration::ZERO,
        seconds_left: None,
        seconds_left_low: None,
        seconds_left_high: None,
        n_workers: 1,
        n_verified: 0,
        n_disputed: 0,
        created_ms: 0,
        started_ms: None,
        finished_ms: None,
        priority: Priority::default(),
        n_failed: 0,
        n_given_up: 0,
        failure: None,
        store_error: None,
        n_plans_before: None,
        plan_fraction: None,
        fundamental: None,
    }
}

/// The curves of job 1, looked at by hand.
#[derive(Default)]
struct Looks {
    curves: Curves,
    now_ms: u64,
    /// What the calendar is ahead.
    ahead_ms: u64,
    nodes: u128,
}

impl Looks {
    fn at_ms(&self) -> u64 {
        BEGINNING_MS + self.now_ms + self.ahead_ms
    }

    fn look(&mut self, state: JobState) {
        let (now, at_ms) = (Duration::from_millis(self.now_ms), self.at_ms());
        self.curves.look(now, at_ms, &[job(1, state, self.nodes)]);
    }

    fn count(&mut self, milliseconds: u64, nodes: u128) {
        self.now_ms += milliseconds;
        self.nodes += nodes;
        self.look(JobState::Running);
    }

    /// Nodes and milliseconds of each level.
    fn sums(&self) -> [(u64, u64); LEVELS.len()] {
        let sum = |points: Vec<Point>| {
            let nodes = points.iter().map(|point| point.nodes).sum();
            (nodes, points.iter().map(|point| point.measured_ms).sum())
        };
        self.curves.levels(JobId(1)).map(sum)
    }
}

#[test]
fn a_coarse_step_is_the_sum_of_the_fine_ones() {
    let mut looks = Looks::default();
    looks.look(JobState::Running);
    let mut random: u64 = 1;
    for _ in 0..250 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        looks.count(900 + (random >> 33) % 300, u128::from(random >> 20));
    }
    let all = (u64::try_from(looks.nodes).expect("few"), looks.now_ms);
    assert_eq!(looks.sums(), [all; LEVELS.len()]);
    let n_points = looks.curves.levels(JobId(1)).map(|points| points.len());
    let n_minutes = usize::try_from(looks.now_ms / 60_000).expect("few") + 1;
    assert_eq!(n_points[1..], [looks.now_ms.div_ceil(10_000) as usize, n_minutes, 1, 1, 1]);
}

#[test]
fn what_nobody_measured_is_in_no_mean() {
    let mut looks = Looks::default();
    looks.look(JobState::Running);
    (0..60).for_each(|_| looks.count(1000, 500));
    // Paused, and the process stopped meanwhile.
    looks.now_ms += 400;
    looks.look(JobState::Paused);
    looks.now_ms += 600_000;
    looks.look(JobState::Running);
    (0..60).for_each(|_| looks.count(1000, 500));
    // It stands still, and reports come when it goes on.
    looks.count(120_000, 1_000_000);
    (0..60).for_each(|_| looks.count(1000, 500));
    assert_eq!(looks.sums(), [(90_000, 180_400); LEVELS.len()]);
    let pace = looks.curves.pace(JobId(1), looks.at_ms());
    assert_eq!(pace.now, Some(500.0));
    assert!(pace.hour.is_some_and(|hour| (498.0..500.0).contains(&hour)), "{pace:?}");
    assert_eq!(looks.curves.pace(JobId(1), looks.at_ms() + 20_000).now, None);
    assert_eq!(looks.curves.pace(JobId(2), looks.at_ms()), Pace::default());
}

#[test]
fn what_was_counted_before_this_process_looked_is_not_told_of_its_time() {
    let mut looks = Looks { nodes: 1_000_000, ..Looks::default() };
    looks.look(JobState::Running);
    // Workers that counted meanwhile report at once.
    looks.count(1000, 777_777);
    looks.count(1000, 555);
    (0..10).for_each(|_| looks.count(1000, 500));
    assert_eq!(looks.sums(), [(5000, 10_000); LEVELS.len()]);
}

#[test]
fn a_clock_that_is_put_back_leaves_nothing_in_the_future() {
    let mut looks = Looks { ahead_ms: 40 * 86_400_000, ..Looks::default() };
    looks.look(JobState::Running);
    (0..10).for_each(|_| looks.count(1000, 500));
    looks.ahead_ms = 0;
    (0..10).for_each(|_| looks.count(1000, 500));
    let at_ms = looks.at_ms();
    let kept = looks.curves.prune(at_ms);
    for (level, points) in looks.curves.levels(JobId(1)).iter().enumerate() {
        assert!(
            !points.is_empty() && points.iter().all(|point| point.at_ms() <= at_ms),
            "{level}: {points:?}"
        );
        assert!(points.iter().all(|point| (kept[level].0..=kept[level].1).contains(&point.number)));
    }
    assert_eq!(looks.sums()[0], (5000, 10_000));
}

#[test]
fn many_jobs_do_not_take_more_room() {
    let mut curves = Curves::default();
    let mut now = 0;
    for id in 1..=20_000 {
        for (state, nodes) in [(JobState::Running, 0), (JobState::Done, 1000)] {
            now += 600;
            curves.look(Duration::from_millis(now), BEGINNING_MS + now, &[job(id, state, nodes)]);
        }
        if id % 100 == 0 {
            curves.prune(BEGINNING_MS + now);
        }
    }
    let mut n_points = [0; LEVELS.len()];
    for id in 1..=20_000 {
        for (n_points, points) in n_points.iter_mut().zip(curves.levels(JobId(id))) {
            *n_points += points.len();
        }
    }
    for (level, n_points) in LEVELS.iter().zip(n_points) {
        assert!((1..=level.most_points).contains(&n_points), "{n_points} of {level:?}");
    }
    // The latest is there.
    assert_eq!(curves.levels(JobId(20_000))[0].len(), 1);
    // Those that began first are not the only ones.
    assert_eq!(curves.levels(JobId(1)).map(|points| points.len()), [0, 0, 0, 0, 1, 1]);
}
