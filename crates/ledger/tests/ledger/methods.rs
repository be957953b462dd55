//! Tests of jobs of both methods, with workers that can count by one of them or both.

use std::time::Duration;

use queens_ledger::RestoreError;
use queens_ledger::store::{JobEntry, Store, Write};
use queens_ledger::{Ledger, Run};
use queens_model::{HalvesSkill, JobId, JobState, Speed, WorkerId};
use queens_solver::Method;

use crate::world::{World, named, priority};

/// Returns the jobs that a worker holds leases of.
fn held(world: &World, worker: WorkerId) -> Vec<JobId> {
    let mut jobs: Vec<JobId> = world.workers[&worker]
        .leases
        .values()
        .filter_map(|(lease, _)| world.ledger.job_of(lease.job))
        .collect();
    jobs.dedup();
    jobs
}

#[test]
fn jobs_of_both_methods_are_counted_to_the_published_number() {
    let mut world = World::new();
    let jobs = [(9, Method::Halves), (8, Method::Search), (8, Method::Halves)];
    let jobs = jobs.map(|(n, method)| world.submit_by(n, method));
    world.connect_able(1, "able");
    world.connect(2, "old");
    world.finish();
    jobs.into_iter().for_each(|job| world.check_done(job));
    assert_eq!(jobs.map(|job| world.job(job).method), [Method::Halves, Method::Search, Method::Halves]);
}

#[test]
fn a_job_that_nobody_can_count_waits_and_says_why_and_holds_up_nobody() {
    let mut world = World::new();
    let halves = world.submit_by(9, Method::Halves);
    let waits_for = |world: &World, job| world.job(job).waits_for.unwrap_or_default();
    assert_eq!(waits_for(&world, halves), "a worker: none is connected");
    world.ledger.set_priority(world.now, halves, priority(10)).expect("there");
    let old = world.connect(1, "old");
    assert_eq!(held(&world, old), []);
    assert_eq!(world.job(halves).state, JobState::Queued);
    assert!(
        waits_for(&world, halves).starts_with("a worker that can count by halves"),
        "{:?}",
        world.job(halves)
    );
    let search = world.submit(8);
    assert_eq!(held(&world, old), [search]);
    world.finish_job(search);
    assert_eq!(world.job(halves).state, JobState::Queued);
    let able = world.connect_able(2, "able");
    assert_eq!((held(&world, able), world.job(halves).waits_for), (vec![halves], None));
    world.finish_job(halves);
}

#[test]
fn a_worker_of_another_decomposition_of_halves_still_searches() {
    let mut world = World::new();
    let [halves, search] = [Method::Halves, Method::Search].map(|method| world.submit_by(8, method));
    let decomposition = Method::Halves.decomposition() + 1;
    let newer = HalvesSkill { decomposition, speed: Speed::from(1000) };
    let worker = world.connect_as(1, "newer", newer, Vec::new());
    assert_eq!(held(&world, worker), [search]);
    world.finish_job(search);
    assert_eq!(world.job(halves).state, JobState::Queued);
}

/// A worker gets the first job that it can count, whatever others there are.
#[test]
fn each_worker_gets_the_most_urgent_job_that_it_can_count() {
    let mut world = World::new();
    let [later, halves, search] = [
        world.submit_by(9, Method::Search),
        world.submit_by(9, Method::Halves),
        world.submit_by(10, Method::Search),
    ];
    for (job, urgent) in [(halves, 2), (search, 1)] {
        world.ledger.set_priority(world.now, job, priority(urgent)).expect("there");
    }
    let (old, able) = (world.connect(1, "old"), world.connect_able(2, "able"));
    assert_eq!((held(&world, old), held(&world, able)), (vec![search], vec![halves]));
    world.finish();
    [later, halves, search].into_iter().for_each(|job| world.check_done(job));
}

