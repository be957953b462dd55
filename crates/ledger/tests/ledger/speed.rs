//! Tests that speeds and remaining times are measured ones, and absent before a measurement.

use std::time::Duration;

use queens_ledger::Reporting;
use queens_model::{Delta, JobState, MethodSpeeds, Speed, TimeLeft, WorkerId, WorkerStatus};

use crate::world::{World, named};

impl World {
    fn worker(&self, id: WorkerId) -> WorkerStatus {
        self.ledger.workers().into_iter().find(|worker| worker.id == id).expect("connected")
    }
}

#[test]
fn a_speed_that_nobody_has_measured_is_not_told() {
    let mut world = World::new();
    let workers = [1, 2, 3].map(|id| world.connect(id, "portable"));
    let idle = workers.map(|worker| world.worker(worker).speed);
    let job = world.submit(13);
    world.pass(Duration::from_secs(1));
    let unmeasured = workers.map(|worker| world.worker(worker).speed);
    assert_eq!((idle, unmeasured), ([Some(MethodSpeeds::ZERO); 3], [None; 3]));
    assert_eq!(world.job(job).time_left, None, "nobody knows how fast it goes");

    let delta = world.begin(workers[0]).expect("has a lease");
    let work = delta.count.work as f64;
    world.report(workers[0], Some(delta));
    world.pass(Duration::from_secs(1));
    let measured = world.worker(workers[0]).speed.expect("measured");
    assert_eq!(measured.halves, Speed::ZERO);
    let measured = measured.search.get();
    assert!((measured / (work / 0.05) - 1.0).abs() < 1e-9, "{work} nodes in 50 ms, not {measured} a second");
    assert_eq!(world.worker(workers[1]).speed, None);
    assert_eq!(world.job(job).time_left, None, "two of three might be as slow as they like");

    for worker in workers {
        world.step(worker);
    }
    world.pass(Duration::from_secs(1));
    assert!(
        workers
            .iter()
            .all(|&worker| world.worker(worker).speed.is_some_and(|speed| speed.search > Speed::ZERO))
    );
    assert!(world.job(job).time_left.is_some());
}

/// Checks the remaining time with a worker that idles this long after each subproblem of 50 ms. From a tenth of the
/// work on, it must be within a quarter of the truth, and inside its range.
#[track_caller]
fn check_time_left(idle: Duration) {
    let mut world = World::new();
    let worker = world.connect(1, "only");
    let job = world.submit(13);
    let mut told = Vec::new();
    while world.step(worker) {
        world.pass(idle);
        let status = world.job(job);
        if status.state == JobState::Running && (0.1..0.9).contains(&status.fraction()) {
            let left = status.time_left.expect("told");
            told.push((world.now, left.low(), left.expected(), left.high()));
        }
    }
    world.check_done(job);
    assert!(told.len() > 100, "{}", told.len());
    for (at, low, expected, high) in told {
        let truth = (world.now - at).as_secs_f64();
        assert!((expected / truth - 1.0).abs() < 0.25, "at {at:?}: {expected} s, in truth {truth}");
        assert!((low..high).contains(&truth), "at {at:?}: {low} to {high} s, in truth {truth}");
    }
}

#[test]
fn the_time_left_is_what_it_turns_out_to_be() {
    check_time_left(Duration::ZERO);
    check_time_left(Duration::from_millis(20));
    check_time_left(Duration::from_millis(100));
}

/// The same with a worker that counts all the time and reports only now and then, or when a lease ends.
#[test]
fn the_time_left_is_as_good_when_reports_are_rare() {
    let mut world = World::new();
    let (time, interval) = (Duration::from_secs(2), Duration::from_secs(60));
    let longest = interval.try_into().expect("an interval");
    world.ledger.set_reporting(Reporting { per_second: 1e-3, longest });
    let worker = world.connect(1, "only");
    let job = world.submit(13);
    let (mut told, mut counted, mut reported) = (Vec::new(), Vec::new(), Duration::ZERO);
    loop {
        let delta = world.begin(worker).map(|delta| Delta { duration: time, ..delta });
        let is_over = delta.is_none();
        counted.extend(delta);
        world.workers.get_mut(&worker).expect("there").in_hand = None;
        world.pass(time);
        let has_ended = world.workers[&worker].leases.values().any(|(_, spans)| spans.is_empty());
        if has_ended || is_over || world.now - reported >= interval {
            world.report_all(worker, std::mem::take(&mut counted));
            reported = world.now;
        }
        let status = world.job(job);
        if status.state == JobState::Done {
            break;
        }
        let is_soon = !(0.1..0.9).contains(&status.fraction());
        told.extend(status.time_left.filter(|_| !is_soon).map(|left| (world.now, left)));
    }
    let is_right = |(at, left): &(Duration, TimeLeft)| {
        let truth = (world.now - *at).as_secs_f64();
        (left.low()..left.high()).contains(&truth) && (left.expected() / truth - 1.0).abs() < 0.25
    };
    let n_right = told.iter().filter(|told| is_right(told)).count();
    assert!(told.len() > 100 && n_right == told.len(), "{n_right} of {}", told.len());
}

#[test]
fn a_blocked_worker_does_not_count_for_the_time_left() {
    let mut world = World::new();
    let [first, second] = [world.connect(1, "first"), world.connect(2, "second")];
    let job = world.submit(13);
    assert_eq!(world.job(job).time_left, None);
    while world.job(job).fraction() < 0.3 {
        world.step(first);
        world.step(second);
    }
    let before = world.job(job).time_left.expect("told").expected();
    world.ledger.block(world.now, &named("second"));
    world.carry_out();
    while !world.workers[&second].leases.is_empty() {
        world.step(second);
    }
    world.pass(Duration::from_millis(400));
    let after = world.job(job).time_left.expect("told").expected();
    assert!(after > before * 1.5, "{before} s with it, {after} s without");
    world.ledger.block(world.now, &named("first"));
    world.carry_out();
    world.step(first);
    world.pass(Duration::from_millis(400));
    assert_eq!(world.job(job).time_left, None);
}

/// Core-hours are shown to people, so nobody earns those of a century in a second.
#[test]
fn a_record_takes_no_longer_than_since_its_lease_was_granted() {
    let (mut world, job) = World::with(8);
    let worker = world.connect(1, "anna");
    world.pass(Duration::from_secs(3));
    for _ in 0..3 {
        let delta = world.begin(worker).expect("something to count");
        world.report_counted(worker, Delta { duration: Duration::from_secs(1_000_000), ..delta });
    }
    let told: Duration = world.store.records(job).map(|record| record.duration).sum();
    // Each lease has a second of leeway.
    assert!((3..=3 * (3 + 1)).contains(&told.as_secs()), "{told:?}");
}
