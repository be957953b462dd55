//! Tests of recounts by other names, and of disputes.

use std::collections::BTreeSet;
use std::time::Duration;

use queens_ledger::store::{Store, Stored, Write};
use queens_ledger::{Ledger, Run, SpanOutcome};
use queens_model::{JobId, JobState, WorkerId, WorkerState};
use queens_solver::Count;

use super::belief::say;
use super::world::{World, named, solutions};

/// Checks that two names agree on every record.
#[track_caller]
fn check_confirmed(world: &World, job: JobId) {
    world.check_total(job);
    for record in world.store.records(job) {
        let again = world.store.second_counts(job).filter(|again| again.span == record.span);
        let others: BTreeSet<_> = again
            .filter(|again| again.count == record.count && again.source.name != record.source.name)
            .map(|again| &again.source.name)
            .collect();
        assert!(!others.is_empty(), "{record:?} is not confirmed");
    }
}

const MORE: Count = Count { solutions: 1, work: 0 };
const LONGER: Count = Count { solutions: 0, work: 1 };

#[test]
fn all_is_counted_again_by_another_name_before_the_job_is_done() {
    let (mut world, job) = World::with_recounts(8, 100);
    world.connect(1, "anna");
    world.finish();
    let status = world.job(job);
    assert_eq!((status.state, status.n_verified), (JobState::Verifying, 0));
    assert_eq!(status.progress.solutions, solutions(status.n), "all is recorded");
    let waits_for = status.waits_for.expect("for somebody");
    assert!(waits_for.starts_with("a worker under another name than 'anna'"), "{waits_for}");
    world.connect(2, "anna");
    world.finish();
    assert_eq!(world.job(job).state, JobState::Verifying, "the same name confirms nothing");

    world.connect(3, "bert");
    world.finish_job(job);
    check_confirmed(&world, job);
    assert_eq!(world.job(job).n_verified, world.store.records(job).count() as u64);
}

#[test]
fn nothing_is_counted_again_of_a_job_that_does_not_want_it() {
    let (mut world, job) = World::with_recounts(8, 0);
    world.connect(1, "anna");
    world.connect(2, "bert");
    world.finish_job(job);
    assert_eq!((world.job(job).n_verified, world.store.second_counts(job).count()), (0, 0));
}

#[test]
fn a_restart_goes_on_with_what_is_not_confirmed() {
    let (mut world, job) = World::with_recounts(8, 100);
    let anna = world.connect(1, "anna");
    world.finish();
    let bert = world.connect(2, "bert");
    for _ in 0..10 {
        world.step(bert);
    }
    let n_before = world.store.second_counts(job).count();
    assert!(n_before > 0 && world.job(job).state == JobState::Verifying);
    _ = anna;

    let mut world = world.restart();
    world.connect(3, "carol");
    world.finish_job(job);
    check_confirmed(&world, job);
    let by_carol = world.store.second_counts(job).filter(|it| it.source.name == named("carol")).count();
    assert_eq!(by_carol + n_before, world.store.records(job).count(), "nothing is counted three times");
}

#[test]
fn what_is_done_of_a_record_is_lost_with_the_lease_and_counted_by_another() {
    let (mut world, job) = World::with_recounts(7, 100);
    let anna = world.connect(1, "anna");
    world.finish();
    let bert = world.connect(2, "bert");
    world.step(bert);
    world.step(bert);
    world.ledger.goodbye(world.now, bert);
    world.workers.remove(&bert);
    world.carry_out();
    // A party that has left may come back for a minute.
    for _ in 0..61 {
        world.pass(Duration::from_secs(1));
        world.report(anna, None);
    }
    world.connect(3, "carol");
    world.finish_job(job);
    check_confirmed(&world, job);
}

