//! Tests of the ledger's decisions about operators, failing workers and doubtful claims. Boards are small, workers act
//! step by step, and time passes only when a test says so.

mod belief;
mod beside_draws;
mod damaged;
mod drawn;
mod ending;
mod invitations;
mod methods;
mod opinions;
mod overdue;
mod parts;
mod recounts;
mod reporting;
mod second;
mod speed;
mod submissions;
mod world;

use std::time::Duration;

use proptest::prelude::*;
use queens_ledger::store::{Phase, Store, Write};
use queens_ledger::{JobRefusal, Ledger, Run, SpanOutcome, UnknownWorker};
use queens_model::{
    CardSensors, Delta, Failure, Held, JobId, JobIdentity, JobState, LeaseId, Report, WorkerId, WorkerState,
};
use queens_solver::Span;

use world::{World, damage, named, priority};

#[test]
fn a_paused_job_loses_nothing_gets_no_leases_and_stays_paused_after_a_restart() {
    let (mut world, job) = World::with(8);
    let worker = world.connect(1, "anna");
    assert!(world.step(worker));
    let in_hand = world.begin(worker);
    world.ledger.pause(world.now, job).expect("is running");
    world.ledger.pause(world.now, job).expect("may be repeated");
    world.carry_out();
    assert_eq!(world.next(worker), None, "all that it has not begun is taken back");
    assert_eq!(world.job(job).state, JobState::Paused);
    assert_eq!(world.report(worker, in_hand), [SpanOutcome::Recorded]);
    let before = world.job(job);
    assert_eq!((before.progress.n_recorded, before.n_workers), (2, 0));
    world.pass(Duration::from_secs(100));
    assert_eq!(world.next(worker), None);
    assert_eq!(world.job(job).active, before.active, "nobody counts it");

    let mut world = world.restart();
    let worker = world.connect(2, "bert");
    assert_eq!((world.job(job).state, world.next(worker)), (JobState::Paused, None));
    world.ledger.resume(world.now, job).expect("is paused");
    world.ledger.resume(world.now, job).expect("may be repeated");
    world.carry_out();
    world.finish_job(job);
    assert_eq!(world.job(job).n_verified, 0, "nothing is counted twice");
}

#[test]
fn a_job_that_is_done_is_exported_once() {
    let (mut world, job) = World::with(8);
    assert!(!world.ledger.exported(job) && !world.ledger.exported(JobId(7)), "it is not done, or not there");
    world.carry_out();
    assert_eq!(world.job(job).terms.exported_ms, None);
    _ = world.connect(1, "anna");
    world.finish_job(job);
    for date_ms in [1000, 2000] {
        world.ledger.tell_date(date_ms);
        assert!(world.ledger.exported(job));
        world.carry_out();
        assert_eq!(world.job(job).terms.exported_ms, Some(1000), "the first time counts");
    }
    assert_eq!(world.restart().job(job).terms.exported_ms, Some(1000));
}

#[test]
fn what_a_paused_worker_has_in_hand_is_given_to_nobody_else() {
    let (mut world, job) = World::with(9);
    let [first, second] = [world.connect(1, "anna"), world.connect(2, "bert")];
    let in_hand = world.begin(first);
    world.ledger.pause(world.now, job).expect("is running");
    world.ledger.resume(world.now, job).expect("is paused");
    world.carry_out();
    while world.step(second) {}
    assert_eq!(world.report(first, in_hand), [SpanOutcome::Recorded]);
    world.finish_job(job);
}

#[test]
fn a_job_that_is_over_or_unknown_can_not_be_changed() {
    let mut world = World::new();
    let [done, cancelled] = [world.submit(6), world.submit(7)];
    world.ledger.cancel(world.now, cancelled).expect("is there");
    world.connect(1, "anna");
    world.finish_job(done);
    let now = world.now;
    for (job, phase) in [(done, Phase::Done), (cancelled, Phase::Cancelled)] {
        let over = Err(JobRefusal::Over { job, phase });
        let cancelled = if phase == Phase::Done { over } else { Ok(()) };
        assert_eq!(world.ledger.cancel(now, job), cancelled);
        assert_eq!(world.ledger.pause(now, job), over);
        assert_eq!(world.ledger.resume(now, job), over);
        assert_eq!(world.ledger.set_priority(now, job, priority(1)), over);
    }
    let unknown = Err(JobRefusal::Unknown(JobId(99)));
    assert_eq!(world.ledger.pause(now, JobId(99)), unknown);
    assert!(world.ledger.take_effects().writes.is_empty());
}

