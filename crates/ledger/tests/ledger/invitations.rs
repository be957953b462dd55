//! Tests that names of one invitation neither confirm nor outvote each other, and that suspicion concerns all of them.

use std::time::Duration;

use queens_ledger::store::{Store, Stored};
use queens_ledger::{Ledger, MOST_THREADS_IN_ALL, Run, Verification, WorkerRefusal};
use queens_model::{
    Arbiter, HalvesSkill, Hello, JobId, JobState, Party, Share, Speed, Submission, WorkerId, WorkerState,
};
use queens_solver::{Count, DECOMPOSITION_VERSION, Method};

use super::world::{World, named, size, solutions};

const MORE: Count = Count { solutions: 1, work: 0 };

/// Connects workers of one invitation, with these names and numbers from `first`, which report too many solutions.
fn liars(world: &mut World, first: u64, names: &[&str]) -> Vec<WorkerId> {
    let ids = first..first + names.len() as u64;
    let workers: Vec<WorkerId> = ids.zip(names).map(|(id, name)| world.connect_of(9, id, name)).collect();
    for worker in &workers {
        world.workers.get_mut(worker).expect("connected").lie = MORE;
    }
    workers
}

#[track_caller]
fn check_waits(world: &World, job: JobId, expected: &str) {
    let status = world.job(job);
    assert_eq!((status.state, status.n_verified), (JobState::Verifying, 0));
    let waits_for = status.waits_for.expect("for somebody");
    assert!(waits_for.starts_with("a worker of another invitation than 'mallory"), "{waits_for}");
    assert!(waits_for.contains(expected), "{waits_for}");
}

#[test]
fn one_invitation_confirms_nothing_by_a_second_name() {
    let (mut world, job) = World::with_recounts(7, 100);
    liars(&mut world, 1, &["mallory-1", "mallory-2", "mallory-3"]);
    world.finish();
    check_waits(&world, job, "a second invitation is needed");
    assert_eq!(world.store.second_counts(job).count(), 0);

    // Two others outvote all its names. These are blocked together, and so are later ones.
    world.connect_of(1, 10, "anna");
    world.connect_of(2, 11, "bert");
    world.finish();
    let status = world.job(job);
    assert_eq!((status.state, status.progress.solutions), (JobState::Done, solutions(status.n)));
    world.check_total(job);
    let later = world.connect_of(9, 12, "innocence");
    for id in [WorkerId(1), WorkerId(2), WorkerId(3), later] {
        assert_eq!(world.worker_state(id), WorkerState::Blocked, "{id}");
        let told = world.workers[&id].notices.last().expect("told why");
        assert!(told.starts_with("all workers of this one's invitation are blocked"), "{told}");
    }
    for id in [WorkerId(10), WorkerId(11)] {
        assert_eq!(world.worker_state(id), WorkerState::Ready);
    }
    let told = world.ledger.workers().into_iter().find(|it| it.id == later).and_then(|it| it.failure);
    let told = told.expect("why it is blocked");
    assert!(told.contains("of its invitation counted") && told.contains("and 'coordinator' agree"), "{told}");
    // One of the names that lost is listed, and any of them clears the invitation.
    assert_eq!(world.ledger.blocked().count(), 1);
    let mut world = world.restart();
    let later = world.connect_of(9, 12, "innocence");
    assert_eq!(world.worker_state(later), WorkerState::Blocked, "as before the restart");
    assert_eq!(world.ledger.unblock(world.now, &named("innocence")), Ok(1));
    assert_eq!((world.worker_state(later), world.ledger.blocked().count()), (WorkerState::Ready, 0));
    world.carry_out();
    assert!(world.store.load().expect("memory").blocked.is_empty());
}

#[test]
fn names_of_one_invitation_do_not_outvote_another() {
    let (mut world, job) = World::with_recounts(7, 100);
    world.connect_of(1, 1, "anna");
    world.finish();
    // The names of a liar agree with each other, and nothing comes of it.
    let workers = liars(&mut world, 2, &["mallory-1", "mallory-2", "mallory-3"]);
    world.finish();
    let status = world.job(job);
    assert!(status.n_disputed > 0, "{status:?}");
    assert_eq!((status.state, world.worker_state(WorkerId(1))), (JobState::Verifying, WorkerState::Ready));
    assert!(workers.iter().all(|worker| world.worker_state(*worker) == WorkerState::Blocked));
    world.connect_of(2, 10, "bert");
    world.finish();
    let status = world.job(job);
    assert_eq!((status.state, status.progress.solutions), (JobState::Done, solutions(status.n)));
    assert_eq!(world.worker_state(WorkerId(1)), WorkerState::Ready);
    for verdict in world.store.verdicts(job) {
        assert_eq!(verdict.lost_source.party, Party::from_bytes([9; 16]));
    }
}

