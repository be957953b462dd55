//! Tests of drawn records and parts: only another draw gives them to another party.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use queens_ledger::Verification;
use queens_model::{
    Arbiter, Delta, Held, Hello, JobId, JobState, Party, Share, Submission, WorkerId, WorkerState,
};
use queens_solver::{Count, Method, Span};

use super::world::{World, named, priority, size};

const NAMES: [(u64, &str); 3] = [(1, "anna"), (2, "bert"), (3, "carol")];

const HALF_A_SECOND: Duration = Duration::from_millis(500);

/// Returns a world with a second pass of a board, its workers, and the job. Counting a subproblem takes this long. The
/// first of the workers holds this many spans of it, or more.
fn second_pass(time: Duration, n_held: usize) -> (World, [WorkerId; 3], JobId) {
    let mut world = World::new();
    let first = submit_twice(&mut world, 10);
    let mut workers = NAMES.map(|(id, name)| world.connect(id, name));
    let second = world.job(first).second.expect("it has one");
    while held(&world, workers[0], second).len() < n_held {
        for id in workers {
            let delta = world.begin(id).map(|delta| Delta { duration: time, ..delta });
            world.report(id, delta);
        }
        world.pass(time);
        workers.sort_by_key(|id| Reverse(held(&world, *id, second).len()));
    }
    (world, workers, second)
}

fn submit_twice(world: &mut World, n: u8) -> JobId {
    let twice = Submission { second_pass: Some(Method::Search), ..Submission::new(size(n), Method::Search) };
    world.submit_on(&twice).expect("it is taken")
}

/// Returns the spans of a job that a worker holds.
fn held(world: &World, id: WorkerId, job: JobId) -> Vec<Span> {
    let of_job = world.identity(job);
    let leases = world.workers[&id].leases.values().filter(|(lease, _)| lease.job == of_job);
    leases.flat_map(|(_, spans)| spans.iter().copied()).collect()
}

/// Lets workers count until they have nothing to do.
fn exhaust(world: &mut World, workers: &[WorkerId]) {
    let mut n_idle = 0;
    while n_idle < 3 {
        let n_counting = workers.iter().filter(|id| world.step(**id)).count();
        n_idle = if n_counting > 0 { 0 } else { n_idle + 1 };
    }
}

#[test]
fn who_tries_a_span_of_a_part_after_a_failure_is_drawn() {
    let (mut world, [fails, others @ ..], job) = second_pass(Duration::from_millis(50), 2);
    exhaust(&mut world, &others);
    let mut tried: BTreeMap<WorkerId, u32> = BTreeMap::new();
    while let Some((of, span)) = world.next(fails) {
        if of != job {
            world.step(fails);
            continue;
        }
        world.fail(fails).expect("it holds it");
        let has_it = |world: &World, id: WorkerId| {
            held(world, id, job).iter().any(|it| it.intersection(span).is_some())
        };
        for _ in 0..3 {
            world.pass(Duration::from_millis(50));
        }
        others.iter().filter(|id| has_it(&world, **id)).for_each(|id| *tried.entry(*id).or_default() += 1);
        assert!(!has_it(&world, fails), "it tries again what it failed on");
        exhaust(&mut world, &others);
        // What it counts is a success, so that it may fail again.
        world.step(fails);
    }
    assert!(others.iter().all(|id| tried.get(id).is_some_and(|n| *n >= 2)), "{tried:?}");
}

/// Lets a worker lose its connection for some seconds, while it holds drawn spans, and come back with them. Counting a
/// subproblem takes `time`.
#[track_caller]
fn check_reconnection(time: Duration, away_for: u32) {
    let (mut world, [away, others @ ..], job) = second_pass(time, 4);
    let (spans, leases) = (held(&world, away, job), world.workers[&away].leases.clone());
    let held_leases: Vec<Held> = leases
        .values()
        .map(|(lease, spans)| Held {
            lease: lease.id,
            job: lease.job,
            spans: spans.iter().copied().collect(),
        })
        .collect();
    world.ledger.disconnect(world.now, away);
    let name = world.workers.remove(&away).expect("connected").name;
    for _ in 0..away_for {
        world.pass(Duration::from_secs(1));
        others.iter().for_each(|id| _ = world.step(*id));
    }
    _ = world.connect_saying(away.0, &name, |hello| Hello { held: held_leases, ..hello });
    // The others are idle after that, and the time of its leases is not over.
    for _ in 0..20 {
        exhaust(&mut world, &others);
        world.report(away, None);
        world.pass(Duration::from_millis(100));
    }
    let records = world.store.records(job).map(|record| record.span);
    let is_its = |span: &Span| spans.iter().any(|its| its.intersection(*span).is_some());
    assert_eq!(records.filter(is_its).collect::<Vec<_>>(), [], "others have counted its spans");
    world.workers.get_mut(&away).expect("connected").leases.extend(leases);
    exhaust(&mut world, &[away]);
    let is_recorded = |span: &Span| world.store.records(job).any(|record| record.span == *span);
    assert!(spans.iter().all(is_recorded), "it may not count them any more");
}

