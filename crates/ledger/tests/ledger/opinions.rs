//! Tests of spans with several counts, when some parties contradict themselves or are found out later.

use std::time::Duration;

use queens_ledger::SpanOutcome;
use queens_ledger::store::Verdict;
use queens_model::{Delta, Held, JobId, JobState, WorkerId};
use queens_solver::Count;

use super::belief::say;
use super::world::{World, named, solutions};

const MORE: Count = Count { solutions: 1, work: 0 };

fn lie(world: &mut World, worker: WorkerId, lie: Count) {
    world.workers.get_mut(&worker).expect("connected").lie = lie;
}

#[track_caller]
fn check_done_right(world: &World, job: JobId) {
    let status = world.job(job);
    assert_eq!((status.state, status.progress.solutions), (JobState::Done, solutions(status.n)));
    world.check_total(job);
    for verdict in world.store.verdicts(job) {
        assert_ne!(verdict.source.name, verdict.lost_source.name, "{verdict:?}");
        let is_same = |it: &&Verdict| {
            (it.span, it.lost, &it.lost_source.name)
                == (verdict.span, verdict.lost, &verdict.lost_source.name)
        };
        assert_eq!(world.store.verdicts(job).filter(is_same).count(), 1, "{verdict:?}");
    }
}

/// Lets a worker begin a subproblem and go silent, while another counts everything, falsified by this much.
fn begin_and_vanish(world: &mut World, name: &str, other: (&str, Count)) -> Delta {
    let worker = world.connect(1, name);
    let late = world.begin(worker).expect("something to count");
    world.ledger.disconnect(world.now, worker);
    world.pass(Duration::from_secs(10));
    world.workers.remove(&worker);
    let worker = world.connect(2, other.0);
    lie(world, worker, other.1);
    world.finish();
    late
}

/// Lets the worker come back and report its count.
fn come_back(world: &mut World, name: &str, late: Delta) {
    let held = Held { lease: late.lease, job: late.job, spans: vec![late.span] };
    let worker = world.connect_with(1, name, vec![held]);
    assert_eq!(say(world, worker, vec![late]), [SpanOutcome::Repeated]);
    world.workers.remove(&worker);
    world.ledger.disconnect(world.now, worker);
    world.carry_out();
}

/// Two liars who agree contradict an honest party: the coordinator counts the span itself, and finds them out.
#[test]
fn nobody_is_outvoted() {
    let (mut world, job) = World::with_recounts(6, 100);
    world.connect(1, "cora");
    world.finish();
    let [anna, bert] = [(2, "anna"), (3, "bert")].map(|(id, name)| world.connect(id, name));
    [anna, bert].into_iter().for_each(|liar| lie(&mut world, liar, MORE));
    world.finish();
    assert_eq!(world.job(job).state, JobState::Verifying);
    assert_eq!(world.job(job).progress.solutions, solutions(world.job(job).n));
    assert_eq!(world.ledger.blocked().collect::<Vec<_>>(), ["anna", "bert"]);
    world.connect(4, "dora");
    world.finish();
    check_done_right(&world, job);
    assert!(world.store.records(job).all(|record| record.source.name == named("cora")));
}

/// A friend confirmed the lies of a party that is found out elsewhere: they are counted by two others, and he is found
/// out with it.
#[test]
fn what_a_friend_confirmed_does_not_stand_when_the_liar_is_found_out() {
    let mut world = World::new();
    let [lied, other] = [6, 7].map(|n| world.submit_verified(n, 100));
    let mallory = world.connect(1, "mallory");
    lie(&mut world, mallory, MORE);
    while world.job(lied).state != JobState::Verifying {
        assert!(world.step(mallory));
    }
    let friend = world.connect(2, "friend");
    lie(&mut world, friend, MORE);
    world.ledger.pause(world.now, other).expect("it is open");
    world.carry_out();
    world.finish();
    assert_eq!(world.job(lied).state, JobState::Done);
    assert_ne!(world.job(lied).progress.solutions, solutions(world.job(lied).n), "they are all there is");
    world.ledger.resume(world.now, other).expect("it is open");
    lie(&mut world, friend, Count::default());
    [(3, "anna"), (4, "bert")].into_iter().for_each(|(id, name)| _ = world.connect(id, name));
    world.finish();
    [lied, other].into_iter().for_each(|job| check_done_right(&world, job));
    assert_eq!(world.ledger.blocked().collect::<Vec<_>>(), ["friend", "mallory"]);
}

#[test]
fn a_name_that_contradicts_itself_speaks_for_nothing() {
    for is_record_wrong in [true, false] {
        let (mut world, job) = World::with_recounts(6, 100);
        let by = if is_record_wrong { MORE } else { Count::default() };
        let mut late = begin_and_vanish(&mut world, "anna", ("anna", by));
        late.count.solutions += u64::from(!is_record_wrong);
        come_back(&mut world, "anna", late);
        assert_eq!(world.store.second_counts(job).count(), 1);
        [(3, "bert"), (4, "carol")].into_iter().for_each(|(id, name)| _ = world.connect(id, name));
        world.finish();
        check_done_right(&world, job);
        assert!(world.store.verdicts(job).count() > 0);
        assert!(world.store.verdicts(job).all(|it| it.lost_source.name == named("anna")));
        assert_eq!(world.ledger.blocked().collect::<Vec<_>>(), ["anna"]);
    }
}

/// A party that contradicts itself no longer confirms a span, so another must confirm it.
#[test]
fn each_span_on_which_two_names_agree_is_counted_once() {
    let (mut world, job) = World::with_recounts(6, 100);
    let mut late = begin_and_vanish(&mut world, "anna", ("anna", Count::default()));
    world.connect(3, "bert");
    world.finish();
    check_done_right(&world, job);
    let n_records = world.store.records(job).count() as u64;
    assert_eq!(world.job(job).n_verified, n_records);
    late.count.solutions += 1;
    come_back(&mut world, "anna", late);
    assert_eq!(world.job(job).n_verified, n_records - 1);
    world.connect(4, "carol");
    world.finish();
    check_done_right(&world, job);
    assert_eq!(world.job(job).n_verified, n_records);
}

#[test]
fn a_job_that_is_exported_is_open_again_when_it_is_contradicted() {
    let (mut world, job) = World::with_recounts(6, 0);
    let mut late = begin_and_vanish(&mut world, "mallory", ("anna", Count::default()));
    world.check_done(job);
    assert!(world.ledger.exported(job));
    world.carry_out();
    late.count.solutions += 1;
    come_back(&mut world, "mallory", late);
    assert_eq!(world.job(job).state, JobState::Verifying);
    world.connect(3, "bert");
    world.finish();
    check_done_right(&world, job);
    assert_eq!(world.store.verdicts(job).count(), 1);
    assert_eq!(world.ledger.blocked().collect::<Vec<_>>(), ["mallory"]);
}
