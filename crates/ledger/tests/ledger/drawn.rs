//! Tests that what was drawn for a party goes to another only by another draw.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use queens_model::{Delta, Held, Hello, JobId, JobState, Submission, WorkerId};
use queens_solver::{Method, Span};

use super::world::{World, size};

const NAMES: [(u64, &str); 3] = [(1, "anna"), (2, "bert"), (3, "carol")];

/// Returns a world with a second pass of a board, its workers, and the job. Counting a subproblem takes this long. The
/// first of the workers holds this many spans of it, or more.
fn second_pass(time: Duration, n_held: usize) -> (World, [WorkerId; 3], JobId) {
    let mut world = World::new();
    let twice = Submission { second_pass: Some(Method::Search), ..Submission::new(size(10), Method::Search) };
    let first = world.submit_on(&twice).expect("it is taken");
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

#[test]
fn spans_that_were_drawn_stay_with_a_party_that_has_lost_its_connection() {
    let (mut world, [away, others @ ..], job) = second_pass(Duration::from_secs(5), 4);
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
    world.pass(Duration::from_secs(1));
    let name = world.workers.remove(&away).expect("connected").name;
    _ = world.connect_saying(away.0, &name, |hello| Hello { held: held_leases, ..hello });
    // The others are idle after that, and the time of its leases is not over.
    for _ in 0..50 {
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
fn a_party_that_is_away_for_less_than_a_minute_keeps_what_was_drawn_for_it() {
    let (mut world, job) = World::with_recounts(8, 100);
    let workers = NAMES.map(|(id, name)| world.connect(id, name));
    while world.job(job).state != JobState::Verifying {
        workers.iter().for_each(|id| _ = world.step(*id));
    }
    let [away, others @ ..] = workers;
    world.ledger.disconnect(world.now, away);
    world.workers.remove(&away);
    let n_pending = |world: &World| world.job(job).recounting.n_open;
    let after = |world: &mut World, seconds: u32| {
        for _ in 0..seconds {
            exhaust(world, &others);
            world.pass(Duration::from_secs(1));
        }
        n_pending(world)
    };
    let kept = after(&mut world, 10);
    assert!(kept > 0, "others have its records");
    assert_eq!(after(&mut world, 30), kept);
    assert_eq!(after(&mut world, 20), 0);
    world.check_done(job);
}