#[test]
fn spans_that_were_drawn_stay_with_a_party_that_has_lost_its_connection() {
    check_reconnection(Duration::from_secs(5), 1);
    check_reconnection(Duration::from_millis(500), 40);
}

/// Lets the only useful worker of a party leave while records wait for it. Others are there.
#[track_caller]
fn check_kept(mut world: World, job: JobId, away: WorkerId, others: &[WorkerId]) {
    assert_eq!(world.job(job).state, JobState::Verifying);
    // Records are drawn.
    world.pass(Duration::from_millis(100));
    world.ledger.disconnect(world.now, away);
    world.workers.remove(&away);
    let mut n_open_after = |seconds: u32| {
        for _ in 0..seconds {
            exhaust(&mut world, others);
            world.pass(Duration::from_secs(1));
        }
        world.job(job).recounting.n_open
    };
    let kept = n_open_after(10);
    assert!(kept > 0, "others have its records");
    assert_eq!(n_open_after(30), kept);
    assert_eq!(n_open_after(20), 0);
    world.check_done(job);
}

#[test]
fn a_party_that_is_away_for_less_than_a_minute_keeps_what_was_drawn_for_it() {
    let (mut world, job) = World::with_recounts(8, 100);
    let workers @ [away, others @ ..] = NAMES.map(|(id, name)| world.connect(id, name));
    while world.job(job).state != JobState::Verifying {
        workers.iter().for_each(|id| _ = world.step(*id));
    }
    check_kept(world, job, away, &others);
}

#[test]
fn so_does_one_with_another_machine_that_can_not_count_by_the_method() {
    let mut world = World::new();
    let recount = Some(Share::ALL);
    let job = world.submit_on(&Submission { recount, ..Submission::new(size(8), Method::Halves) });
    let job = job.expect("it is taken");
    let [away, others @ ..] = NAMES.map(|(id, name)| world.connect_able(id, name));
    let by_search = world.connect(10, "anna");
    while world.job(job).state != JobState::Verifying {
        [away].iter().chain(&others).for_each(|id| _ = world.step(*id));
        world.report(by_search, None);
    }
    let [first, second] = others;
    check_kept(world, job, away, &[first, second, by_search]);
}

#[test]
fn so_does_one_that_has_counted_nothing_yet() {
    let (mut world, job) = World::with_recounts(8, 100);
    let [anna, bert, carol] = NAMES;
    let anna = world.connect(anna.0, anna.1);
    while world.step(anna) {}
    let [bert, carol] = [bert, carol].map(|(id, name)| world.connect(id, name));
    world.pass(Duration::from_millis(100));
    check_kept(world, job, bert, &[anna, carol]);
}

#[test]
fn so_does_one_with_another_machine_that_is_of_no_use() {
    let (mut world, job) = World::with_recounts(8, 100);
    let useless = world.connect_of(1, 10, "useless");
    while world.fail(useless).is_some() {
        world.pass(Duration::from_millis(50));
    }
    assert_eq!(world.worker_state(useless), WorkerState::Failing);
    let workers @ [away, others @ ..] =
        [(1, "anna"), (2, "bert"), (3, "carol")].map(|(id, name)| world.connect_of(id, id.into(), name));
    while world.job(job).state != JobState::Verifying {
        workers.iter().for_each(|id| _ = world.step(*id));
        world.report(useless, None);
    }
    let [first, second] = others;
    check_kept(world, job, away, &[first, second, useless]);
}

/// Lets a worker count a subproblem in half a second, or fail if it is the first one of this job.
fn count_or_fail(world: &mut World, id: WorkerId, bad: JobId) {
    if world.next(id).is_some_and(|(job, span)| job == bad && (span.part(), span.from()) == (0, 0)) {
        world.fail(id);
    } else {
        let delta = world.begin(id).map(|delta| Delta { duration: HALF_A_SECOND, ..delta });
        world.report(id, delta);
    }
}