#[test]
fn an_invitation_that_counts_both_passes_is_checked_by_another() {
    let mut world = World::new();
    let asked = Submission { second_pass: Some(Method::Search), ..Submission::new(size(7), Method::Search) };
    let first = world.submit_on(&asked).expect("it is taken");
    let [one, two] = liars(&mut world, 1, &["mallory-1", "mallory-2"])[..] else { panic!("two") };
    // One name counts the first pass, the other the second.
    while world.step(one) && world.job(first).progress.n_recorded < world.job(first).progress.n_subproblems {}
    world.ledger.drain(world.now, &named("mallory-1")).expect("it is there");
    world.carry_out();
    while world.step(one) || world.step(two) {}
    world.finish();
    let second = world.job(first).second.expect("there is one");
    let status = world.job(second);
    assert_eq!(status.state, JobState::Verifying, "{status:?}");

    world.connect_of(1, 10, "anna");
    world.connect_of(2, 11, "bert");
    world.finish();
    for job in [first, second] {
        let status = world.job(job);
        assert_eq!((status.state, status.progress.solutions), (JobState::Done, solutions(status.n)));
    }
}

/// The converse: one name that belongs to two invitations, one after the other, is two parties.
#[test]
fn a_name_that_was_given_to_another_invitation_is_another_party() {
    let (mut world, job) = World::with_recounts(7, 100);
    world.connect_of(1, 1, "rack");
    world.finish();
    let mut world = world.restart();
    world.connect_of(2, 2, "rack");
    world.finish_job(job);
}

/// An operator blocks a name: others of the invitation go on.
#[test]
fn an_operator_blocks_a_name_alone() {
    let mut world = World::new();
    world.submit(7);
    let [one, two] = [(1, "rack-1"), (2, "rack-2")].map(|(id, name)| world.connect_of(1, id, name));
    world.ledger.block(world.now, &named("rack-1"));
    assert_eq!([one, two].map(|id| world.worker_state(id)), [WorkerState::Blocked, WorkerState::Ready]);
}

/// A party is suspect, and an operator has blocked one of its names: clearing the party leaves the block.
#[test]
fn a_block_by_an_operator_outlasts_the_suspicion() {
    let (mut world, job) = World::with_recounts(7, 100);
    liars(&mut world, 1, &["mallory-1"]);
    world.finish();
    world.connect_of(1, 10, "anna");
    world.connect_of(2, 11, "bert");
    world.finish();
    assert_eq!(world.job(job).state, JobState::Done);
    let other = world.connect_of(9, 12, "mallory-2");
    world.ledger.block(world.now, &named("mallory-2"));
    let party = named(&Party::from_bytes([9; 16]).to_string());
    assert_eq!(
        world.ledger.unblock(world.now, &party),
        Ok(2),
        "an invitation may be cleared by its identity"
    );
    assert_eq!(world.worker_state(WorkerId(1)), WorkerState::Ready);
    assert_eq!(world.worker_state(other), WorkerState::Blocked);
    assert_eq!(world.ledger.unblock(world.now, &named("mallory-2")), Ok(1));
    assert_eq!(world.worker_state(other), WorkerState::Ready);
}

fn arbiter() -> Arbiter {
    Arbiter { party: Party::from_bytes([7; 16]), invitation: Some(7) }
}

/// Two colluders confirm each other, unless only a trusted party recounts.
#[test]
fn colluders_do_not_confirm_each_other_where_an_arbiter_counts_again() {
    let mut world = World::new();
    let recount_by = Some(arbiter());
    let asked =
        Submission { recount: Some(Share::ALL), recount_by, ..Submission::new(size(7), Method::Search) };
    let job = world.submit_on(&asked).expect("it is taken");
    for (party, id, name) in [(8, 1, "mallory"), (9, 2, "mario")] {
        let worker = world.connect_of(party, id, name);
        world.workers.get_mut(&worker).expect("connected").lie = MORE;
    }
    world.connect_of(1, 3, "anna");
    world.finish();
    let status = world.job(job);
    assert_eq!((status.state, status.n_verified), (JobState::Verifying, 0), "nobody else counts again");
    let waits_for = status.waits_for.expect("for somebody");
    assert!(waits_for.starts_with("a worker of invitation 7 that can count by search"), "{waits_for}");

    // Others who could count it are there, and idle.
    world.connect_of(7, 4, "mine");
    world.finish();
    let recounted = world.store.second_counts(job).filter(|it| it.source.party == arbiter().party).count();
    assert_eq!(recounted, world.store.records(job).count());
    // If the arbiter has contradicted a record, others count until one agrees with it.
    for (party, id, name) in [(8, 5, "mallory"), (9, 6, "mario"), (1, 7, "anna"), (2, 8, "bert")] {
        let worker = world.connect_of(party, id, name);
        let lie = if party > 2 { MORE } else { Count::default() };
        world.workers.get_mut(&worker).expect("connected").lie = lie;
    }
    world.finish();
    let status = world.job(job);
    assert_eq!((status.state, status.progress.solutions), (JobState::Done, solutions(status.n)));
    world.check_total(job);
    assert!(world.store.verdicts(job).all(|verdict| verdict.lost_source.party >= Party::from_bytes([8; 16])));
}

