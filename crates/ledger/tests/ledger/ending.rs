//! Tests that the end of a verification takes a job back to what is proved.

use std::time::Duration;

use queens_ledger::store::draw::is_drawn;
use queens_ledger::{JobRefusal, Verification};
use queens_model::{Arbiter, JobId, JobState, Party, Share, Submission, WorkerId};
use queens_solver::{Count, Method};

use super::beside_draws::leave;
use super::world::{World, size, solutions};

const ALL: Verification = Verification { recount: Some(Share::ALL), recount_by: None, second_pass: None };

fn verify(world: &mut World, job: JobId, more: Verification) {
    world.ledger.verify_more(world.now, job, more, 0).expect("it can be verified");
    world.carry_out();
}

fn end(world: &mut World, job: JobId) {
    world.ledger.end_verification(world.now, job).expect("it has a verification");
    world.carry_out();
}

/// Checks that a second party has counted each record that the job's share draws.
fn check_share(world: &World, job: JobId, at_least: Share) {
    let terms = world.job(job).terms;
    assert!(terms.recount >= at_least, "{}", terms.recount);
    let again: Vec<_> = world.store.second_counts(job).map(|count| count.span).collect();
    let is_drawn = |part, first| is_drawn(terms.seed, terms.recount, job, part, first);
    let drawn = world.store.records(job).map(|record| record.span);
    let lacks = drawn.filter(|span| is_drawn(span.part(), span.from()) && !again.contains(span));
    assert_eq!(lacks.collect::<Vec<_>>(), []);
}

/// Lets a worker do something, or time pass, in which parties are drawn.
fn step(world: &mut World, worker: WorkerId) {
    if !world.step(worker) {
        world.pass(Duration::from_secs(1));
    }
}

/// Returns a job of which two parties have counted 30 %. One party has left, and the rest is to be recounted.
fn half_verified() -> (World, JobId) {
    let (mut world, job) = World::with_recounts(8, 30);
    let [_, bert, carol] = [(1, "anna"), (2, "bert"), (3, "carol")].map(|(id, name)| world.connect(id, name));
    world.finish_job(job);
    leave(&mut world, bert);
    leave(&mut world, carol);
    verify(&mut world, job, ALL);
    world.finish();
    let status = world.job(job);
    assert_eq!((status.state, status.terms.recount), (JobState::Verifying, Share::ALL));
    (world, job)
}

#[test]
fn a_job_that_was_done_is_done_again_with_the_share_that_is_proved() {
    let (world, job) = half_verified();
    let before = "30".parse().expect("a share");
    // The next coordinator does not know the share before.
    let mut world = world.restart();
    world.connect(1, "anna");
    end(&mut world, job);
    world.finish();
    world.check_done(job);
    check_share(&world, job, before);
    assert!(world.job(job).terms.recount < Share::ALL);
    end(&mut world, job);
    world.check_done(job);
    verify(&mut world, job, ALL);
    world.connect(3, "carol");
    world.finish_job(job);
    check_share(&world, job, Share::ALL);
}

#[test]
fn a_share_that_draws_nothing_is_nothing() {
    let (mut world, job) = World::with(8);
    world.connect(1, "anna");
    world.finish_job(job);
    verify(&mut world, job, ALL);
    end(&mut world, job);
    world.finish();
    world.check_done(job);
    assert_eq!(world.job(job).terms.recount, Share::NOTHING);
}

#[test]
fn recounts_of_a_larger_share_that_were_made_stay() {
    let (mut world, job) = half_verified();
    let carol = world.connect(3, "carol");
    let n_before = world.store.second_counts(job).count();
    while world.store.second_counts(job).count() < n_before + 5 {
        step(&mut world, carol);
    }
    // One recount is under way.
    world.begin(carol);
    end(&mut world, job);
    world.finish();
    world.check_done(job);
    check_share(&world, job, "30".parse().expect("a share"));
    assert!(world.job(job).n_verified >= n_before as u64 + 5);
}

#[test]
fn a_second_pass_that_is_not_complete_is_cancelled() {
    let (mut world, job) = World::with(7);
    let anna = world.connect(1, "anna");
    while world.step(anna) {}
    world.check_done(job);
    verify(&mut world, job, Verification { second_pass: Some(Method::Search), ..Verification::default() });
    let second = world.job(job).second.expect("there is one");
    assert_eq!(
        world.ledger.end_verification(world.now, second),
        Err(JobRefusal::IsSecond { job: second, first: job })
    );
    end(&mut world, job);
    assert_eq!(world.job(second).state, JobState::Cancelled);
    world.check_done(job);
    assert_eq!(world.job(job).second, None);
}