#[test]
fn what_fails_everywhere_is_given_up_and_workers_are_left_for_other_jobs() {
    let mut world = World::new();
    let first = submit_twice(&mut world, 9);
    let second = world.job(first).second.expect("it has one");
    let workers = NAMES.map(|(id, name)| world.connect(id, name));
    let mut other = None;
    for round in 0..600 {
        workers.iter().for_each(|id| count_or_fail(&mut world, *id, second));
        world.pass(HALF_A_SECOND);
        if round == 300 {
            other = Some(world.submit(8));
        }
    }
    assert_eq!((world.job(second).state, world.job(second).n_given_up), (JobState::Failed, 1));
    assert_eq!(workers.map(|id| world.worker_state(id)), [WorkerState::Ready; 3]);
    world.check_done(other.expect("submitted"));
}

#[test]
fn a_silent_party_is_late_although_another_job_has_failed_spans() {
    for is_of_second_pass in [false, true] {
        let mut world = World::new();
        let first = submit_twice(&mut world, 9);
        let second = world.job(first).second.expect("it has one");
        let bad = if is_of_second_pass { second } else { first };
        let workers = NAMES.map(|(id, name)| world.connect(id, name));
        let silent = world.connect(4, "mallory");
        for _ in 0..300 {
            workers.iter().chain([&silent]).for_each(|id| count_or_fail(&mut world, *id, bad));
            world.pass(HALF_A_SECOND);
        }
        let other = world.submit_verified(9, 100);
        _ = [world.submit(14), world.submit(14)];
        let began = world.now;
        while world.job(other).state != JobState::Done && world.now < began + Duration::from_secs(300) {
            workers.iter().for_each(|id| count_or_fail(&mut world, *id, bad));
            world.report(silent, None);
            world.pass(HALF_A_SECOND);
        }
        world.check_done(other);
    }
}

/// Returns how long a board takes that is counted twice, beside less urgent ones of this priority.
fn seconds_beside(less_urgent: Option<i32>) -> f64 {
    let mut world = World::new();
    let job = submit_twice(&mut world, 9);
    for at in less_urgent.into_iter().cycle().take(3) {
        let other = world.submit(14);
        world.ledger.set_priority(world.now, other, priority(at)).expect("it is open");
    }
    world.carry_out();
    let workers = NAMES.map(|(id, name)| world.connect(id, name));
    while world.job(job).state != JobState::Done && world.now < Duration::from_secs(600) {
        workers.iter().for_each(|id| count_or_fail(&mut world, *id, JobId(0)));
        world.pass(HALF_A_SECOND);
    }
    world.now.as_secs_f64()
}

#[test]
fn a_second_pass_comes_before_less_urgent_jobs() {
    let alone = seconds_beside(None);
    for priority in [0, -5] {
        let beside = seconds_beside(Some(priority));
        assert!(beside < 2.0 * alone, "{beside} s beside jobs of priority {priority}, {alone} s alone");
    }
}

/// Lets workers count for this many rounds of half a second. Others report that they are alive.
fn count_for(world: &mut World, n_rounds: u32, workers: &[WorkerId]) {
    let all: Vec<WorkerId> = world.workers.keys().copied().collect();
    for _ in 0..n_rounds {
        for id in &all {
            if workers.contains(id) {
                count_or_fail(world, *id, JobId(0));
            } else {
                world.report(*id, None);
            }
        }
        world.pass(HALF_A_SECOND);
    }
}

/// Submits a job whose records only party 9 recounts.
fn submit_trusted(world: &mut World) -> JobId {
    let recount_by = Some(Arbiter { party: Party::from_bytes([9; 16]), invitation: Some(9) });
    let recount = Some(Share::ALL);
    let asked = Submission { recount, recount_by, ..Submission::new(size(6), Method::Search) };
    world.submit_on(&asked).expect("it is taken")
}

/// Lets eight jobs wait for a party that recounts nothing, which may be there.
#[track_caller]
fn check_beside_waiting_jobs(is_there: bool) {
    let mut world = World::new();
    (0..8).for_each(|_| _ = submit_trusted(&mut world));
    let other = world.submit_verified(6, 100);
    let workers = [world.connect(1, "anna"), world.connect(2, "bert")];
    is_there.then(|| world.connect_of(9, 9, "trusted"));
    count_for(&mut world, 300, &workers);
    world.check_done(other);
}

