use queens_solver::{Method, parts_in_counting_order};

use super::*;

static NEVER: AtomicBool = AtomicBool::new(false);

/// What a card does.
#[derive(Clone, Copy)]
enum Behaviour {
    Counts,
    Lies,
    Fails,
    Hangs,
}

use Behaviour::{Counts as CountsRight, Fails, Hangs, Lies};

/// A card that counts by the processor, and behaves as told.
struct Fake {
    behaviour: Behaviour,
    n_calls: Arc<AtomicU32>,
}

impl Counts for Fake {
    fn count(
        &mut self,
        part: &HalvesPart,
        numbers: Range<u64>,
        stop: &AtomicBool,
    ) -> Result<Option<Count>, CardError> {
        self.n_calls.fetch_add(1, Ordering::Relaxed);
        let adds = match self.behaviour {
            Fails => return Err(CardError::Driver("lost".to_owned())),
            Hangs => return Err(CardError::Hung),
            CountsRight => 0,
            Lies => 1,
        };
        let count = Part::Halves(*part).subproblems(Symmetry::IDENTITY).count(numbers, Kernel::best(), stop);
        Ok(count.map(|count| Count { solutions: count.solutions + adds, ..count }))
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        assert!(!matches!(self.behaviour, Hangs), "a card that hangs must not be closed");
    }
}

/// Returns a counter on a card whose n-th opening behaves like `behaviour(n)`, and the number of its calls.
fn counter(
    common: &Arc<Common>,
    behaviour: impl Fn(u32) -> Behaviour + Send + 'static,
) -> (Counter, Arc<AtomicU32>) {
    let n_calls = Arc::new(AtomicU32::new(0));
    let (calls, mut n_opened) = (n_calls.clone(), 0);
    let open = move |_| {
        let behaviour = behaviour(n_opened);
        n_opened += 1;
        Ok(Box::new(Fake { behaviour, n_calls: calls.clone() }) as Box<dyn Counts>)
    };
    (Counter::opened_by(CardId::Cuda(0), common.clone(), Box::new(open), Kernel::best(), 1), n_calls)
}

/// Counts the first part of n = 12 and checks it. Returns the count, and what the check says.
fn count_and_check(counter: &mut Counter, stop: &AtomicBool) -> Option<(Counted, Option<bool>)> {
    let n = BoardSize::new(12).expect("a board size");
    let part = parts_in_counting_order(n, Method::Halves)[0];
    let mut subproblems = part.subproblems(Symmetry::IDENTITY);
    let all = 0..subproblems.n_subproblems();
    let counted = counter.count(&part, &mut subproblems, all, stop)?;
    assert_eq!(counter.is_check_due(), counted.is_unchecked);
    let verdict = counter.check(stop);
    assert!(!counter.is_check_due());
    Some((counted, verdict))
}

/// Returns the count that the processor finds.
fn right(is_unchecked: bool) -> Counted {
    let n = BoardSize::new(12).expect("a board size");
    let mut subproblems = parts_in_counting_order(n, Method::Halves)[0].subproblems(Symmetry::IDENTITY);
    let count = subproblems.count(0..u64::MAX, Kernel::best(), &NEVER).expect("not stopped");
    Counted { count, is_unchecked }
}

/// Counts on one card; returns the count, whether the check was passed, whether the card goes on, and how often it was
/// called.
fn one(behaviour: impl Fn(u32) -> Behaviour + Send + 'static) -> (Counted, Option<bool>, bool, u32) {
    let (mut counter, n_calls) = counter(&Arc::default(), behaviour);
    let (counted, verdict) = count_and_check(&mut counter, &NEVER).expect("not stopped");
    (counted, verdict, counter.card.is_some(), n_calls.load(Ordering::Relaxed))
}

#[test]
fn a_cards_first_chunk_is_checked() {
    assert_eq!(one(|_| CountsRight), (right(true), Some(true), true, 2));
}

#[test]
fn a_card_that_fails_is_opened_anew() {
    assert_eq!(
        one(|opening| if opening == 0 { Fails } else { CountsRight }),
        (right(true), Some(true), true, 3)
    );
}

#[test]
fn a_card_that_fails_three_times_rests_and_the_processor_counts() {
    assert_eq!(one(|_| Fails), (right(false), Some(true), false, 3));
}

#[test]
fn a_card_that_hangs_rests_at_once_and_is_not_closed() {
    assert_eq!(one(|_| Hangs), (right(false), Some(true), false, 1));
}

#[test]
fn a_card_that_counts_wrong_fails_its_check_and_rests() {
    let (mut counter, n_calls) = counter(&Arc::default(), |_| Lies);
    let (counted, verdict) = count_and_check(&mut counter, &NEVER).expect("not stopped");
    assert!(counted != right(true) && verdict == Some(false) && counter.card.is_none());
    // The chunk is then counted by the processor.
    assert_eq!(count_and_check(&mut counter, &NEVER), Some((right(false), Some(true))));
    assert_eq!(n_calls.load(Ordering::Relaxed), 2);
}

#[test]
fn what_a_card_counted_before_it_rests_is_not_accepted() {
    let common = Arc::default();
    let (mut counter, _) = counter(&common, |_| CountsRight);
    let n = BoardSize::new(12).expect("a board size");
    let part = parts_in_counting_order(n, Method::Halves)[0];
    let counted = counter.count(&part, &mut part.subproblems(Symmetry::IDENTITY), 0..3, &NEVER);
    assert!(counted.is_some_and(|counted| counted.is_unchecked));
    common.rests.store(true, Ordering::Relaxed);
    assert_eq!(counter.check(&NEVER), Some(false));
}

#[test]
fn a_stopped_card_counts_nothing() {
    let (mut counter, n_calls) = counter(&Arc::default(), |_| CountsRight);
    assert_eq!(count_and_check(&mut counter, &AtomicBool::new(true)), None);
    assert!(counter.card.is_some() && n_calls.load(Ordering::Relaxed) == 1);
}

#[test]
fn a_card_that_one_thread_found_wrong_is_used_by_none() {
    let common = Arc::default();
    let (mut first, _) = counter(&common, |_| Lies);
    let (mut second, n_calls) = counter(&common, |_| CountsRight);
    assert!(count_and_check(&mut first, &NEVER).is_some_and(|(_, verdict)| verdict == Some(false)));
    assert_eq!(count_and_check(&mut second, &NEVER), Some((right(false), Some(true))));
    assert_eq!(n_calls.load(Ordering::Relaxed), 0);
}

/// Chunks of 1, 2 and 4 subproblems: over many checks, each of the seven is chosen about as often.
#[test]
fn every_subproblem_may_be_checked() {
    let (mut counter, _) = counter(&Arc::default(), |_| CountsRight);
    let n = BoardSize::new(12).expect("a board size");
    let part = parts_in_counting_order(n, Method::Halves)[0];
    let mut chosen = [0; 7];
    for _ in 0..700 {
        for numbers in [0..1, 1..3, 3..7] {
            counter.count(&part, &mut part.subproblems(Symmetry::IDENTITY), numbers, &NEVER);
        }
        let unchecked = counter.unchecked.take().expect("something was counted");
        assert_eq!(unchecked.of, 7);
        chosen[usize::try_from(unchecked.number).expect("small")] += 1;
    }
    assert!(chosen.iter().all(|&n| (60..160).contains(&n)), "{chosen:?}");
}
