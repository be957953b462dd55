//! Tests of the defaults of a submission, and of the confirmation that expensive jobs need.

use queens_ledger::SubmissionRefusal;
use queens_model::{Share, Submission};
use queens_solver::Method;

use crate::world::{World, size};

fn unsaid(n: u8) -> Submission {
    Submission { recount: None, confirmed: false, ..Submission::new(size(n), Method::Search) }
}

#[test]
fn a_per_cent_is_counted_again_if_two_parties_can_do_it_or_nobody_is_there_yet() {
    let mut world = World::new();
    let recount = |world: &mut World, asked: &Submission| {
        let job = world.submit_on(asked).expect("it is taken");
        world.job(job).terms.recount
    };
    assert_eq!(recount(&mut world, &unsaid(20)), Share::PERCENT, "nobody is there yet");
    world.connect(1, "anna");
    assert_eq!(recount(&mut world, &unsaid(20)), Share::NOTHING, "nobody could count anna's work again");
    let said = Submission { recount: Some(Share::PERCENT), ..unsaid(20) };
    assert_eq!(recount(&mut world, &said), Share::PERCENT, "somebody has said so");
    world.connect(2, "bert");
    assert_eq!(recount(&mut world, &unsaid(20)), Share::PERCENT);
    assert_eq!(recount(&mut world, &unsaid(19)), Share::NOTHING, "it is over soon");
    world.ledger.block(world.now, &"bert".parse().expect("a name"));
    assert_eq!(recount(&mut world, &unsaid(20)), Share::NOTHING, "bert gets no work");
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