/// Plays a liar that counts everything, first or second.
#[track_caller]
fn check_liar(lie: Count, lies_first: bool) {
    let (mut world, job) = World::with_recounts(7, 100);
    let names = if lies_first { ["mallory", "bert"] } else { ["bert", "mallory"] };
    let ids = [WorkerId(1), WorkerId(2)];
    for (id, name) in ids.into_iter().zip(names) {
        world.connect(id.0, name);
        world.workers.get_mut(&id).expect("connected").lie =
            if name == "mallory" { lie } else { Count::default() };
        world.finish();
    }
    assert!(world.job(job).n_disputed > 0, "{:?}", world.job(job));
    assert!(world.store.verdicts(job).count() > 0, "the coordinator has counted it itself");
    assert_eq!(world.job(job).state, if lies_first { JobState::Done } else { JobState::Verifying });

    world.connect(3, "carol");
    world.finish();
    let status = world.job(job);
    assert_eq!((status.state, status.progress.solutions), (JobState::Done, solutions(status.n)));
    check_confirmed(&world, job);
    assert!(world.store.records(job).all(|record| record.source.name != named("mallory")));
    assert!(world.store.verdicts(job).count() > 0);
    for verdict in world.store.verdicts(job) {
        assert_eq!(verdict.lost_source.name, named("mallory"));
        let mut again = world.store.second_counts(job);
        let is_kept = again.any(|it| (it.span, it.count) == (verdict.span, verdict.lost));
        assert!(is_kept, "the lost count is forgotten: {verdict:?}");
    }
    let mallory = ids[usize::from(!lies_first)];
    assert_eq!(world.worker_state(mallory), WorkerState::Blocked);
    assert!(world.workers[&mallory].notices.iter().any(|text| text.contains("of job 1")), "it is told why");

    // It stays blocked, and the verdicts are kept.
    let n_verdicts = world.store.verdicts(job).count();
    let mut world = world.restart();
    let mallory = world.connect(4, "mallory");
    assert_eq!(world.worker_state(mallory), WorkerState::Blocked);
    assert_eq!(world.store.verdicts(job).count(), n_verdicts);
    world.ledger.unblock(world.now, &named("mallory")).expect("is blocked");
    world.carry_out();
    world.finish();
    assert_eq!((world.worker_state(mallory), world.job(job).state), (WorkerState::Ready, JobState::Done));
}

#[test]
fn a_liar_loses_against_the_coordinator_and_is_blocked() {
    for lie in [MORE, LONGER, Count { solutions: 1 << 40, work: 1 << 50 }] {
        check_liar(lie, true);
        check_liar(lie, false);
    }
}

#[test]
fn all_that_a_suspect_recorded_is_counted_again_in_all_jobs() {
    let mut world = World::new();
    let [old, new] = [world.submit_verified(7, 0), world.submit_verified(6, 100)];
    let mallory = world.connect(1, "mallory");
    while world.job(old).state != JobState::Done {
        // All of this is a lie that nobody checks.
        world.workers.get_mut(&mallory).expect("connected").lie = MORE;
        world.step(mallory);
    }
    assert_ne!(world.job(old).progress.solutions, solutions(world.job(old).n));
    world.finish();
    world.connect(2, "bert");
    world.connect(3, "carol");
    world.finish();
    for job in [old, new] {
        let status = world.job(job);
        assert_eq!((status.state, status.progress.solutions), (JobState::Done, solutions(status.n)));
        assert!(world.store.records(job).all(|record| record.source.name != named("mallory")));
    }
}

#[test]
fn a_span_is_disputed_while_the_coordinator_agrees_with_nobody() {
    let (mut world, job) = World::with_recounts(6, 100);
    for (id, name) in [(1, "anna"), (2, "bert"), (3, "carol")] {
        let worker = world.connect(id, name);
        world.workers.get_mut(&worker).expect("connected").lie = Count { solutions: id, work: 0 };
        world.finish();
    }
    let status = world.job(job);
    assert_eq!((status.state, status.n_verified), (JobState::Disputed, 0));
    let waits_for = status.waits_for.expect("for somebody");
    assert!(
        waits_for.contains("agrees with none") && waits_for.contains("'anna' or 'bert' or 'carol'"),
        "{waits_for}"
    );

    let mut world = world.restart();
    world.pass(Duration::from_secs(1));
    assert_eq!(world.job(job).state, JobState::Disputed, "it is not forgotten");
    world.connect(4, "dora");
    world.finish();
    let status = world.job(job);
    assert_eq!((status.state, status.progress.solutions), (JobState::Done, solutions(status.n)));
    let blocked: Vec<String> = world.ledger.blocked().map(ToString::to_string).collect();
    assert_eq!(blocked, ["anna", "bert", "carol"]);
}

#[test]
fn a_name_that_is_cleared_is_not_held_against_anybody() {
    let mut world = World::new();
    let [job, other] = [world.submit_verified(6, 100), world.submit_verified(7, 0)];
    let mallory = world.connect(1, "mallory");
    world.workers.get_mut(&mallory).expect("connected").lie = MORE;
    world.step(mallory);
    world.workers.get_mut(&mallory).expect("connected").lie = Count::default();
    while world.job(other).state != JobState::Done {
        world.step(mallory);
    }
    let bert = world.connect(2, "bert");
    let carol = world.connect(3, "carol");
    while world.ledger.blocked().count() == 0 {
        assert!(world.step(bert) | world.step(carol));
    }
    assert_eq!(world.job(other).state, JobState::Verifying, "who knows");
    world.ledger.unblock(world.now, &named("mallory")).expect("is blocked");
    world.carry_out();
    assert!(world.ledger.blocked().next().is_none());
    world.finish();
    for job in [job, other] {
        let status = world.job(job);
        assert_eq!((status.state, status.progress.solutions), (JobState::Done, solutions(status.n)));
    }
    let n_again = world.store.second_counts(other).count();
    assert!(n_again < world.store.records(other).count(), "the rest was let be");
}

