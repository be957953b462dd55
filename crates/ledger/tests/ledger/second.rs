//! Tests of boards that are counted twice.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use queens_ledger::store::{Phase, Store, Stored};
use queens_ledger::{JobRefusal, Ledger, NoSecondPass, Run, SubmissionRefusal, Verification};
use queens_model::{JobId, JobState, JobStatus, PartRange, Share, Submission, WorkerId};
use queens_solver::{Count, Method};

use super::world::{World, damage, priority, size, solutions};

fn twice(n: u8, method: Method, second: Method) -> Submission {
    Submission { second_pass: Some(second), ..Submission::new(size(n), method) }
}

/// Returns the two passes of the only board.
fn passes(world: &World) -> [JobStatus; 2] {
    let jobs = world.ledger.jobs();
    let [first, second] = &jobs[..] else { panic!("{jobs:?}") };
    assert_eq!((first.second, second.terms.second_of), (Some(second.id), Some(first.id)));
    [first.clone(), second.clone()]
}

fn states(world: &World) -> [JobState; 2] {
    passes(world).map(|job| job.state)
}

#[test]
fn a_second_pass_counts_all_again_on_other_images_before_a_job_is_done() {
    for (method, second) in
        [(Method::Search, Method::Search), (Method::Search, Method::Halves), (Method::Halves, Method::Search)]
    {
        let mut world = World::new();
        let job = world.submit_on(&twice(8, method, second)).expect("it is taken");
        let workers = [world.connect_able(1, "anna"), world.connect_able(2, "bert")];
        let mut seen = BTreeSet::new();
        while workers.iter().filter(|&&worker| world.step(worker)).count() > 0 {
            let [first, second] = passes(&world);
            let is_counted = first.progress.n_recorded == first.progress.n_subproblems;
            assert!(is_counted || first.state != JobState::Verifying);
            assert_eq!(first.state == JobState::Done, second.state == JobState::Done);
            if is_counted && first.state != JobState::Done {
                assert_eq!((first.state, first.is_provisional()), (JobState::Verifying, true));
            }
            seen.insert(first.state.name());
        }
        assert!(seen.contains("verifying"), "{seen:?}");
        let [first, again] = passes(&world);
        for pass in [&first, &again] {
            assert_eq!((pass.state, pass.progress.solutions), (JobState::Done, solutions(size(8))));
            assert_eq!((pass.agrees(), pass.is_provisional()), (Some(true), false));
        }
        assert_ne!(first.progress.work, again.progress.work, "they are other trees");
        assert_eq!((job, first.method, again.method), (first.id, method, second));
    }
}

#[test]
fn a_second_pass_survives_a_restart_at_any_time() {
    for n_steps in (0..200).step_by(17) {
        let mut world = World::new();
        world.submit_on(&twice(7, Method::Search, Method::Search)).expect("it is taken");
        let worker = world.connect(1, "anna");
        (0..n_steps).for_each(|_| _ = world.step(worker));
        let before = passes(&world);
        let mut world = world.restart();
        let after = passes(&world);
        assert_eq!(before.map(|job| job.progress), after.map(|job| job.progress));
        [(2, "bert"), (3, "carol")].into_iter().for_each(|(id, name)| _ = world.connect(id, name));
        world.finish();
        assert_eq!(states(&world), [JobState::Done; 2], "after {n_steps} steps");
    }
}

/// The second pass directly follows the first, before jobs that were submitted between the two.
#[test]
fn what_is_decided_about_a_pass_is_decided_about_both() {
    let mut world = World::new();
    let first = world.submit_on(&twice(8, Method::Search, Method::Search)).expect("it is taken");
    let second = world.job(first).second.expect("there is one");
    world.ledger.set_priority(world.now, second, priority(5)).expect("it is open");
    world.ledger.pause(world.now, first).expect("it is open");
    world.carry_out();
    assert_eq!(
        (states(&world), passes(&world).map(|job| job.priority)),
        ([JobState::Paused; 2], [priority(5); 2])
    );
    let mut world = world.restart();
    assert_eq!(
        (states(&world), passes(&world).map(|job| job.priority)),
        ([JobState::Paused; 2], [priority(5); 2])
    );
    world.ledger.resume(world.now, second).expect("it is open");
    world.ledger.cancel(world.now, first).expect("it is there");
    world.carry_out();
    let phases: Vec<JobState> = world.ledger.jobs().into_iter().map(|job| job.state).collect();
    assert_eq!(phases, [JobState::Cancelled; 2]);
}

