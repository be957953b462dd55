//! Tests that counts that come in one batch with a draw of records change each record once.

use std::time::Duration;

use queens_ledger::SpanOutcome;
use queens_model::{Delta, Held, JobId, JobState, Report, WorkerId};
use queens_solver::Count;

use super::belief::say;
use super::world::{World, solutions};

/// Lets workers of these names, one after the other, take a lease and vanish. Returns what each began, all the same.
fn begin_and_vanish(world: &mut World, names: &[&str]) -> Vec<Delta> {
    let begin = |(id, name): (u64, &&str)| {
        let id = world.connect(id, name);
        let delta = world.begin(id).expect("it has something");
        world.ledger.disconnect(world.now, id);
        world.workers.remove(&id);
        world.pass(Duration::from_secs(10));
        delta
    };
    let late: Vec<Delta> = (1..).zip(names).map(begin).collect();
    assert!(late.iter().all(|delta| delta.span == late[0].span), "{late:?}");
    late
}

/// Lets a worker come back, with what it had begun.
fn come_back(world: &mut World, id: u64, name: &str, late: &Delta) -> WorkerId {
    let held = Held { lease: late.lease, job: late.job, spans: vec![late.span] };
    world.connect_with(id, name, vec![held])
}

pub(crate) fn leave(world: &mut World, id: WorkerId) {
    world.ledger.goodbye(world.now, id);
    world.workers.remove(&id);
    world.carry_out();
}

/// Repeats a count in the batch of the next draw.
fn repeat_beside_a_draw(world: &mut World, id: WorkerId, delta: Delta) {
    let report = Report { sequence: 5000, deltas: vec![delta], finished: Vec::new() };
    let outcomes = world.ledger.report(world.now, id, &report).expect("in order");
    assert_eq!(outcomes, [SpanOutcome::Repeated]);
    world.ledger.tick(world.now);
    world.carry_out();
}

/// Lets all workers count to the end of a job. Its total must be right.
#[track_caller]
fn finish(world: &mut World, job: JobId) {
    world.finish();
    let status = world.job(job);
    assert_eq!((status.state, status.progress.solutions), (JobState::Done, solutions(status.n)));
    world.check_total(job);
}

/// Lets workers report all first counts of a job, without a tick.
fn count_first(world: &mut World, ids: [WorkerId; 2], job: JobId) {
    while world.job(job).progress.n_recorded < world.job(job).progress.n_subproblems {
        let begun = ids.map(|id| (id, world.begin(id)));
        assert!(begun.iter().any(|(_, delta)| delta.is_some()), "nobody has anything to count");
        begun.into_iter().for_each(|(id, delta)| _ = world.report(id, delta));
    }
}

#[test]
fn a_record_that_a_draw_finds_while_it_is_replaced_is_replaced_once() {
    let mut world = World::new();
    let job = world.submit_verified(6, 0);
    let late = begin_and_vanish(&mut world, &["mallory", "anna", "quinn"]);
    world.ledger.pause(world.now, job).expect("it is open");
    world.carry_out();
    // Mallory is found out in another job.
    let other = world.submit_verified(6, 100);
    let mallory = world.connect(4, "mallory");
    let mut lie = world.begin(mallory).expect("it has something");
    lie.count.solutions += 1;
    world.report(mallory, Some(lie));
    let [dora, eve] = [(5, "dora"), (6, "eve")].map(|(id, name)| world.connect(id, name));
    finish(&mut world, other);
    assert_eq!(world.ledger.blocked().collect::<Vec<_>>(), ["mallory"]);
    leave(&mut world, eve);
    // Her lie is recorded late, and one party contradicts it.
    let [mut lie, second, third] = [late[0], late[1], late[2]];
    lie.count.solutions += 1;
    let mallory = come_back(&mut world, 1, "mallory", &lie);
    assert_eq!(say(&mut world, mallory, vec![lie]), [SpanOutcome::Recorded]);
    let anna = come_back(&mut world, 2, "anna", &second);
    assert_eq!(say(&mut world, anna, vec![second]), [SpanOutcome::Repeated]);
    leave(&mut world, anna);
    let quinn = come_back(&mut world, 3, "quinn", &third);
    world.ledger.resume(world.now, job).expect("it is paused");
    world.carry_out();
    count_first(&mut world, [dora, quinn], job);
    repeat_beside_a_draw(&mut world, quinn, third);
    finish(&mut world, job);
}

#[test]
fn records_of_a_suspect_are_drawn_although_he_is_exposed_during_the_draw() {
    let mut world = World::new();
    let job = world.submit_verified(6, 100);
    let late = begin_and_vanish(&mut world, &["mallory", "oscar"]);
    let anna = world.connect(3, "anna");
    while world.job(job).state != JobState::Verifying {
        assert!(world.step(anna));
    }
    let bert = world.connect(4, "bert");
    finish(&mut world, job);
    let mut lie = late[0];
    lie.count.solutions += 1;
    let mallory = come_back(&mut world, 1, "mallory", &lie);
    assert_eq!(say(&mut world, mallory, vec![lie]), [SpanOutcome::Repeated]);
    finish(&mut world, job);
    [anna, bert].into_iter().for_each(|id| leave(&mut world, id));
    // Oscar falsifies another job. His false count for the first job comes in one batch with the other job's draw.
    let other = world.submit_verified(7, 0);
    let mut lie = late[1];
    lie.count.solutions += 2;
    let oscars = [world.connect(10, "oscar"), come_back(&mut world, 2, "oscar", &lie)];
    for id in oscars {
        world.workers.get_mut(&id).expect("connected").lie = Count { solutions: 1, work: 0 };
    }
    count_first(&mut world, oscars, other);
    repeat_beside_a_draw(&mut world, oscars[1], lie);
    [(20, "carol"), (21, "dora")].into_iter().for_each(|(id, name)| _ = world.connect(id, name));
    finish(&mut world, other);
    assert_eq!(world.ledger.blocked().collect::<Vec<_>>(), ["mallory", "oscar"]);
}
