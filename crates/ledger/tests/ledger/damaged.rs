//! Tests of jobs that are set aside because their stored state is invalid.

use std::time::Duration;

use queens_ledger::store::{Phase, Store, Write};
use queens_ledger::{JobRefusal, Verification};
use queens_model::{JobId, JobState, Share, Submission};
use queens_solver::Method;

use super::world::{World, size};

/// Creates a world with a job that is set aside, and another of the same size.
fn world() -> (World, [JobId; 2]) {
    let mut world = World::new();
    let jobs = [world.submit(8), world.submit(8)];
    let mut stored = world.store.load().expect("memory");
    stored.jobs[0].damage = Some("two rows contradict each other".to_owned());
    stored.jobs[0].choices = None;
    (World::of(stored, world.store.clone()), jobs)
}

#[test]
fn a_damaged_job_is_told_and_keeps_no_other_from_being_counted() {
    let (mut world, [damaged, other]) = world();
    let mut before = world.store.clone();
    world.connect(1, "anna");
    world.finish_job(other);
    let status = world.job(damaged);
    assert_eq!(status.state, JobState::Damaged);
    assert_eq!(status.failure.as_deref(), Some("two rows contradict each other"));
    // Its number is not used again, and its stored state stays.
    assert_eq!(world.submit(6), JobId(3));
    let [kept, now] =
        [&mut before, &mut world.store].map(|store| store.load().expect("memory").jobs.remove(0));
    assert_eq!(now, kept);
}

#[test]
fn nothing_can_be_decided_about_a_damaged_job() {
    let (mut world, [damaged, _]) = world();
    let refused = Err(JobRefusal::Damaged(damaged));
    let (now, ledger) = (world.now, &mut world.ledger);
    assert_eq!(ledger.cancel(now, damaged), refused);
    assert_eq!(ledger.pause(now, damaged), refused);
    assert_eq!(ledger.resume(now, damaged), refused);
    let more = Verification { recount: Some(Share::ALL), ..Verification::default() };
    assert_eq!(ledger.verify_more(now, damaged, more, 0), refused);
    assert!(!ledger.exported(damaged));
    assert!(
        world
            .ledger
            .take_effects()
            .writes
            .iter()
            .all(|write| !matches!(write, Write::Job(entry) if entry.id == damaged))
    );
}

/// Lookups of records may find the damage while workers count.
#[test]
fn workers_of_a_job_that_is_set_aside_go_on_with_others() {
    let mut world = World::new();
    let (damaged, other) = (world.submit(8), world.submit(8));
    let worker = world.connect(1, "anna");
    assert!(world.step(worker));
    assert_eq!(world.job(damaged).state, JobState::Running);
    world.ledger.set_aside(world.now, damaged, "a record is not what was written".to_owned());
    world.carry_out();
    assert_eq!(world.job(damaged).n_workers, 0);
    world.finish_job(other);
    assert_eq!(world.job(damaged).state, JobState::Damaged);
}

/// It would be a weaker proof than the one that was asked for.
#[test]
fn a_job_whose_other_pass_is_damaged_is_not_done() {
    for lost in [0, 1] {
        let mut world = World::new();
        let asked =
            Submission { second_pass: Some(Method::Search), ..Submission::new(size(7), Method::Search) };
        world.submit_on(&asked).expect("it is taken");
        let mut stored = world.store.load().expect("memory");
        stored.jobs[lost].damage = Some("a row is missing".to_owned());
        let mut world = World::of(stored, world.store.clone());
        ["anna", "bert"].into_iter().zip(1..).for_each(|(name, id)| _ = world.connect(id, name));
        world.finish();
        let other = world.ledger.jobs().remove(1 - lost);
        assert_eq!(other.state, JobState::Verifying);
        let pass = if lost == 1 { "its second pass, job 2" } else { "its first pass, job 1" };
        assert_eq!(other.waits_for, Some(format!("{pass}, which is damaged")));
        let entries = world.store.load().expect("memory").jobs;
        assert!(entries.iter().all(|job| job.entry.phase != Phase::Done));
    }
}

#[test]
fn another_second_pass_takes_the_place_of_a_damaged_one() {
    let mut world = World::new();
    let asked = Submission { second_pass: Some(Method::Search), ..Submission::new(size(7), Method::Search) };
    let job = world.submit_on(&asked).expect("it is taken");
    let mut stored = world.store.load().expect("memory");
    stored.jobs[1].damage = Some("a row is missing".to_owned());
    let mut world = World::of(stored, world.store.clone());
    let more = Verification { second_pass: Some(Method::Search), ..Verification::default() };
    assert_eq!(world.ledger.verify_more(world.now, job, more, 0), Ok(()));
    world.carry_out();
    let refused = Err(JobRefusal::HasSecond { job, second: JobId(3) });
    assert_eq!(world.ledger.verify_more(world.now, job, more, 0), refused);
    // The same after a restart.
    let mut stored = world.store.load().expect("memory");
    stored.jobs[1].damage = Some("a row is missing".to_owned());
    let mut world = World::of(stored, world.store.clone());
    ["anna", "bert"].into_iter().zip(1..).for_each(|(name, id)| _ = world.connect(id, name));
    world.finish();
    let states = world.ledger.jobs().into_iter().map(|job| job.state);
    assert!(states.eq([JobState::Done, JobState::Damaged, JobState::Done]));
}

#[test]
fn time_passes_for_a_damaged_job_without_a_plan() {
    let mut world = World::new();
    world.submit(6);
    let mut stored = world.store.load().expect("memory");
    stored.jobs[0].entry.phase = Phase::Planning;
    let mut world = World::of(stored, world.store.clone());
    assert_eq!(world.ledger.jobs()[0].state, JobState::Damaged);
    world.connect(1, "anna");
    _ = world.ledger.tick(world.now + Duration::from_secs(3600));
    assert!(world.ledger.take_effects().plans.is_empty());
}