#[test]
fn a_second_pass_that_is_given_up_leaves_the_first_what_it_is() {
    let mut world = World::new();
    let first = world.submit_on(&twice(6, Method::Search, Method::Search)).expect("it is taken");
    let second = world.job(first).second.expect("there is one");
    let worker = world.connect(1, "anna");
    while world.job(first).state != JobState::Verifying {
        assert!(world.step(worker));
    }
    world.ledger.cancel(world.now, second).expect("it is there");
    world.carry_out();
    assert_eq!((world.job(first).state, world.job(first).second), (JobState::Done, None));
    assert_eq!(world.job(second).state, JobState::Cancelled);
    let mut world = world.restart();
    // Another second pass may follow.
    let more = Verification { second_pass: Some(Method::Search), ..Verification::default() };
    world.ledger.verify_more(world.now, first, more, 0).expect("it is done");
    world.carry_out();
    assert_eq!(world.job(first).state, JobState::Verifying);
    let mut world = world.restart();
    assert_eq!(world.job(first).state, JobState::Verifying);
    world.connect(2, "bert");
    world.finish_job(first);
    world.check_done(JobId(3));
}

#[test]
fn a_job_that_is_done_is_counted_a_second_time() {
    let (mut world, job) = World::with(7);
    let worker = world.connect(1, "anna");
    while world.step(worker) {}
    world.check_done(job);
    let more = Verification { second_pass: Some(Method::Search), ..Verification::default() };
    world.ledger.verify_more(world.now, job, more, 0).expect("it is done");
    world.carry_out();
    let refused = world.ledger.verify_more(world.now, job, more, 0).expect_err("it has one");
    assert_eq!(refused, JobRefusal::HasSecond { job, second: JobId(2) });
    let refused = world.ledger.verify_more(world.now, JobId(2), more, 0).expect_err("it is one");
    assert_eq!(refused, JobRefusal::IsSecond { job: JobId(2), first: job });
    world.pass(Duration::from_secs(1));
    world.connect(2, "bert");
    world.finish();
    assert_eq!(states(&world), [JobState::Done; 2]);
}

#[test]
fn there_is_no_second_pass_that_would_be_the_first_again_or_not_of_the_same_part() {
    let mut world = World::new();
    let refused = world.submit_on(&twice(8, Method::Halves, Method::Halves));
    assert_eq!(refused, Err(SubmissionRefusal::Second(NoSecondPass::Halves)));
    let parts = Some(PartRange::new(3, 7).expect("not empty"));
    let refused =
        world.submit_on(&Submission { part_range: parts, ..twice(8, Method::Search, Method::Halves) });
    assert!(matches!(refused, Err(SubmissionRefusal::Second(NoSecondPass::Part { .. }))), "{refused:?}");
    assert_eq!(world.ledger.jobs(), []);
    let part = Submission { part_range: parts, ..twice(8, Method::Search, Method::Search) };
    world.submit_on(&part).expect("it is the same part");
    [(1, "anna"), (2, "bert")].into_iter().for_each(|(id, name)| _ = world.connect(id, name));
    world.finish();
    let [first, second] = passes(&world);
    assert_eq!([first.state, second.state], [JobState::Done; 2]);
    assert_eq!(
        (first.progress.solutions, first.terms.part_range),
        (second.progress.solutions, second.terms.part_range)
    );
}

/// No result is published while the passes contradict each other.
#[test]
fn passes_that_differ_are_disputed_and_never_done() {
    let mut world = World::new();
    world.submit_on(&twice(7, Method::Search, Method::Search)).expect("it is taken");
    let worker = world.connect(1, "anna");
    while states(&world)[0] != JobState::Verifying {
        assert!(world.step(worker));
    }
    // A wrong count.
    let mut stored = world.store.load().expect("memory");
    stored.jobs[0].coverage[2].1.solutions += 1;
    let ledger = Ledger::restore(stored, Run::new(1)).expect("nobody can see that");
    world.ledger = ledger;
    world.workers.clear();
    world.carry_out();
    // Two names agree on all records of that part, in both passes, so that nothing is left to do.
    ["bert", "carol", "dora"].into_iter().zip(2..).for_each(|(name, id)| _ = world.connect(id, name));
    world.finish();
    let [first, second] = passes(&world);
    assert_eq!([first.state, second.state], [JobState::Disputed; 2]);
    assert_eq!(first.pass_mismatch.as_deref(), Some("the two passes differ in the solutions of part 2"));
    let waits_for = first.waits_for.as_deref().expect("for somebody");
    assert!(waits_for.starts_with("somebody who finds out why the passes differ"), "{waits_for}");
    assert!(first.is_provisional() && first.agrees().is_none());
}