/// What a trusted party has confirmed counts for nothing once it is wrong, until another is named in its place.
#[test]
fn an_arbiter_that_lies_is_replaced() {
    let mut world = World::new();
    let asked = Submission {
        recount: Some(Share::ALL),
        recount_by: Some(arbiter()),
        ..Submission::new(size(7), Method::Search)
    };
    let job = world.submit_on(&asked).expect("it is taken");
    let anna = world.connect_of(1, 1, "anna");
    while world.job(job).state != JobState::Verifying {
        assert!(world.step(anna));
    }
    let mallory = world.connect_of(7, 2, "mallory");
    world.connect_of(2, 3, "bert");
    while world.job(job).n_verified < 3 {
        world.step(mallory);
    }
    world.workers.get_mut(&mallory).expect("connected").lie = MORE;
    world.finish();
    assert_eq!(world.worker_state(mallory), WorkerState::Blocked);
    let waits_for = world.job(job).waits_for.expect("for another arbiter");
    assert!(waits_for.contains("name another by 'queens verify-more 1 --recount-by PARTY'"), "{waits_for}");
    let anna = Arbiter { party: Party::from_bytes([1; 16]), invitation: Some(1) };
    let more = Verification { recount_by: Some(anna), ..Verification::default() };
    world.ledger.verify_more(world.now, job, more, 0).expect("it is open");
    world.carry_out();
    world.finish();
    assert_eq!(world.job(job).state, JobState::Done);
    world.check_total(job);
    assert!(world.store.verdicts(job).all(|verdict| verdict.lost_source.party == arbiter().party));
}

/// Others recount the arbiter's own records, and an arbiter may be named later.
#[test]
fn an_arbiter_may_be_named_later_and_is_confirmed_by_others() {
    let (mut world, job) = World::with_recounts(7, 100);
    world.connect_of(1, 1, "anna");
    world.connect_of(7, 2, "mine");
    world.finish_job(job);
    let n_before = world.store.second_counts(job).count();
    let more = Verification { recount_by: Some(arbiter()), ..Verification::default() };
    world.ledger.verify_more(world.now, job, more, 0).expect("it is done");
    world.carry_out();
    world.finish_job(job);
    assert_eq!(world.store.second_counts(job).count(), n_before, "it has agreed on all of it already");

    let other = Arbiter { party: Party::from_bytes([5; 16]), invitation: Some(5) };
    let more = Verification { recount_by: Some(other), ..Verification::default() };
    world.ledger.verify_more(world.now, job, more, 0).expect("it is done");
    world.carry_out();
    world.finish();
    assert_eq!(world.job(job).state, JobState::Verifying);
    world.connect_of(5, 3, "other");
    world.finish_job(job);
    let n_records = world.store.records(job).count();
    assert_eq!(world.store.second_counts(job).count(), n_before + n_records);
}

/// Claiming unproven threads costs nothing.
#[test]
fn one_invitation_that_claims_all_threads_keeps_nobody_out() {
    let mut ledger = Ledger::restore(Stored::default(), Run::new(1)).expect("nothing contradicts");
    let mut connect = |number: u64, party: u8, n_threads: u32| {
        let hello = Hello {
            worker: WorkerId(number),
            name: named(&format!("worker-{number}")),
            build: named("0"),
            kernel: named("portable"),
            n_threads,
            speed: Speed::from(1),
            decomposition: DECOMPOSITION_VERSION,
            halves: HalvesSkill { decomposition: 0, speed: Speed::ZERO },
            machine: number,
            held: Vec::new(),
        };
        ledger.connect(Duration::ZERO, hello, Party::from_bytes([party; 16]))
    };
    let full = |found| Err(WorkerRefusal::Full { found });
    let n_greedy = (1..).take_while(|number| connect(*number, 1, 1000).is_ok()).count();
    assert_eq!(n_greedy, 468, "of {MOST_THREADS_IN_ALL} threads");
    assert_eq!(connect(1001, 1, 1000), full(1000));
    // Others get the threads that are reserved for them, and then the rest.
    assert_eq!(connect(1002, 2, 4000), Ok(()));
    assert_eq!(connect(1003, 3, 4000), Ok(()));
    // A known worker comes again, and is not counted twice.
    assert_eq!(connect(1, 1, 500), Ok(()));
    for number in 2000..2024 {
        assert_eq!(connect(number, 4, 1000), Ok(()), "{number}");
    }
    assert_eq!(connect(2024, 4, 1000), full(1000));
    assert_eq!(connect(2025, 5, 500), Ok(()));
    assert_eq!(connect(2026, 5, 1), full(1));
}
