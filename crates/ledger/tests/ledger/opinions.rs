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

/// An honest party loses against two liars who agree. When those are found out, its count still matters: one more party
/// that agrees is enough, and no decision or confirmation is counted twice.
#[test]
fn who_lost_against_liars_is_heard_when_they_are_found_out() {
    let mut world = World::new();
    let job = world.submit_verified(6, 100);
    world.connect(1, "cora");
    world.finish();
    let [anna, bert] = [(2, "anna"), (3, "bert")].map(|(id, name)| world.connect(id, name));
    [anna, bert].into_iter().for_each(|liar| lie(&mut world, liar, MORE));
    world.finish();
    assert_eq!(world.job(job).state, JobState::Done);
    assert_ne!(world.job(job).progress.solutions, solutions(world.job(job).n));
    assert_eq!(world.ledger.blocked().collect::<Vec<_>>(), ["cora"]);

    let other = world.submit_verified(7, 100);
    lie(&mut world, anna, Count { solutions: 0, work: 1 });
    lie(&mut world, bert, Count { solutions: 0, work: 2 });
    world.finish();
    world.connect(4, "dora");
    world.finish();
    world.connect(5, "ed");
    world.finish();
    check_done_right(&world, other);
    check_done_right(&world, job);
    let n_records = world.store.records(job).count();
    assert_eq!(world.job(job).n_verified, n_records as u64, "each span counts once");
    let by_cora = world.store.second_counts(job).filter(|again| again.source.name == named("cora"));
    assert_eq!(by_cora.count(), n_records, "what it counted is kept");
}

#[test]
fn a_name_that_contradicts_itself_speaks_for_nothing() {
    for is_record_wrong in [true, false] {
        let mut world = World::new();
        let job = world.submit_verified(6, 100);
        let by = if is_record_wrong { MORE } else { Count::default() };
        let mut late = begin_and_vanish(&mut world, "anna", ("anna", by));
        late.count.solutions += u64::from(!is_record_wrong);
        come_back(&mut world, "anna", late);
        assert_eq!(world.store.second_counts(job).count(), 1);
        world.connect(3, "bert");
        world.finish();
        assert_ne!(world.job(job).state, JobState::Done, "one name against one that says both");
        world.connect(4, "carol");
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
    let mut world = World::new();
    let job = world.submit_verified(6, 100);
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
    let mut world = World::new();
    let job = world.submit_verified(6, 0);
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