#[test]
fn workers_go_over_to_a_more_urgent_job_at_their_next_chunk() {
    let mut world = World::new();
    let [slow, urgent] = [world.submit(9), world.submit(8)];
    let workers = [world.connect(1, "anna"), world.connect(2, "bert")];
    assert_eq!(workers.map(|worker| world.step(worker)), [true, true]);
    assert_eq!(world.next(workers[0]).map(|(job, _)| job), Some(slow), "first come, first served");
    let in_hand = workers.map(|worker| world.begin(worker));
    world.ledger.set_priority(world.now, urgent, priority(3)).expect("is there");
    world.carry_out();
    for (worker, in_hand) in workers.into_iter().zip(in_hand) {
        assert_eq!(world.report(worker, in_hand), [SpanOutcome::Recorded]);
        assert_eq!(world.next(worker).map(|(job, _)| job), Some(urgent));
    }
    while world.job(urgent).state != JobState::Done {
        assert!(world.step(workers[0]) | world.step(workers[1]));
    }
    let mut world = world.restart();
    assert_eq!(world.job(urgent).priority, priority(3));
    world.connect(3, "carol");
    world.finish();
    for job in [slow, urgent] {
        world.check_done(job);
        assert_eq!(world.job(job).n_verified, 0, "nothing is counted twice");
    }
}

#[test]
fn a_lease_of_an_urgent_job_does_not_wait_behind_one_that_is_less_urgent() {
    let mut world = World::new();
    let slow = world.submit(9);
    let worker = world.connect(1, "anna");
    // One lease runs; the waiting one is used up, so that there is room for another.
    let waits = *world.workers[&worker].leases.keys().last().expect("holds two");
    let urgent = world.submit(8);
    world.ledger.set_priority(world.now, urgent, priority(1)).expect("is there");
    world.workers.get_mut(&worker).expect("connected").leases.remove(&waits);
    let report = Report { sequence: 1, deltas: vec![], finished: vec![waits] };
    world.ledger.report(world.now, worker, &report).expect("in order");
    world.pass(Duration::from_millis(100));
    assert_eq!(world.next(worker).map(|(job, _)| job), Some(urgent));
    world.finish_job(slow);
    world.check_done(urgent);
}

#[test]
fn a_drained_worker_reports_what_it_has_in_hand_and_gets_no_more() {
    let (mut world, job) = World::with(9);
    let [first, second, other] =
        [world.connect(1, "anna"), world.connect(2, "anna"), world.connect(3, "bert")];
    let in_hand = world.begin(first);
    assert_eq!(world.ledger.drain(world.now, &named("anna")), Ok(2));
    assert_eq!(world.ledger.drain(world.now, &named("carol")), Err(UnknownWorker(named("carol"))));
    world.carry_out();
    for (worker, in_hand) in [(first, in_hand), (second, None)] {
        assert!(world.workers[&worker].sent_home);
        assert_eq!(world.worker_state(worker), WorkerState::Draining);
        assert!(world.report(worker, in_hand).iter().all(|outcome| *outcome == SpanOutcome::Recorded));
        assert!(world.workers[&worker].leases.is_empty());
    }
    // It is told again, in case it has missed it.
    world.ledger.disconnect(world.now, first);
    world.connect(1, "anna");
    assert!(world.workers[&first].sent_home && world.workers[&first].leases.is_empty());
    assert!(!world.workers[&other].sent_home);
    while world.step(other) {}
    world.check_done(job);
}