#[test]
fn jobs_that_wait_for_a_party_keep_no_others_waiting() {
    check_beside_waiting_jobs(false);
    check_beside_waiting_jobs(true);
}

#[test]
fn what_a_trusted_party_fails_on_waits_for_an_operator() {
    let mut world = World::new();
    let jobs = [0, 1].map(|_| submit_trusted(&mut world));
    let workers = [world.connect(1, "anna"), world.connect(2, "bert"), world.connect_of(9, 9, "trusted")];
    let count_for = |world: &mut World, bad: JobId| {
        for _ in 0..200 {
            workers
                .iter()
                .for_each(|id| count_or_fail(world, *id, if *id == workers[2] { bad } else { JobId(0) }));
            world.pass(HALF_A_SECOND);
        }
    };
    world.ledger.pause(world.now, jobs[0]).expect("it is open");
    count_for(&mut world, jobs[1]);
    let status = world.job(jobs[1]);
    assert_eq!((status.state, status.recounting.n_open), (JobState::Verifying, 1));
    let waits_for = status.waits_for.expect("for an operator");
    assert!(waits_for.contains("lets it try again"), "{waits_for}");
    assert_eq!(world.worker_state(workers[2]), WorkerState::Ready);
    for job in jobs {
        world.ledger.resume(world.now, job).expect("it is open");
        count_for(&mut world, jobs[1]);
    }
    world.check_done(jobs[0]);
    world.ledger.resume(world.now, jobs[1]).expect("it is open");
    count_for(&mut world, JobId(0));
    world.check_done(jobs[1]);
}

#[test]
fn a_silent_party_is_late_in_each_of_many_jobs() {
    let mut world = World::new();
    (0..4).for_each(|_| _ = submit_trusted(&mut world));
    let jobs: Vec<JobId> = (0..100).map(|_| world.submit_verified(5, 100)).collect();
    let workers = [world.connect(1, "anna"), world.connect(2, "bert")];
    let silent = [world.connect_of(9, 9, "trusted"), world.connect(3, "mallory")];
    while jobs.iter().any(|job| world.ledger.is_open(*job)) {
        workers.iter().for_each(|id| count_or_fail(&mut world, *id, JobId(0)));
        silent.iter().for_each(|id| _ = world.report(*id, None));
        world.pass(Duration::from_millis(100));
        assert!(world.now < Duration::from_secs(600));
    }
}

#[test]
fn what_the_coordinator_can_not_count_either_keeps_no_dispute_waiting() {
    let (mut world, bad) = World::with_recounts(7, 100);
    world.bad_for_coordinator = Some(bad);
    let workers = NAMES.map(|(id, name)| world.connect(id, name));
    while world.step(workers[0]) {}
    for round in 0..600 {
        if round == 300 {
            world.submit_verified(7, 100);
            world.workers.get_mut(&workers[2]).expect("connected").lie = Count { solutions: 1, work: 0 };
        }
        workers.iter().for_each(|id| count_or_fail(&mut world, *id, bad));
        world.pass(HALF_A_SECOND);
    }
    assert_eq!(world.job(bad).recounting.n_open, 1);
    assert_eq!(world.job(JobId(2)).state, JobState::Done);
    assert_eq!(world.worker_state(workers[2]), WorkerState::Blocked);
}

#[test]
fn a_record_that_nobody_counts_and_some_fail_on_is_counted_by_the_coordinator() {
    let (mut world, job) = World::with_recounts(8, 100);
    let workers @ [anna, ..] = NAMES.map(|(id, name)| world.connect(id, name));
    while world.step(anna) {}
    let silent = world.connect(4, "mallory");
    for _ in 0..600 {
        workers.iter().for_each(|id| count_or_fail(&mut world, *id, job));
        world.report(silent, None);
        world.pass(HALF_A_SECOND);
    }
    world.check_done(job);
    assert_eq!(workers.map(|id| world.worker_state(id)), [WorkerState::Ready; 3]);
    let by_coordinator = world.store.second_counts(job).filter(|it| it.source.party == Party::COORDINATOR);
    assert_eq!(by_coordinator.count(), 1);
}

