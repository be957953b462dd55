//! Tests of jobs that count some parts of a board.

use queens_ledger::SubmissionRefusal;
use queens_ledger::store::{Coverage, Store, StoredJob};
use queens_model::{JobState, PartRange, Submission};
use queens_solver::{Choice, Method, parts_in_counting_order};

use super::world::{World, damage, size, solutions};

fn part(n: u8, method: Method, from: u32, to: u32) -> Submission {
    let parts = Some(PartRange::new(from, to).expect("not empty"));
    Submission { part_range: parts, ..Submission::new(size(n), method) }
}

/// However a board is cut into two, its parts have all its solutions together, even after a restart.
#[test]
fn parts_of_a_board_add_up_to_it() {
    for method in Method::ALL {
        let n_parts = u32::try_from(parts_in_counting_order(size(8), method).len()).expect("few");
        for cut in [1, n_parts / 2, n_parts - 1] {
            let mut world = World::new();
            let jobs = [(0, cut), (cut, n_parts)]
                .map(|(from, to)| world.submit_on(&part(8, method, from, to)).expect("there are such parts"));
            let worker = world.connect_able(1, "anna");
            world.step(worker);
            let mut world = world.restart();
            let worker = world.connect_able(2, "bert");
            while world.step(worker) {}
            let done = jobs.map(|job| world.job(job));
            assert!(done.iter().all(|job| job.state == JobState::Done && job.agrees().is_none()), "{done:?}");
            let [first, second] = done.map(|job| job.progress);
            assert_eq!(first.solutions + second.solutions, solutions(size(8)), "{method}, cut at {cut}");
            let whole = world.submit_by(8, method);
            while world.step(worker) {}
            let whole = world.job(whole).progress;
            assert_eq!(first.n_subproblems + second.n_subproblems, whole.n_subproblems);
            assert_eq!(first.work + second.work, whole.work);
            assert_eq!(first.estimated_work + second.estimated_work, whole.estimated_work);
            for (job, parts) in jobs.into_iter().zip([0..cut, cut..n_parts]) {
                let recorded = world.store.records(job).map(|record| record.span.part());
                assert!(recorded.into_iter().all(|part| parts.contains(&part)), "{parts:?}");
            }
        }
    }
}

#[test]
fn a_part_that_no_plan_has_is_refused() {
    let mut world = World::new();
    let n_parts = u32::try_from(parts_in_counting_order(size(8), Method::Search).len()).expect("few");
    let refused = world.submit_on(&part(8, Method::Search, 3, n_parts + 1));
    assert!(matches!(refused, Err(SubmissionRefusal::PartRange { .. })), "{refused:?}");
    assert_eq!(world.ledger.jobs(), []);
    world.submit_on(&part(8, Method::Search, 3, n_parts)).expect("there are such parts");
}

/// Records of another part belong to another job.
#[test]
fn a_job_with_records_outside_its_part_is_damaged() {
    let mut world = World::new();
    world.submit_on(&part(8, Method::Search, 2, 4)).expect("there are such parts");
    let mut stored = world.store.load().expect("memory");
    stored.jobs[0]
        .coverage
        .push((4, Coverage { recorded: "0..1".parse().expect("ranges"), ..Coverage::default() }));
    assert_eq!(damage(&stored).as_deref(), Some("it has records outside part 4 of its plan"));
    stored.jobs[0].coverage.clear();
    let parts = PartRange::new(2, 99).expect("not empty");
    stored.jobs[0].entry.terms.part_range = Some(parts);
    assert_eq!(damage(&stored).as_deref(), Some("it counts parts 2..99 of a plan with 30"));
}

/// Sums must not overflow, even if an attacker who can make digests has written the numbers.
#[test]
fn a_job_with_numbers_that_no_board_comes_to_is_damaged() {
    let mut world = World::new();
    world.submit_on(&Submission::new(size(8), Method::Search)).expect("there is room");
    let stored = world.store.load().expect("memory");
    let refused = |change: &dyn Fn(&mut StoredJob)| {
        let mut stored = stored.clone();
        change(&mut stored.jobs[0]);
        damage(&stored)
    };
    let choice = |stored: &mut StoredJob, change: &dyn Fn(&mut Choice)| {
        change(&mut stored.choices.as_mut().expect("a plan")[3]);
    };
    let numbers = Some("it has numbers in part 3 that no board comes to".to_owned());
    assert_eq!(refused(&|_| ()), None);
    assert_eq!(refused(&|stored| choice(stored, &|choice| choice.work = u128::MAX)), numbers);
    assert_eq!(refused(&|stored| choice(stored, &|choice| choice.n_subproblems = u64::MAX)), numbers);
    for (solutions, nodes) in [(u128::MAX, 0), (0, 1 << 80)] {
        let recorded = "0..1".parse().expect("ranges");
        let coverage = Coverage { recorded, solutions, work: nodes };
        assert_eq!(refused(&|stored| stored.coverage.push((3, coverage.clone()))), numbers);
    }
}
