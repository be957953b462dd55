//! Tests of the defaults of a submission, and of the confirmation that expensive jobs need.

use queens_ledger::SubmissionRefusal;
use queens_model::{Share, Submission};
use queens_solver::Method;

use crate::world::{World, priority, size};

fn unsaid(n: u8) -> Submission {
    Submission { recount: None, confirmed: false, ..Submission::new(size(n), Method::Search) }
}

/// Also with one party, whose records wait for a second one then.
#[test]
fn a_per_cent_of_a_large_board_is_recounted_whoever_is_there() {
    let mut world = World::new();
    let recount = |world: &mut World, asked: &Submission| {
        let job = world.submit_on(asked).expect("it is taken");
        (job, world.job(job).terms.recount)
    };
    assert_eq!(recount(&mut world, &unsaid(20)).1, Share::PERCENT);
    assert_eq!(recount(&mut world, &unsaid(19)).1, Share::NOTHING);
    let nothing = Submission { recount: Some(Share::NOTHING), ..unsaid(20) };
    assert_eq!(recount(&mut world, &nothing).1, Share::NOTHING, "somebody has said so");
    let anna = world.connect(1, "anna");
    let (job, share) = recount(&mut world, &unsaid(20));
    assert_eq!(share, Share::PERCENT);
    let waits_for = |world: &World| world.job(job).waits_for.unwrap_or_default();
    world.ledger.set_priority(world.now, job, priority(1)).expect("it is open");
    world.carry_out();
    assert!(world.step(anna));
    assert!(waits_for(&world).starts_with("a second party"), "{}", waits_for(&world));
    world.connect(2, "bert");
    assert_eq!(waits_for(&world), "");
}

#[test]
fn what_takes_core_years_is_taken_only_if_somebody_says_that_it_is_meant() {
    let mut world = World::new();
    for (n, method) in [(26, Method::Search), (28, Method::Halves)] {
        let asked = Submission { method, ..unsaid(n) };
        let refused = world.submit_on(&asked).expect_err("nobody has said so");
        assert_eq!(refused, SubmissionRefusal::Expensive { n: size(n), method });
        _ = world.submit_on(&Submission { confirmed: true, ..asked }).expect("somebody has said so");
    }
    _ = world.submit_on(&unsaid(25)).expect("it takes less than a year");
}