/// Two names agree, the job is done, and then a third contradicts them: it loses at once.
#[test]
fn who_contradicts_two_who_agree_loses_even_when_the_job_is_done() {
    let (mut world, job) = World::with_recounts(6, 100);
    let mallory = world.connect(1, "mallory");
    let mut late = world.begin(mallory).expect("something to count");
    world.ledger.disconnect(world.now, mallory);
    world.pass(Duration::from_secs(10));
    world.workers.remove(&mallory);
    world.connect(2, "anna");
    world.finish();
    world.connect(3, "bert");
    world.finish_job(job);
    let span = late.span;
    assert!(world.store.records(job).any(|record| record.span == span), "a record of one subproblem");

    let held = queens_model::Held { lease: late.lease, job: late.job, spans: vec![span] };
    let mallory = world.connect_with(1, "mallory", vec![held]);
    late.count.solutions += 1;
    assert_eq!(say(&mut world, mallory, vec![late]), [SpanOutcome::Repeated]);
    world.finish();
    let status = world.job(job);
    assert_eq!((status.state, status.n_disputed, world.store.verdicts(job).count()), (JobState::Done, 1, 1));
    assert_eq!(world.worker_state(mallory), WorkerState::Blocked);
}

/// Otherwise, friends that take all the work would keep honest parties from being drawn.
#[test]
fn who_waited_in_vain_for_work_confirms_records_and_who_comes_later_does_not() {
    let (mut world, job) = World::with_recounts(7, 100);
    let [anna, bert, carol] =
        [(1, "anna"), (2, "bert"), (3, "carol")].map(|(id, name)| world.connect(id, name));
    while world.job(job).state != JobState::Verifying {
        for waiting in [bert, carol] {
            let worker = world.workers.get_mut(&waiting).expect("connected");
            worker.leases.values_mut().for_each(|(_, spans)| spans.clear());
            world.report(waiting, None);
        }
        world.step(anna);
    }
    world.connect(4, "dora");
    world.finish_job(job);
    let again: BTreeSet<_> = world.store.second_counts(job).map(|again| again.source.name.clone()).collect();
    assert_eq!(again, BTreeSet::from(["bert", "carol"].map(named)));
}

#[test]
fn a_failing_worker_leaves_records_to_others() {
    let (mut world, job) = World::with_recounts(6, 100);
    world.connect(1, "anna");
    world.finish();
    let bert = world.connect(2, "bert");
    world.pass(Duration::from_secs(1));
    assert!(world.fail(bert).is_some());
    world.connect(3, "carol");
    world.finish_job(job);
    check_confirmed(&world, job);
}

#[test]
fn records_are_counted_again_under_leases_that_look_like_any() {
    let (mut world, job) = World::with_recounts(6, 100);
    world.connect(1, "anna");
    world.finish();
    let bert = world.connect(2, "bert");
    world.pass(Duration::from_millis(100));
    let delta = world.begin(bert).expect("something to count");
    assert_eq!(world.report(bert, Some(delta)), [SpanOutcome::CountedAgain]);
    assert_eq!(world.job(job).progress.n_recorded, world.job(job).progress.n_subproblems);
}

/// Two coordinators on copies of one state would otherwise draw the same records, and the first publishes its seed. Of
/// that, only records to come could take advantage.
#[test]
fn whoever_opens_a_state_draws_new_seeds_for_jobs_that_are_counted() {
    let mut world = World::new();
    let [counted, open] = [world.submit_verified(8, 50), world.submit_verified(9, 50)];
    let anna = world.connect(1, "anna");
    while world.job(counted).state != JobState::Verifying {
        assert!(world.step(anna));
    }
    let stored = world.store.load().expect("memory");
    let seeds = |stored: &Stored| -> Vec<_> {
        [counted, open]
            .map(|id| stored.jobs.iter().find(|job| job.entry.id == id).map(|job| job.entry.terms.seed))
            .into()
    };
    let before = seeds(&stored);
    let after = [2, 3].map(|secret| {
        let mut ledger = Ledger::restore(stored.clone(), Run::new(secret)).expect("nothing contradicts");
        let written = ledger.take_effects().writes.into_iter().find_map(|write| match write {
            Write::Job(entry) if entry.id == open => Some(entry.terms.seed),
            _ => None,
        });
        written.expect("it is written")
    });
    assert!(after[0] != after[1] && !after.map(Some).contains(&before[1]), "{before:?}, {after:?}");
    let restarted = seeds(&world.restart().store.load().expect("memory"));
    assert_eq!(restarted[0], before[0]);
}