/// Whoever cancels the second pass half way does not save a lie that it has shown.
#[test]
fn a_part_in_which_a_cancelled_second_pass_differed_is_recounted() {
    for (is_end, restarts) in [(true, false), (false, false), (true, true)] {
        let (mut world, job) = World::with(7);
        let mallory = world.connect(1, "mallory");
        world.workers.get_mut(&mallory).expect("connected").lie = Count { solutions: 1, work: 0 };
        world.step(mallory);
        world.workers.get_mut(&mallory).expect("connected").lie = Count::default();
        while world.job(job).state != JobState::Done {
            world.step(mallory);
        }
        verify(
            &mut world,
            job,
            Verification { second_pass: Some(Method::Search), ..Verification::default() },
        );
        let second = world.job(job).second.expect("there is one");
        let bert = world.connect(2, "bert");
        let [(plan, first), ..] = [world.ledger.parts(job).expect("a plan")];
        let differs = |world: &World| {
            let parts = world.ledger.parts(second).expect("a plan").1;
            let known =
                parts.iter().zip(plan.parts()).map(|(it, part)| it.n_recorded == part.choice().n_subproblems);
            known
                .zip(parts.iter().zip(&first))
                .any(|(is_known, (it, of))| is_known && it.solutions != of.solutions)
        };
        while !differs(&world) {
            step(&mut world, bert);
        }
        if is_end {
            end(&mut world, job);
        } else {
            world.ledger.cancel(world.now, second).expect("it is open");
            world.carry_out();
        }
        if restarts {
            world = world.restart();
        }
        [(3, "carol"), (4, "dora")].into_iter().for_each(|(id, name)| _ = world.connect(id, name));
        world.finish();
        let status = world.job(job);
        let found = (status.state, status.progress.solutions, world.job(second).state);
        assert_eq!(found, (JobState::Done, solutions(size(7)), JobState::Cancelled), "{is_end} {restarts}");
    }
}

#[test]
fn a_second_pass_that_is_proved_stays() {
    let mut world = World::new();
    let twice = Submission { second_pass: Some(Method::Halves), ..Submission::new(size(7), Method::Search) };
    let job = world.submit_on(&twice).expect("it is taken");
    let anna = world.connect_able(1, "anna");
    world.finish_job(job);
    verify(&mut world, job, ALL);
    while world.step(anna) {}
    assert_eq!(world.job(job).state, JobState::Verifying);
    end(&mut world, job);
    world.finish();
    world.check_done(job);
    assert_eq!(world.job(world.job(job).second.expect("it stays")).state, JobState::Done);
}

/// An end does not make a number of what is in doubt.
#[test]
fn what_is_in_doubt_is_decided_first() {
    let (mut world, job) = World::with(7);
    let mallory = world.connect(1, "mallory");
    world.workers.get_mut(&mallory).expect("connected").lie = Count { solutions: 1, work: 0 };
    while world.step(mallory) {}
    verify(&mut world, job, ALL);
    let bert = world.connect(2, "bert");
    while world.job(job).recounting.n_cases == 0 {
        step(&mut world, bert);
    }
    end(&mut world, job);
    assert_eq!(world.job(job).state, JobState::Verifying);
    world.connect(3, "carol");
    world.finish();
    let status = world.job(job);
    assert_eq!((status.state, status.progress.solutions), (JobState::Done, solutions(size(7))));
}

/// What a suspect counted takes others again, but the share that was proved is proved then.
#[test]
fn a_suspect_lowers_no_share_that_was_proved() {
    let mut world = World::new();
    let job = world.submit_verified(8, 30);
    let [anna, mallory] = [(1, "anna"), (2, "mallory")].map(|(id, name)| world.connect(id, name));
    world.finish_job(job);
    let other = world.submit_verified(7, 100);
    world.workers.get_mut(&mallory).expect("connected").lie = Count { solutions: 1, work: 0 };
    while world.job(other).progress.n_recorded == 0 {
        world.step(mallory);
    }
    verify(&mut world, job, ALL);
    while world.ledger.blocked().count() == 0 {
        step(&mut world, anna);
        world.report(mallory, None);
    }
    end(&mut world, job);
    [(3, "carol"), (4, "dora")].into_iter().for_each(|(id, name)| _ = world.connect(id, name));
    world.finish();
    world.check_done(job);
    check_share(&world, job, "30".parse().expect("a share"));
}

/// A party was named that never came: what others have confirmed counts then.
#[test]
fn without_the_named_party_the_others_suffice_as_before() {
    let (mut world, job) = World::with_recounts(8, 30);
    [(1, "anna"), (2, "bert")].into_iter().for_each(|(id, name)| _ = world.connect(id, name));
    world.finish_job(job);
    let nobody = Arbiter { party: Party::from_bytes([5; 16]), invitation: Some(5) };
    verify(&mut world, job, Verification { recount_by: Some(nobody), ..Verification::default() });
    world.finish();
    assert_eq!(world.job(job).state, JobState::Verifying);
    end(&mut world, job);
    world.finish();
    world.check_done(job);
    check_share(&world, job, "30".parse().expect("a share"));
    assert_eq!(world.job(job).terms.recount_by, None);
}

#[test]
fn a_job_that_is_still_counted_is_verified_by_nothing_then() {
    let mut world = World::new();
    let terms = Submission { recount: Some(Share::ALL), ..Submission::new(size(7), Method::Search) };
    let twice = Submission { second_pass: Some(Method::Search), ..terms };
    let job = world.submit_on(&twice).expect("it is taken");
    let anna = world.connect(1, "anna");
    assert!(world.step(anna));
    end(&mut world, job);
    world.finish();
    world.check_done(job);
    assert_eq!((world.job(job).terms.recount, world.job(job).second), (Share::NOTHING, None));
}
