//! Tests which claims of a worker the ledger accepts.

use std::time::Duration;

use queens_ledger::store::Stored;
use queens_ledger::{Core, LedgerEvent, REMEMBERED, Run, SpanOutcome, WorkerRefusal};
use queens_model::{
    Delta, Failure, HalvesSkill, Held, Hello, JobIdentity, JobState, LeaseId, Party, Report, Speed, WorkerId,
    WorkerState,
};
use queens_solver::{Count, DECOMPOSITION_VERSION, Span};

use crate::world::{World, named};

/// Returns invented counts of whole parts.
fn lies(job: JobIdentity, lease: LeaseId, n_parts: u32) -> Vec<Delta> {
    let count = Count { solutions: 7, work: 7 };
    let lie = |part| Delta {
        job,
        lease,
        span: Span::new(part, 0, 1).expect("not empty"),
        count,
        duration: Duration::from_millis(1),
    };
    (0..n_parts).map(lie).collect()
}

pub(crate) fn say(world: &mut World, worker: WorkerId, deltas: Vec<Delta>) -> Vec<SpanOutcome> {
    let report = Report { sequence: 1000, deltas, finished: Vec::new() };
    let outcomes = world.ledger.report(world.now, worker, &report).expect("in order");
    world.carry_out();
    outcomes
}

#[test]
fn a_liar_is_believed_of_nothing_that_its_lease_was_not_granted() {
    let mut world = World::new();
    let [job, other] = [world.submit(10), world.submit(9)];
    let [liar, honest] = [world.connect(1, "mallory"), world.connect(2, "anna")];
    let own = world.begin(liar).expect("something to count");
    let theirs = world.begin(honest).expect("something to count");
    let granted: Vec<Span> =
        world.workers[&liar].leases.values().flat_map(|(_, spans)| spans).copied().collect();
    let is_lie = |delta: &Delta| {
        delta.span.intersection(own.span).is_none()
            && granted.iter().all(|span| span.intersection(delta.span).is_none())
    };
    for lease in [own.lease, theirs.lease, LeaseId(own.lease.0 + 1), LeaseId(0), LeaseId(u64::MAX)] {
        for job in [job, other] {
            let deltas: Vec<Delta> =
                lies(world.identity(job), lease, 40).into_iter().filter(is_lie).collect();
            let outcomes = say(&mut world, liar, deltas);
            assert!(
                outcomes.iter().all(|outcome| *outcome == SpanOutcome::Unleased),
                "{lease}: {outcomes:?}"
            );
        }
    }
    // Even a true count is rejected if another worker was asked.
    assert_eq!(say(&mut world, liar, vec![theirs]), [SpanOutcome::Unleased]);
    assert_eq!(world.job(job).progress.n_recorded, 0);
    assert_eq!(world.report(liar, Some(own)), [SpanOutcome::Recorded]);
    assert_eq!(world.report(honest, Some(theirs)), [SpanOutcome::Recorded]);
    world.finish_job(job);
    world.check_done(other);
}

#[test]
fn a_hello_gives_nothing_that_was_not_granted() {
    let (mut world, job) = World::with(9);
    let honest = world.connect(1, "anna");
    let theirs = world.begin(honest).expect("something to count");
    let spans = lies(world.identity(job), theirs.lease, 30).into_iter().map(|lie| lie.span).collect();
    // The third token may be of another run, but no other run knew of this job.
    let tokens = [theirs.lease.0, theirs.lease.0 + 5000, theirs.lease.0 + (1 << 41), u64::MAX];
    for lease in tokens.map(LeaseId) {
        let held = vec![Held { lease, job: world.identity(job), spans: Vec::clone(&spans) }];
        let liar = world.connect_with(2, "mallory", held);
        let lies = lies(world.identity(job), lease, 30);
        let outcomes = say(&mut world, liar, lies);
        assert!(!outcomes.contains(&SpanOutcome::Recorded), "{outcomes:?}");
    }
    assert_eq!(world.report(honest, Some(theirs)), [SpanOutcome::Recorded]);
    world.finish_job(job);
}