#[test]
fn sensors_are_known_until_the_connection_is_lost() {
    let mut world = World::new();
    let [anna, bert] = [world.connect(1, "anna"), world.connect(2, "bert")];
    let hot = CardSensors::new(Some(80), Some(600), None);
    let known = |world: &World, id| {
        let workers = world.ledger.workers();
        workers.iter().find(|worker| worker.id == id).map(|worker| worker.sensors)
    };
    for sensors in [hot, CardSensors::default(), hot] {
        world.ledger.note_sensors(anna, sensors);
        assert_eq!([anna, bert].map(|id| known(&world, id)), [Some(sensors), Some(CardSensors::default())]);
    }
    world.ledger.disconnect(world.now, anna);
    assert_eq!(known(&world, anna), Some(CardSensors::default()));
    // It may have another card when it comes back.
    world.ledger.note_sensors(anna, hot);
    world.connect(1, "anna");
    assert_eq!(known(&world, anna), Some(CardSensors::default()));
    world.ledger.goodbye(world.now, anna);
    world.ledger.note_sensors(anna, hot);
    assert_eq!(known(&world, anna), None);
}

#[test]
fn a_blocked_name_gets_no_leases_until_it_is_unblocked_restarts_included() {
    let (mut world, job) = World::with(9);
    let [first, other] = [world.connect(1, "anna"), world.connect(2, "bert")];
    let in_hand = world.begin(first);
    let unknown = Err(UnknownWorker(named("carol")));
    assert_eq!(world.ledger.unblock(world.now, &named("carol")), unknown);
    assert_eq!(world.ledger.block(world.now, &named("carol")), 0, "may be done before she comes");
    let carol = world.connect(4, "carol");
    assert!(world.workers[&carol].leases.is_empty());
    assert_eq!(world.worker_state(carol), WorkerState::Blocked);
    assert_eq!(world.ledger.unblock(world.now, &named("carol")), Ok(1));
    world.ledger.goodbye(world.now, carol);
    assert_eq!(world.ledger.block(world.now, &named("anna")), 1);
    assert_eq!(world.ledger.block(world.now, &named("anna")), 1, "may be repeated");
    world.carry_out();
    assert_eq!(world.report(first, in_hand), [SpanOutcome::Recorded]);
    assert!(world.workers[&first].leases.is_empty());
    assert_eq!(world.workers[&first].notices.len(), 1);
    assert_eq!(world.worker_state(first), WorkerState::Blocked);
    assert!(world.step(other));

    let mut world = world.restart();
    assert_eq!(world.ledger.blocked().collect::<Vec<_>>(), ["anna"]);
    let first = world.connect(3, "anna");
    assert!(world.workers[&first].leases.is_empty());
    assert!(world.workers[&first].notices[0].contains("'anna' are blocked"));
    assert_eq!(world.ledger.unblock(world.now, &named("anna")), Ok(1));
    assert_eq!(world.ledger.unblock(world.now, &named("anna")), Ok(1), "may be repeated");
    world.carry_out();
    world.finish_job(job);
    assert_eq!(world.restart().ledger.blocked().count(), 0);
}

#[test]
fn a_span_that_fails_on_all_parties_is_set_aside_and_the_rest_goes_on() {
    let (mut world, job) = World::with(8);
    let workers = [1, 2, 3, 4].map(|id| world.connect(id, &format!("worker {id}")));
    let failed = world.fail(workers[0]).expect("something to count");
    let is_next = |world: &World, worker| world.next(worker).is_some_and(|(_, span)| span == failed);
    let mut tried = vec![workers[0]];
    for &worker in workers.iter().cycle().take(1000) {
        if is_next(&world, worker) {
            assert!(!tried.contains(&worker), "nobody tries twice");
            assert_eq!(world.fail(worker), Some(failed));
            tried.push(worker);
        } else {
            world.step(worker);
        }
    }
    assert_eq!(tried.len(), 4, "each party is asked");
    world.finish();
    let status = world.job(job);
    assert_eq!((status.state, status.n_failed, status.n_given_up), (JobState::Failed, 1, 1));
    assert_eq!(status.progress.n_recorded + 1, status.progress.n_subproblems);
    let reason = format!("worker {} failed on {failed}: division by zero", tried[3].0);
    assert_eq!(status.failure, Some(reason));

    world.ledger.resume(world.now, job).expect("is not over for good");
    world.carry_out();
    world.finish_job(job);
    assert_eq!(world.job(job).n_failed, 0);
}