/// A more urgent job of either method takes over the workers that can count it, and leaves the others alone.
#[test]
fn a_job_takes_over_those_alone_that_can_count_it() {
    let mut world = World::new();
    let search = world.submit(10);
    let (old, able) = (world.connect(1, "old"), world.connect_able(2, "able"));
    let halves = world.submit_by(9, Method::Halves);
    // It is the most urgent, but no busy worker can count it: the job after it must not wait for that.
    world.ledger.set_priority(world.now, halves, priority(9)).expect("there");
    world.carry_out();
    let kept = held(&world, old);
    world.pass(Duration::from_millis(10));
    world.step(able);
    assert_eq!((kept, held(&world, able)), (vec![search], vec![halves]));
    let urgent = world.submit(9);
    world.ledger.set_priority(world.now, urgent, priority(5)).expect("there");
    world.carry_out();
    world.pass(Duration::from_millis(10));
    world.step(old);
    assert_eq!((held(&world, old), held(&world, able)), (vec![urgent], vec![halves]));
    world.finish();
    [search, halves, urgent].into_iter().for_each(|job| world.check_done(job));
}

/// The rest of a worker's halves job goes to another that can count it, not to an idle worker that can't.
#[test]
fn the_rest_of_a_lease_goes_to_whom_can_count_it() {
    let mut world = World::new();
    let job = world.submit_by(10, Method::Halves);
    let (slow, old) = (world.connect_able(1, "slow"), world.connect(2, "old"));
    while world.workers[&slow].leases.values().map(|(_, spans)| spans.len()).sum::<usize>() == 0 {
        world.pass(Duration::from_millis(50));
    }
    world.pass(Duration::from_secs(1));
    assert_eq!(held(&world, old), []);
    world.finish_job(job);
}

#[test]
fn a_span_that_failed_is_tried_by_those_that_can_count_it() {
    let mut world = World::new();
    let job = world.submit_by(8, Method::Halves);
    let (first, old) = (world.connect_able(1, "first"), world.connect(2, "old"));
    assert!(world.fail(first).is_some());
    world.finish();
    assert_eq!((held(&world, old), world.job(job).state), (vec![], JobState::Failed));
    world.connect_able(3, "another");
    world.finish_job(job);
}

#[test]
fn a_restart_keeps_the_method_and_refuses_another_decomposition() {
    let mut world = World::new();
    let job = world.submit_by(8, Method::Halves);
    world.connect_able(1, "able");
    world.step(WorkerId(1));
    let mut world = world.restart();
    assert_eq!(world.job(job).method, Method::Halves);
    world.connect_able(1, "able");
    world.finish_job(job);
    let entry = world.store.load().expect("memory").jobs.remove(0).entry;
    let other = JobEntry { decomposition: 99, ..entry };
    world.store.commit(&[Write::Job(other)]).expect("memory");
    let refused =
        Ledger::restore(world.store.load().expect("memory"), Run::new(1)).expect_err("cut otherwise");
    assert_eq!(refused, RestoreError { job, method: Method::Halves, found: 99 });
}

/// Work units of one method are no measure of the other's speed.
#[test]
fn speeds_are_measured_for_each_method_alone() {
    let mut world = World::new();
    let [search, halves] = [world.submit(9), world.submit_by(9, Method::Halves)];
    world.ledger.set_priority(world.now, halves, priority(1)).expect("there");
    let able = world.connect_able(1, "able");
    assert_eq!(held(&world, able), [halves]);
    let told = |world: &World| world.ledger.workers().remove(0).speed;
    assert_eq!(told(&world), None);
    world.step(able);
    let speeds = told(&world).expect("it counts by halves, which is measured");
    assert!(speeds.halves > Speed::ZERO && speeds.search == Speed::ZERO, "{speeds:?}");
    let in_hand = world.ledger.workers()[0].counting.expect("a lease");
    assert_eq!((in_hand.job, in_hand.method), (halves, Method::Halves));
    world.ledger.pause(world.now, halves).expect("runs");
    world.carry_out();
    while held(&world, able) != [search] {
        assert!(world.step(able));
    }
    assert_eq!(told(&world), None, "it searches, which is not measured");
    assert_eq!(world.ledger.workers()[0].methods, Method::ALL);
    assert!(world.ledger.workers()[0].name == named("able"));
}