#[test]
fn after_a_restart_a_worker_is_believed_of_what_its_hello_names_and_of_nothing_else() {
    let (mut world, job) = World::with(9);
    let worker = world.connect(1, "anna");
    let counted = world.begin(worker).expect("something to count");
    let mut world = world.restart();
    let worker = world.connect(1, "anna");
    assert_eq!(say(&mut world, worker, vec![counted]), [SpanOutcome::Unleased], "it did not name the span");
    let held = Held { lease: counted.lease, job: world.identity(job), spans: vec![counted.span] };
    let worker = world.connect_with(1, "anna", vec![held.clone()]);
    // The second worker that names the token is not believed.
    let second = world.connect_with(2, "mallory", vec![held]);
    assert_eq!(say(&mut world, second, vec![counted]), [SpanOutcome::Unleased]);
    assert_eq!(say(&mut world, worker, vec![counted]), [SpanOutcome::Recorded]);
    assert_eq!(
        say(&mut world, worker, vec![counted]),
        [SpanOutcome::Discarded],
        "a second time is one too many"
    );
    world.finish_job(job);
}

/// A worker was given up, another has counted the same, and the first comes back with its count.
#[track_caller]
fn check_second_count(name: &str, spoil: u64, expected: (u64, u64)) {
    let (mut world, job) = World::with(8);
    let first = world.connect(1, "anna");
    let mut counted = world.begin(first).expect("something to count");
    let held = Held { lease: counted.lease, job: world.identity(job), spans: vec![counted.span] };
    world.pass(Duration::from_secs(60));
    world.workers.remove(&first);
    world.connect(2, name);
    world.finish();
    let back = world.connect_with(1, "anna", vec![held]);
    counted.count.work += spoil;
    let outcome = say(&mut world, back, vec![counted, counted]);
    // The job has ended, but the lease was granted.
    assert_eq!(outcome.len(), 2);
    let status = world.job(job);
    assert_eq!((status.n_verified, status.n_disputed), expected, "{outcome:?}");
    // A count that contradicts the record is kept, even though the job has ended.
    assert_eq!(status.state, if expected.1 == 0 { JobState::Done } else { JobState::Verifying });
}

#[test]
fn a_count_that_nobody_was_drawn_for_confirms_nothing_but_contradicts() {
    check_second_count("bert", 0, (0, 0));
    check_second_count("anna", 0, (0, 0));
    check_second_count("bert", 1, (0, 1));
    check_second_count("anna", 1, (0, 1));
}

#[test]
fn what_a_worker_repeats_confirms_nothing() {
    let (mut world, job) = World::with(8);
    let worker = world.connect(1, "anna");
    let counted = world.begin(worker).expect("something to count");
    assert_eq!(world.report(worker, Some(counted)), [SpanOutcome::Recorded]);
    for _ in 0..5 {
        assert_eq!(say(&mut world, worker, vec![counted; 3]), [SpanOutcome::Discarded; 3]);
    }
    assert_eq!(world.job(job).n_verified, 0);
}

#[test]
fn a_lease_that_ended_long_ago_is_forgotten() {
    let (mut world, job) = World::with(8);
    let first = world.connect(1, "anna");
    let counted = world.begin(first).expect("something to count");
    let held = Held { lease: counted.lease, job: world.identity(job), spans: vec![counted.span] };
    world.ledger.disconnect(world.now, first);
    world.pass(REMEMBERED / 2);
    let second = Held { lease: counted.lease, ..held.clone() };
    let back = world.connect_with(1, "anna", vec![second]);
    world.ledger.disconnect(world.now, back);
    world.pass(REMEMBERED / 2);
    world.pass(REMEMBERED + Duration::from_secs(60));
    let back = world.connect_with(1, "anna", vec![held]);
    assert_eq!(say(&mut world, back, vec![counted]), [SpanOutcome::Unleased]);
    world.finish_job(job);
}