#[test]
fn one_name_with_many_sessions_fails_no_job() {
    for n_sessions in [3, 5, 12] {
        let (mut world, job) = World::with(8);
        let liars: Vec<WorkerId> = (1..=n_sessions).map(|id| world.connect(id, "mallory")).collect();
        let honest = world.connect(99, "anna");
        let mut n_failures = 0;
        while liars.iter().filter(|&&liar| world.fail(liar).is_some()).count() > 0 {
            n_failures += 1;
            assert!(n_failures < 1000, "they are asked for ever");
        }
        while world.step(honest) {}
        world.finish_job(job);
        assert_eq!(world.job(job).n_failed, 0);
    }
}

#[test]
fn what_fails_on_three_parties_is_counted_by_the_last_that_can() {
    let (mut world, job) = World::with(8);
    let broken: Vec<WorkerId> = (1..=6).map(|id| world.connect(id, &format!("broken {id}"))).collect();
    while broken.iter().filter(|&&worker| world.fail(worker).is_some()).count() > 0 {}
    assert_eq!(world.job(job).state, JobState::Failed);
    let healthy = world.connect(99, "anna");
    assert_eq!((world.job(job).state, world.job(job).n_given_up), (JobState::Running, 0));
    while world.step(healthy) {}
    world.check_done(job);
}

#[test]
fn a_job_that_failed_on_the_only_worker_goes_on_when_another_comes() {
    let (mut world, job) = World::with(7);
    let only = world.connect(1, "anna");
    world.fail(only).expect("something to count");
    world.finish();
    assert_eq!(world.job(job).state, JobState::Failed);
    world.connect(2, "bert");
    assert_eq!(world.job(job).state, JobState::Running);
    world.finish_job(job);
}

#[test]
fn a_worker_that_fails_again_and_again_gets_no_more() {
    let (mut world, job) = World::with(9);
    let broken = world.connect(1, "anna");
    let n_failures = (0..100).take_while(|_| world.fail(broken).is_some()).count();
    // It may hold another lease when it has failed on eight.
    assert!((8..=9).contains(&n_failures), "{n_failures} failures");
    assert_eq!(world.worker_state(broken), WorkerState::Failing);
    assert_eq!(world.job(job).state, JobState::Failed);
    world.connect(2, "bert");
    world.finish_job(job);
}

#[test]
fn failures_on_what_is_not_held_change_nothing() {
    let (mut world, job) = World::with(7);
    let [first, second] = [world.connect(1, "anna"), world.connect(2, "bert")];
    let held = world.begin(first).expect("something to count");
    let failure =
        Failure { job: world.identity(job), lease: held.lease, span: held.span, reason: String::new() };
    assert_eq!(world.ledger.fail(world.now, second, &failure), Ok(None), "it is another's");
    let other = Failure { lease: LeaseId(u64::MAX), job: JobIdentity(99), ..failure.clone() };
    world.ledger.fail(world.now, first, &other).expect("of another coordinator");
    assert_eq!(world.job(job).n_failed, 0);
    let beyond = Failure { span: Span::new(0, 0, u64::MAX).expect("not empty"), ..failure };
    assert!(world.ledger.fail(world.now, first, &beyond).is_err());
    assert_eq!(world.report(first, Some(held)), [SpanOutcome::Recorded]);
    world.finish_job(job);
}

