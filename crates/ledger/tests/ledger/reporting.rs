//! Tests of report intervals and of timeouts.

use std::time::Duration;

use queens_ledger::Reporting;
use queens_model::{JobState, WorkerId};

use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

/// Creates a world in which `n_workers` workers have this report interval.
fn world(n_workers: u32, interval: Duration) -> World {
    let mut world = World::new();
    let per_second = f64::from(n_workers) / interval.as_secs_f64();
    world.ledger.set_reporting(Reporting { per_second, ..Reporting::default() });
    world
}

impl World {
    fn told(&self, id: WorkerId) -> Option<Duration> {
        self.workers[&id].interval
    }

    fn is_there(&self, id: WorkerId) -> bool {
        self.ledger.workers().iter().any(|worker| worker.id == id)
    }
}

#[test]
fn the_more_workers_there_are_the_less_often_each_reports() {
    let mut world = World::new();
    let workers: Vec<WorkerId> = (1..=900).map(|id| world.connect(id, "many")).collect();
    let (first, last) = (workers[0], workers[899]);
    assert_eq!(world.told(first), None, "it was alone");
    assert_eq!(world.told(last), Some(SECOND * 3));
    world.report(first, None);
    assert_eq!(world.told(first), Some(SECOND * 3), "with an answer to a report");
    workers[1..899].iter().for_each(|&worker| world.ledger.goodbye(world.now, worker));
    world.report(last, None);
    assert_eq!(world.told(last), Some(SECOND));
    world.report(last, None);
    assert_eq!(world.told(last), Some(SECOND));
}

#[test]
fn no_worker_is_told_to_report_less_often_than_a_crash_may_lose() {
    let mut world = World::new();
    let longest = (SECOND * 7).try_into().expect("an interval");
    world.ledger.set_reporting(Reporting { per_second: 1e-3, longest });
    let worker = world.connect(1, "one");
    assert_eq!(world.told(worker), Some(SECOND * 7));
}

#[test]
fn a_worker_is_given_up_when_its_report_is_late_and_not_before() {
    let mut world = world(3, SECOND * 30);
    let [first, silent, leaves] =
        [(1, "first"), (2, "silent"), (3, "leaves")].map(|(id, name)| world.connect(id, name));
    let told = [first, silent, leaves].map(|worker| world.told(worker));
    assert_eq!(told, [Some(SECOND * 10), Some(SECOND * 20), Some(SECOND * 30)]);
    world.ledger.disconnect(world.now, leaves);
    world.pass(SECOND * 4);
    assert!(!world.is_there(leaves), "its connection is gone");
    world.pass(SECOND * 19);
    assert!(world.is_there(first));
    world.pass(SECOND);
    assert!(!world.is_there(first));
    world.pass(SECOND * 9);
    assert!(world.is_there(silent));
    world.pass(SECOND);
    assert!(!world.is_there(silent));
}

#[test]
fn who_counts_the_tail_of_a_job_reports_more_often_until_it_is_over() {
    let mut world = world(2, SECOND * 20);
    let workers = [world.connect(1, "one"), world.connect(2, "two")];
    workers.iter().for_each(|&worker| _ = world.report(worker, None));
    let idle = world.connect(3, "blocked");
    world.ledger.block(world.now, &crate::world::named("blocked"));
    let told = |world: &World| workers.map(|worker| world.told(worker).expect("told"));
    let job = world.submit(12);
    world.pass(SECOND / 10);
    assert!(told(&world).iter().all(|interval| *interval >= SECOND * 20), "there is work for all");
    while told(&world).iter().any(|interval| *interval >= SECOND * 10) {
        assert_ne!(world.job(job).state, JobState::Done, "nobody was told");
        workers.iter().for_each(|&worker| _ = world.step(worker));
    }
    assert!(told(&world).iter().all(|interval| (SECOND * 5..SECOND * 10).contains(interval)));
    assert!(world.told(idle) >= Some(SECOND * 20), "it counts nothing");
    world.finish_job(job);
    workers.iter().for_each(|&worker| _ = world.report(worker, None));
    assert!(told(&world).iter().all(|interval| *interval >= SECOND * 20));
}

/// A worker whose interval gets shorter at the end of a job is given up soon, but not before it can have heard of it.
#[test]
fn a_worker_that_is_hurried_has_the_time_to_hear_it() {
    let mut world = world(1, SECOND * 30);
    let worker = world.connect(1, "one");
    let job = world.submit(5);
    world.pass(SECOND * 29);
    assert_eq!(world.told(worker), Some(SECOND * 15 / 2), "all of job {job} is leased");
    world.pass(SECOND * 21);
    assert!(world.is_there(worker));
    world.pass(SECOND);
    assert!(!world.is_there(worker));
}