#[test]
fn a_flood_of_failures_fails_no_job_that_another_worker_can_count() {
    let (mut world, job) = World::with(11);
    let liar = world.connect(1, "mallory");
    let leases: Vec<_> = world.workers[&liar].leases.values().cloned().collect();
    // It goes on reporting failures, whatever it is told.
    world.workers.remove(&liar);
    let mut failed = 0_u64;
    for _ in 0..40 {
        let one = |span: &Span| Span::new(span.part(), span.from(), span.from() + 1).ok();
        for (lease, span) in
            leases.iter().flat_map(|(lease, spans)| spans.iter().filter_map(one).map(|s| (lease.id, s)))
        {
            let failure = Failure { job: world.identity(job), lease, span, reason: "flood".to_owned() };
            failed += u64::from(world.ledger.fail(world.now, liar, &failure).is_ok());
        }
        world.carry_out();
        world.pass(Duration::from_millis(10));
    }
    assert!(failed > 100, "{failed} failures were heard");
    assert!(world.job(job).n_failed <= 40, "{:?}", world.job(job));
    let honest = world.connect(2, "anna");
    assert!(world.next(honest).is_some(), "it is asked");
    for _ in 0..60 {
        while world.step(honest) {}
        world.pass(Duration::from_secs(1));
    }
    world.check_done(job);
}

#[test]
fn failures_of_a_worker_that_left_or_is_blocked_do_not_count() {
    for leaves in [true, false] {
        let (mut world, job) = World::with(8);
        let honest = world.connect(9, "anna");
        for id in 1..=3 {
            world.connect(id, "mallory");
        }
        let mut failed = world.fail(WorkerId(1));
        for id in [2, 3, 1, 2, 3] {
            while let Some((_, next)) = world.next(WorkerId(id)).filter(|(_, next)| failed != Some(*next)) {
                assert!(world.step(WorkerId(id)), "{next}");
            }
            failed = world.fail(WorkerId(id)).or(failed);
        }
        if leaves {
            (1..=3).for_each(|id| world.ledger.goodbye(world.now, WorkerId(id)));
        } else {
            world.ledger.block(world.now, &named("mallory"));
        }
        world.carry_out();
        while world.step(honest) {}
        if !leaves {
            (1..=3).for_each(|id| while world.step(WorkerId(id)) {});
            while world.step(honest) {}
        }
        world.check_done(job);
    }
}

#[test]
fn a_worker_that_reports_now_and_then_does_not_fail_on_all_the_rest() {
    let (mut world, job) = World::with(12);
    let worker = world.connect(1, "anna");
    let mut n_failures = 0;
    for _ in 0..2000 {
        world.step(worker);
        n_failures += u64::from(world.fail(worker).is_some());
        if world.worker_state(worker) == WorkerState::Failing {
            break;
        }
    }
    assert_eq!(world.worker_state(worker), WorkerState::Failing, "after {n_failures} failures");
    assert!(world.job(job).n_failed <= 32, "{:?}", world.job(job));
}

/// The job of a failure may not exist, and a database can't store an event with a job number that exceeds its column.
#[test]
fn a_failure_that_is_said_again_changes_nothing() {
    let (mut world, job) = World::with(7);
    let worker = world.connect(1, "mallory");
    let held = world.begin(worker).expect("something to count");
    let failure =
        Failure { job: world.identity(job), lease: held.lease, span: held.span, reason: "flood".to_owned() };
    let told: Vec<_> =
        (0..100).map(|_| world.ledger.fail(world.now, worker, &failure).expect("in order")).collect();
    assert_eq!(told.iter().flatten().count(), 1, "{told:?}");
}

fn hello_of_mallory(worker: WorkerId) -> Hello {
    Hello {
        worker,
        name: named("mallory"),
        build: named("0"),
        kernel: named("portable"),
        n_threads: 1,
        speed: Speed::default(),
        decomposition: DECOMPOSITION_VERSION,
        halves: HalvesSkill { decomposition: 0, speed: Speed::ZERO },
        machine: 1,
        held: Vec::new(),
    }
}