#[test]
fn a_second_pass_of_nothing_like_it_is_damaged() {
    let mut world = World::new();
    world.submit_on(&twice(7, Method::Search, Method::Search)).expect("it is taken");
    let stored = world.store.load().expect("memory");
    #[track_caller]
    fn check(stored: &Stored, change: impl Fn(&mut Stored)) {
        let mut stored = stored.clone();
        change(&mut stored);
        let damage = damage(&stored).expect("it contradicts itself");
        assert!(damage.starts_with("it is no second pass of job "), "{damage}");
    }
    check(&stored, |stored| _ = stored.jobs.remove(0));
    check(&stored, |stored| stored.jobs[1].entry.terms.second_of = Some(JobId(2)));
    check(&stored, |stored| stored.jobs[1].entry.terms.part_range = PartRange::new(1, 2).ok());
    check(&stored, |stored| {
        let mut third = stored.jobs[1].clone();
        third.entry.id = JobId(3);
        stored.jobs.push(third);
    });
    let mut two = stored.clone();
    two.jobs[1].entry.phase = Phase::Cancelled;
    Ledger::restore(two, Run::new(1)).expect("it is given up");
}

/// A lie in the first pass: the second pass finds the part, and two names that agree find the liar. The job ends with
/// the right number, and has no other recounts.
#[test]
fn a_lie_that_the_second_pass_finds_is_counted_again_and_the_liar_is_blocked() {
    let mut world = World::new();
    let job = world.submit_on(&twice(7, Method::Search, Method::Search)).expect("it is taken");
    let liar = world.connect(1, "mallory");
    let mut lie = world.begin(liar).expect("something to count");
    lie.count.solutions += 1;
    world.report_counted(liar, lie);
    for (id, name) in [(2, "anna"), (3, "bert"), (4, "carol")] {
        world.connect(id, name);
    }
    world.finish();
    let [first, second] = passes(&world);
    assert_eq!([first.state, second.state], [JobState::Done; 2]);
    assert_eq!([&first, &second].map(|job| job.progress.solutions), [solutions(size(7)); 2]);
    assert_eq!(world.ledger.blocked().collect::<Vec<_>>(), ["mallory"]);
    assert!(world.store.verdicts(job).any(|verdict| verdict.span == lie.span), "{first:?}");

    world.check_total(job);
}

/// A job that is done is recounted further on request.
#[test]
fn a_larger_share_of_a_job_that_is_done_is_counted_again() {
    let (mut world, job) = World::with(7);
    let worker = world.connect(1, "anna");
    while world.step(worker) {}
    world.check_done(job);
    let more = Verification { recount: Some(Share::ALL), ..Verification::default() };
    world.ledger.verify_more(world.now, job, more, 0).expect("it is done");
    world.carry_out();
    assert_eq!(world.job(job).state, JobState::Verifying);
    let mut world = world.restart();
    world.connect(2, "bert");
    world.finish();
    let status = world.job(job);
    let n_records = world.store.records(job).count() as u64;
    assert_eq!(
        (status.state, status.n_verified, status.terms.recount),
        (JobState::Done, n_records, Share::ALL)
    );
}

/// While there is a choice, a party gets parts in the second pass that others have counted in the first.
#[test]
fn a_cross_is_counted_by_another_name_in_the_second_pass_if_that_is_possible() {
    let mut world = World::new();
    let first = world.submit_on(&twice(9, Method::Search, Method::Search)).expect("it is taken");
    for (id, name) in [(1, "anna"), (2, "bert"), (3, "carol")] {
        world.connect(id, name);
    }
    world.finish();
    let second = world.job(first).second.expect("there is one");
    let counted = |job: JobId| -> BTreeSet<(u32, String)> {
        let records = world.store.records(job);
        records.map(|record| (record.span.part(), record.source.name.to_string())).collect()
    };
    let (first, second) = (counted(first), counted(second));
    let n_same = second.intersection(&first).count();
    assert!(n_same * 5 <= second.len(), "{n_same} of {} parts by the same name", second.len());
}