/// Lets one of three workers leave, and another come, in a second pass with a subproblem on which all fail.
#[track_caller]
fn check_failing_everywhere(away: usize) {
    let mut world = World::new();
    let first = submit_twice(&mut world, 8);
    let second = world.job(first).second.expect("it has one");
    let mut workers = NAMES.map(|(id, name)| world.connect(id, name));
    while world.job(first).state != JobState::Verifying {
        workers.iter().for_each(|id| count_or_fail(&mut world, *id, second));
        world.pass(HALF_A_SECOND);
    }
    world.ledger.goodbye(world.now, workers[away]);
    world.workers.remove(&workers[away]);
    workers[away] = world.connect(4, "dora");
    for _ in 0..400 {
        workers.iter().for_each(|id| count_or_fail(&mut world, *id, second));
        world.pass(Duration::from_secs(2));
    }
    assert_eq!((world.job(second).state, world.job(second).n_given_up), (JobState::Failed, 1));
    assert_eq!(workers.map(|id| world.worker_state(id)), [WorkerState::Ready; 3]);
}

#[test]
fn who_has_failed_on_a_part_is_not_drawn_for_it_while_others_may_come() {
    (0..3).for_each(check_failing_everywhere);
}

/// Returns how many records of a job each worker made.
fn made_by(world: &World, job: JobId) -> [usize; 3] {
    let by = |name| world.store.records(job).filter(|record| record.source.name == named(name)).count();
    NAMES.map(|(_, name)| by(name))
}

#[test]
fn parts_that_a_party_counts_make_up_for_an_absence() {
    let mut world = World::new();
    let first = submit_twice(&mut world, 9);
    let workers @ [away, others @ ..] = NAMES.map(|(id, name)| world.connect(id, name));
    let second = world.job(first).second.expect("it has one");
    while made_by(&world, second).iter().sum::<usize>() == 0 {
        count_for(&mut world, 1, &workers);
    }
    let name = world.workers.remove(&away).expect("connected").name;
    world.ledger.goodbye(world.now, away);
    count_for(&mut world, 130, &others);
    world.connect(away.0, &name);
    count_for(&mut world, 1000, &workers);
    let later = [9, 10].map(|n| {
        let second = submit_twice(&mut world, n);
        count_for(&mut world, 1000, &workers);
        made_by(&world, world.job(second).second.expect("it has one"))
    });
    // A lapse would leave her a fifth.
    let [_, made] = later;
    assert!(3.8 * made[0] as f64 > made.iter().sum::<usize>() as f64, "{later:?}");
}

#[test]
fn a_party_that_comes_for_moments_keeps_no_records_waiting() {
    let (mut world, job) = World::with_recounts(9, 100);
    let [anna, bert, mallory] = NAMES.map(|(id, name)| world.connect(id, name));
    let leave = |world: &mut World, id: WorkerId| {
        world.ledger.goodbye(world.now, id);
        world.workers.remove(&id);
        world.carry_out();
    };
    while made_by(&world, job)[2] == 0 {
        world.step(mallory);
    }
    leave(&mut world, mallory);
    while world.job(job).state != JobState::Verifying {
        count_for(&mut world, 1, &[anna]);
    }
    count_for(&mut world, 2, &[anna]);
    // After a minute, Bert has lapsed on his records.
    leave(&mut world, bert);
    count_for(&mut world, 150, &[anna]);
    let workers = [anna, world.connect(4, "bert")];
    for visitor in 10..20 {
        let mallory = world.connect(visitor, "carol");
        leave(&mut world, mallory);
        count_for(&mut world, 300, &workers);
    }
    world.check_done(job);
}

#[test]
fn who_alone_counted_a_board_is_not_drawn_for_a_second_pass_that_is_asked_for_later() {
    let (mut world, job) = World::with(8);
    let anna = world.connect(1, "anna");
    while world.step(anna) {}
    world.connect(2, "bert");
    world.connect(3, "carol");
    for _ in 0..2 {
        let more = Verification { second_pass: Some(Method::Search), ..Verification::default() };
        world.ledger.verify_more(world.now, job, more, 0).expect("it is done");
        world.carry_out();
        let second = world.job(job).second.expect("it has one");
        count_for(&mut world, 20, &[anna]);
        assert_eq!(made_by(&world, second), [0; 3]);
        world.ledger.cancel(world.now, second).expect("it is open");
        world.carry_out();
    }
}