#[test]
fn the_tail_of_a_slow_worker_goes_to_one_that_has_nothing_to_do() {
    let (mut world, job) = World::with(10);
    let slow = world.connect(1, "anna");
    while !world.ledger.jobs()[0].progress.n_recorded.is_multiple_of(5) || world.now.is_zero() {
        assert!(world.step(slow));
    }
    let idle = world.connect(2, "bert");
    while world.step(idle) {}
    // The slow worker reports that it is alive, and counts nothing.
    for _ in 0..100 {
        world.pass(Duration::from_secs(1));
        world.report(slow, None);
        while world.step(idle) {}
    }
    world.finish_job(job);
}

#[test]
fn a_lease_of_which_nothing_comes_is_not_held_by_work_that_is_less_urgent() {
    let mut world = World::new();
    let [urgent, endless] = [world.submit(6), world.submit(10)];
    world.ledger.set_priority(world.now, urgent, priority(1)).expect("is there");
    let [hangs, works] = [world.connect(1, "anna"), world.connect(2, "bert")];
    assert_eq!(world.next(hangs).map(|(job, _)| job), Some(urgent));
    for _ in 0..300 {
        world.pass(Duration::from_millis(100));
        world.report(hangs, None);
        world.step(works);
        if world.job(urgent).state == JobState::Done {
            break;
        }
    }
    world.check_done(urgent);
    assert_eq!(world.worker_state(hangs), WorkerState::Stuck);
    assert_ne!(world.job(endless).state, JobState::Done);
}

#[test]
fn a_worker_that_lives_keeps_its_lease_for_as_long_as_it_takes() {
    let (mut world, job) = World::with(8);
    let worker = world.connect(1, "anna");
    let in_hand = world.begin(worker);
    for _ in 0..1000 {
        world.pass(Duration::from_secs(5));
        world.report(worker, None);
    }
    assert_eq!(world.job(job).n_workers, 1);
    assert_eq!(world.report(worker, in_hand), [SpanOutcome::Recorded]);
    // A silent worker does lose it.
    world.pass(Duration::from_secs(15));
    assert_eq!(world.job(job).n_workers, 0);
    assert!(world.ledger.workers().is_empty());
}

#[test]
fn what_was_counted_for_another_coordinator_is_not_believed() {
    let mut theirs = World::new();
    theirs.submit(9);
    let worker = theirs.connect(1, "anna");
    let counted = theirs.begin(worker).expect("something to count");
    // Another directory, whose job 1 is of another board, answers at the same address, and was restarted since.
    let mut ours = World::new();
    let job = ours.submit(8);
    let mut ours = ours.restart();
    let held = Held { lease: counted.lease, job: counted.job, spans: vec![counted.span] };
    let worker = ours.connect_with(1, "anna", vec![held]);
    assert!(!ours.workers[&worker].leases.contains_key(&counted.lease));
    assert_eq!(ours.report(worker, Some(counted)), [SpanOutcome::Unleased]);
    let unknown = Delta { job: JobIdentity(77), ..counted };
    assert_eq!(ours.report(worker, Some(unknown)), [SpanOutcome::Unleased]);
    assert_eq!(ours.job(job).progress.n_recorded, 0);
    ours.finish();
    ours.check_done(job);
}

#[test]
fn a_job_that_is_said_to_be_done_and_is_not_is_damaged() {
    let mut world = World::new();
    world.submit(6);
    let mut stored = world.store.load().expect("memory");
    stored.jobs[0].entry.phase = Phase::Done;
    assert_eq!(damage(&stored).as_deref(), Some("it is done, but not all of it is recorded"));
}

/// A coordinator that ended before it could mark a job as done has left it complete.
#[test]
fn a_job_of_which_all_is_recorded_is_done() {
    let (mut world, job) = World::with(6);
    world.connect(0, "anna");
    world.finish();
    let mut stored = world.store.load().expect("memory");
    assert_eq!(stored.jobs[0].entry.phase, Phase::Done);
    stored.jobs[0].entry.phase = Phase::Active;
    let mut ledger = Ledger::restore(stored, Run::new(1)).expect("nothing contradicts");
    assert_eq!(ledger.jobs()[0].state, JobState::Done);
    let writes = ledger.take_effects().writes;
    assert!(
        matches!(&writes[..], [Write::Job(entry)] if entry.id == job && entry.phase == Phase::Done),
        "{writes:?}"
    );
}