/// A party that is wrong in both passes may be wrong in the same way, so that they agree.
#[test]
fn what_one_name_counted_in_both_passes_is_counted_again_by_another() {
    let mut world = World::new();
    let job = world.submit_on(&twice(7, Method::Search, Method::Search)).expect("it is taken");
    let liar = world.connect(1, "mallory");
    world.workers.get_mut(&liar).expect("connected").lie = Count { solutions: 1, work: 0 };
    world.finish();
    let [first, second] = passes(&world);
    assert_eq!(first.progress.solutions, second.progress.solutions, "they agree");
    assert_ne!(first.progress.solutions, solutions(size(7)));
    assert_eq!([first.state, second.state], [JobState::Verifying; 2]);
    let waits_for = second.waits_for.expect("for somebody");
    assert!(waits_for.starts_with("a worker under another name than 'mallory'"), "{waits_for}");

    let mut world = world.restart();
    [(2, "anna"), (3, "bert")].into_iter().for_each(|(id, name)| _ = world.connect(id, name));
    world.finish();
    let [first, second] = passes(&world);
    assert_eq!([first.state, second.state], [JobState::Done; 2]);
    assert_eq!([&first, &second].map(|job| job.progress.solutions), [solutions(size(7)); 2]);
    assert_eq!(world.ledger.blocked().collect::<Vec<_>>(), ["mallory"]);
    world.check_total(job);
}

/// A friend who gives back leases of the second pass is not offered the same parts again, nor more than were drawn for
/// him: so he can't wait for a part that he wants.
#[test]
fn nobody_chooses_his_parts_of_a_second_pass() {
    let mut world = World::new();
    let first = world.submit_on(&twice(9, Method::Search, Method::Search)).expect("it is taken");
    for (id, name) in [(1, "anna"), (2, "bert"), (3, "friend")] {
        world.connect(id, name);
    }
    let (friend, others) = (WorkerId(3), [WorkerId(1), WorkerId(2)]);
    while passes(&world)[0].state != JobState::Verifying {
        others.into_iter().chain([friend]).for_each(|worker| _ = world.step(worker));
    }
    let second = world.identity(world.job(first).second.expect("there is one"));
    let mut offered = BTreeMap::new();
    for round in 0..2000 {
        let given = world.workers[&friend].leases.values();
        let given: Vec<_> = given.filter(|(lease, _)| lease.job == second).cloned().collect();
        for (lease, _) in given {
            let parts: BTreeSet<u32> = lease.spans.iter().map(|it| it.span.part()).collect();
            parts.into_iter().for_each(|part| *offered.entry(part).or_insert(0) += 1);
            world
                .workers
                .get_mut(&friend)
                .expect("connected")
                .leases
                .get_mut(&lease.id)
                .expect("held")
                .1
                .clear();
        }
        world.report(friend, None);
        world.pass(Duration::from_millis(10));
        if round % 20 == 0 {
            others.into_iter().for_each(|worker| _ = world.step(worker));
        }
    }
    let n_parts = usize::try_from(world.job(first).n_parts).expect("few");
    assert!(!offered.is_empty() && offered.len() <= n_parts / 2, "{} of {n_parts}", offered.len());
    assert!(offered.values().all(|n_times| *n_times == 1), "{offered:?}");
    world.finish_job(first);
}

/// Who knows that a friend counts a part next could still lie in it.
#[test]
fn no_part_of_a_second_pass_is_given_before_all_of_it_is_counted() {
    let mut world = World::new();
    let first = world.submit_on(&twice(9, Method::Search, Method::Search)).expect("it is taken");
    let [anna, bert, carol] =
        [(1, "anna"), (2, "bert"), (3, "carol")].map(|(id, name)| world.connect(id, name));
    world.pass(Duration::from_millis(100));
    let in_hand = world.begin(anna).expect("something to count");
    let second = world.identity(world.job(first).second.expect("there is one"));
    let mut n_given = 0;
    while world.now < Duration::from_secs(9) {
        [bert, carol].into_iter().for_each(|worker| _ = world.step(worker));
        let leases = world.workers.values().flat_map(|worker| worker.leases.values());
        let given = leases.filter(|(lease, _)| lease.job == second).flat_map(|(lease, _)| &lease.spans);
        let parts: Vec<u32> = given.map(|it| it.span.part()).collect();
        n_given += parts.len();
        assert!(!parts.contains(&in_hand.span.part()));
    }
    assert!(n_given > 0, "other parts wait for nothing");
    world.report(anna, Some(in_hand));
    world.finish_job(first);
}