#[test]
fn nobody_takes_the_place_of_a_worker_with_another_name() {
    let (mut world, job) = World::with(7);
    let worker = world.connect(1, "anna");
    let held = world.begin(worker).expect("something to count");
    let (of_anna, of_mallory) = (Party::of_name(&named("anna")), Party::of_name(&named("mallory")));
    let named_anna = Hello { name: named("anna"), ..hello_of_mallory(worker) };
    for (hello, party) in [
        (hello_of_mallory(worker), of_mallory),
        (hello_of_mallory(worker), of_anna),
        // The invitation of a party whose name another has taken over.
        (named_anna, of_mallory),
    ] {
        let refused = world.ledger.connect(world.now, hello, party);
        assert_eq!(refused, Err(WorkerRefusal::Another(worker)));
    }
    assert_eq!(world.report(worker, Some(held)), [SpanOutcome::Recorded]);
    world.finish_job(job);
}

#[test]
fn nobody_is_told_of_failures_on_what_was_never_granted_here() {
    let mut core = Core::restore(Stored::default(), Run::new(1)).expect("nothing");
    let session =
        core.connect(hello_of_mallory(WorkerId(1)), Party::of_name(&named("mallory"))).expect("in order");
    core.take_notes();
    let span = Span::new(u32::MAX, 0, u64::MAX).expect("not empty");
    for (job, lease) in [(JobIdentity(u128::MAX), LeaseId(1)), (JobIdentity(1), LeaseId(u64::MAX))] {
        let failure = Failure { job, lease, span, reason: "lie".to_owned() };
        core.fail(session, &failure).expect("may be of another coordinator");
    }
    let notes = core.take_notes();
    assert!(!notes.iter().any(|note| matches!(note, LedgerEvent::Failed { .. })), "{notes:?}");
}

#[test]
fn a_worker_whose_number_is_taken_reports_under_another_what_it_was_granted() {
    let (mut world, job) = World::with(8);
    let anna = world.connect(1, "anna");
    let counted = world.begin(anna).expect("something to count");
    let spans = world.workers[&anna].leases[&counted.lease].1.iter().copied().chain([counted.span]).collect();
    world.ledger.disconnect(world.now, anna);
    world.pass(Duration::from_secs(5));
    assert_eq!(world.ledger.workers(), [], "it is given up");

    let thief = world.connect(1, "mallory");
    assert_eq!(thief, anna, "by its number");
    let stolen = Report { sequence: 1, deltas: vec![counted], finished: vec![counted.lease] };
    let outcomes = world.ledger.report(world.now, thief, &stolen);
    assert_eq!(outcomes, Ok(vec![SpanOutcome::Unleased]), "it was granted to another");
    world.carry_out();

    let held = vec![Held { lease: counted.lease, job: world.identity(job), spans }];
    let stranger = world.connect_with(2, "bert", held.clone());
    let said = Report { sequence: 1, deltas: vec![counted], finished: Vec::new() };
    assert_eq!(world.ledger.report(world.now, stranger, &said), Ok(vec![SpanOutcome::Unleased]));
    let anna = world.connect_with(3, "anna", held);
    assert_eq!(world.ledger.report(world.now, anna, &said), Ok(vec![SpanOutcome::Recorded]));
    world.carry_out();
    world.finish_job(job);
}

/// Each lease costs the coordinator some time, so who takes leases and gives them back soon gets few.
#[test]
fn leases_that_are_given_back_cost_the_giver() {
    let mut world = World::new();
    world.submit(14);
    let worker = world.connect(1, "mallory");
    let mut n_leases = 0;
    for _ in 0..60_000 {
        let leases = &mut world.workers.get_mut(&worker).expect("connected").leases;
        n_leases += leases.len();
        leases.values_mut().for_each(|(_, spans)| spans.clear());
        world.report(worker, None);
        world.now += Duration::from_millis(1);
        if world.now.as_millis().is_multiple_of(100) {
            world.pass(Duration::ZERO);
        }
    }
    assert!((16..100).contains(&n_leases), "{n_leases} leases in a minute");
    for _ in 0..60 {
        world.pass(Duration::from_secs(1));
        world.report(worker, None);
    }
    world.finish();
    assert!(world.ledger.jobs().iter().all(|job| job.state == JobState::Done), "it may count after all");
}