#[test]
fn an_urgent_job_does_not_wait_for_the_parties_of_a_more_urgent_one() {
    let mut world = World::new();
    let twice = submit_twice(&mut world, 9);
    world.ledger.set_priority(world.now, twice, priority(5)).expect("it is open");
    let workers = NAMES.map(|(id, name)| world.connect(id, name));
    world.connect(4, "mallory");
    let second = world.job(twice).second.expect("it has one");
    let is_idle = |world: &World| workers.iter().all(|id| world.workers[id].leases.is_empty());
    while !is_idle(&world) || world.job(second).progress.n_recorded == 0 {
        count_for(&mut world, 1, &workers);
    }
    world.submit(14);
    count_for(&mut world, 20, &workers);
    let urgent = world.submit(8);
    world.ledger.set_priority(world.now, urgent, priority(3)).expect("it is open");
    world.carry_out();
    count_for(&mut world, 3, &workers);
    assert!(world.ledger.is_open(second), "others have counted mallory's parts");
    assert!(made_by(&world, urgent).iter().sum::<usize>() > 0);
}

#[test]
fn a_part_that_failed_is_tried_again_when_an_operator_resumes_the_job() {
    let mut world = World::new();
    let first = submit_twice(&mut world, 8);
    let second = world.job(first).second.expect("it has one");
    let workers = NAMES.map(|(id, name)| world.connect(id, name));
    let [anna, bert, carol] = workers;
    while world.job(first).state != JobState::Verifying {
        workers.iter().for_each(|id| count_or_fail(&mut world, *id, second));
        world.pass(HALF_A_SECOND);
    }
    count_for(&mut world, 150, &[]);
    world.ledger.goodbye(world.now, carol);
    world.workers.remove(&carol);
    for _ in 0..300 {
        [anna, bert].iter().for_each(|id| count_or_fail(&mut world, *id, second));
        world.pass(HALF_A_SECOND);
    }
    let progress = world.job(second).progress;
    assert_eq!(progress.n_recorded + 1, progress.n_subproblems);
    world.ledger.resume(world.now, second).expect("it is open");
    count_for(&mut world, 60, &[anna, bert]);
    assert!(world.job(second).progress.n_recorded == progress.n_subproblems, "it waits for carol");
}
/// Lets honest parties that have counted leave, after an earlier visit and perhaps a broken connection, and another
/// come. That one must not be drawn soon.
#[track_caller]
fn check_latecomer(breaks: bool, has_silent: bool) {
    let (mut world, job) = World::with_recounts(9, 100);
    let anna = world.connect(1, "anna");
    let silent = has_silent.then(|| world.connect(2, "dora"));
    let names = [(3, "bert"), (4, "carol"), (5, "eve")];
    let honest = names.map(|(id, name)| world.connect(id, name));
    for _ in 0..3 {
        honest.iter().chain(&silent).for_each(|id| _ = world.step(*id));
    }
    for (id, name) in names {
        world.ledger.goodbye(world.now, WorkerId(id));
        world.connect(id, name);
    }
    count_for(&mut world, 2000, &[]);
    if breaks {
        honest.iter().for_each(|id| world.ledger.disconnect(world.now, *id));
        world.pass(HALF_A_SECOND);
        names.iter().for_each(|(id, name)| _ = world.connect(*id, name));
        count_for(&mut world, 60, &[]);
    }
    for id in honest {
        world.ledger.goodbye(world.now, id);
        world.workers.remove(&id);
    }
    while world.job(job).state != JobState::Verifying {
        count_for(&mut world, 1, &[anna]);
    }
    let late = world.connect(6, "mallory");
    count_for(&mut world, 900, &[anna, late]);
    assert!(world.store.second_counts(job).all(|it| it.source.name != named("mallory")));
}

#[test]
fn parties_that_have_left_are_waited_for() {
    check_latecomer(false, true);
    check_latecomer(true, true);
    // Half of those that are left came late.
    check_latecomer(false, false);
}

#[test]
fn another_machine_of_a_trusted_party_counts_what_one_of_them_fails_on() {
    for failing in [9, 10] {
        let mut world = World::new();
        let job = submit_trusted(&mut world);
        let others = [world.connect(1, "anna"), world.connect(2, "bert")];
        let trusted = [9, 10].map(|id| world.connect_of(9, id, &format!("trusted {id}")));
        for _ in 0..300 {
            others.iter().for_each(|id| count_or_fail(&mut world, *id, JobId(0)));
            for id in trusted {
                count_or_fail(&mut world, id, if id == WorkerId(failing) { job } else { JobId(0) });
            }
            world.pass(HALF_A_SECOND);
        }
        world.check_done(job);
    }
}