#[test]
fn a_job_has_a_plan_from_the_moment_it_is_counted() {
    let mut world = World::new();
    world.submit(6);
    let stored = world.store.load().expect("memory");
    for (phase, has_plan) in [(Phase::Active, false), (Phase::Planning, true)] {
        let mut stored = stored.clone();
        let job = &mut stored.jobs[0];
        job.entry.phase = phase;
        job.choices = job.choices.take().filter(|_| has_plan);
        let expected = format!("it is {}, which does not go with its plan", phase.name());
        assert_eq!(damage(&stored), Some(expected));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() })]

    /// Whatever operators do and whichever workers fail, all jobs end with the right count. Nothing is held or counted
    /// twice, as far as the ledger could know.
    #[test]
    fn any_decisions_end_with_the_right_counts(
        steps in prop::collection::vec((0..13_u8, 0..3_u64, 0..3_u64, -2..3_i32), 0..60),
    ) {
        let mut world = World::new();
        let names = ["anna", "anna", "bert"];
        let jobs = [world.submit(6), world.submit(8), world.submit(7)];
        for id in 0..3 {
            world.connect(id, names[usize::try_from(id).expect("small")]);
        }
        let mut in_hand = Vec::new();
        for (action, job, worker, p) in steps {
            let (job, id) = (jobs[usize::try_from(job).expect("small")], WorkerId(worker));
            let name = world.workers[&id].name.clone();
            let now = world.now;
            match action {
                0 => _ = world.ledger.pause(now, job),
                1 => _ = world.ledger.resume(now, job),
                2 => _ = world.ledger.set_priority(now, job, priority(p)),
                3 => _ = world.ledger.block(now, &named(&name)),
                4 => _ = world.ledger.unblock(now, &named(&name)),
                5 => _ = world.fail(id),
                6 => in_hand.extend(world.begin(id).map(|delta| (id, delta))),
                7 => {
                    if let Some((id, delta)) = in_hand.pop() {
                        world.report_counted(id, delta);
                    }
                }
                8 => world.pass(Duration::from_millis(700)),
                _ => _ = world.step(id),
            }
            world.carry_out();
        }
        for (id, delta) in in_hand {
            world.report_counted(id, delta);
        }
        for name in names {
            _ = world.ledger.unblock(world.now, &named(name));
        }
        for job in jobs {
            _ = world.ledger.resume(world.now, job);
        }
        world.carry_out();
        world.finish();
        for job in jobs {
            world.check_done(job);
        }
    }
}

/// The one way in which sharing repeats a count: a worker has just begun a lease. The ledger has not heard of it yet,
/// and gives it to another.
#[test]
fn a_lease_taken_just_as_it_is_begun_is_counted_twice_and_recorded_once() {
    let mut world = World::new();
    let [_, paused, stays] = [6, 8, 7].map(|n| world.submit(n));
    let [_, second, first] =
        [(0, "anna"), (1, "bert"), (2, "carol")].map(|(id, name)| world.connect(id, name));
    for _ in 0..3 {
        world.step(first);
    }
    // This ends the running lease, and the next begins; the ledger has not heard of it yet.
    world.ledger.pause(world.now, paused).expect("is running");
    world.carry_out();
    let in_hand = world.begin(first).expect("its second lease");
    assert_eq!(in_hand.job, world.identity(stays));
    world.step(second);
    world.pass(Duration::from_millis(700));
    let again = world.begin(second).expect("what the first seemed not to have begun");
    assert_eq!((again.job, again.span), (world.identity(stays), in_hand.span));
    assert_eq!(world.report(first, Some(in_hand)), [SpanOutcome::Recorded]);
    assert_eq!(world.report(second, Some(again)), [SpanOutcome::Repeated]);
    world.ledger.resume(world.now, paused).expect("is paused");
    world.carry_out();
    world.finish_job(stays);
    assert_eq!(world.job(stays).n_verified, 0, "nobody was drawn to confirm it");
}
