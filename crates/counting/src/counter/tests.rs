use queens_solver::{Method, parts_in_counting_order};

use super::*;

static NEVER: AtomicBool = AtomicBool::new(false);

/// What a card does.
#[derive(Clone, Copy)]
enum Behaviour {
    CountsRight,
    Lies,
    /// Lies only of several subproblems at once.
    LiesOfMany,
    /// Finds nothing anywhere.
    IsDead,
    Fails,
    Panics,
    Hangs,
    HasNoRoom,
}

use Behaviour::{CountsRight, Fails, Hangs, HasNoRoom, IsDead, Lies, LiesOfMany, Panics};

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
            HasNoRoom => return Err(CardError::TooLittleMemory(1)),
            IsDead => return Ok(Some(Count::default())),
            Panics => panic!("as told"),
            CountsRight => 0,
            LiesOfMany => u64::from(numbers.end - numbers.start > 1),
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

fn part() -> Part {
    parts_in_counting_order(BoardSize::new(12).expect("a board size"), Method::Halves)[0]
}

/// Counts the first part of n = 12 and checks it. Returns the count, and what the check says.
fn count_and_check(counter: &mut Counter, stop: &AtomicBool) -> Result<(Counted, Option<bool>), NotCounted> {
    let mut subproblems = part().subproblems(Symmetry::IDENTITY);
    let all = 0..subproblems.n_subproblems();
    let counted = counter.count(&part(), &mut subproblems, all, stop)?;
    assert_eq!(counter.is_check_due(), counted.is_unchecked);
    let verdict = counter.check(stop);
    assert!(!counter.is_check_due());
    Ok((counted, verdict))
}

/// Returns the count that the processor finds.
fn right(is_unchecked: bool) -> Counted {
    let mut subproblems = part().subproblems(Symmetry::IDENTITY);
    let count = subproblems.count(0..u64::MAX, Kernel::best(), &NEVER).expect("not stopped");
    Counted { count, is_unchecked }
}

/// Asserts that a card with this behaviour rests after one call, and that the processor counts after it.
#[track_caller]
fn rests(behaviour: Behaviour, n_calls: u32) {
    let (mut counter, calls) = counter(&Arc::default(), move |_| behaviour);
    assert_eq!(count_and_check(&mut counter, &NEVER), Err(NotCounted::CardRests));
    assert_eq!(count_and_check(&mut counter, &NEVER), Ok((right(false), Some(true))));
    assert_eq!(calls.load(Ordering::Relaxed), n_calls);
}

/// Asserts that a card that counts like this fails its first check, and that the processor counts what it had counted.
#[track_caller]
fn fails_its_check(behaviour: Behaviour) {
    let (mut counter, _) = counter(&Arc::default(), move |_| behaviour);
    let (counted, verdict) = count_and_check(&mut counter, &NEVER).expect("counts");
    assert!(counted != right(true) && verdict == Some(false) && counter.card.is_none());
    assert_eq!(count_and_check(&mut counter, &NEVER), Ok((right(false), Some(true))));
}

#[test]
fn a_cards_first_chunk_is_checked() {
    let (mut counter, n_calls) = counter(&Arc::default(), |_| CountsRight);
    assert_eq!(count_and_check(&mut counter, &NEVER), Ok((right(true), Some(true))));
    // It counts four spans: the chunk, the checked subproblem, the subproblems before it, and those after it.
    assert!(counter.card.is_some() && n_calls.load(Ordering::Relaxed) == 4);
}

#[test]
fn a_card_that_fails_or_panics_is_opened_anew() {
    for behaviour in [Fails, Panics] {
        let (mut counter, _) =
            counter(&Arc::default(), move |opening| if opening == 0 { behaviour } else { CountsRight });
        assert_eq!(count_and_check(&mut counter, &NEVER), Ok((right(true), Some(true))));
    }
}

#[test]
fn a_card_that_fails_three_times_rests_and_the_processor_counts() {
    rests(Fails, 3);
}

#[test]
fn a_card_that_hangs_rests_at_once_and_is_not_closed() {
    rests(Hangs, 1);
    // Nor by another thread that has it open.
    let common = Arc::default();
    let (mut first, _) = counter(&common, |_| Hangs);
    let (mut second, _) = counter(&common, |_| CountsRight);
    assert!(count_and_check(&mut second, &NEVER).is_ok());
    assert!(second.card.as_ref().is_some_and(|card| card.open.is_some()));
    assert_eq!(count_and_check(&mut first, &NEVER), Err(NotCounted::CardRests));
    assert!(common.hangs.load(Ordering::Relaxed));
    if let Some(card) = &mut second.card {
        card.open = Some((part_size(), Box::new(Fake { behaviour: Hangs, n_calls: Arc::default() })));
    }
    assert_eq!(count_and_check(&mut second, &NEVER), Err(NotCounted::CardRests));
    assert!(second.card.is_none());
}

fn part_size() -> BoardSize {
    BoardSize::new(12).expect("a board size")
}

#[test]
fn a_board_that_a_card_has_no_room_for_is_left_to_the_processor_and_others_are_not() {
    let (mut counter, n_calls) =
        counter(&Arc::default(), |opening| if opening == 0 { HasNoRoom } else { CountsRight });
    assert_eq!(count_and_check(&mut counter, &NEVER), Err(NotCounted::CardRests));
    assert_eq!(count_and_check(&mut counter, &NEVER), Ok((right(false), Some(true))));
    assert_eq!(n_calls.load(Ordering::Relaxed), 1);
    let larger = BoardSize::new(13).expect("a board size");
    assert!(!counter.opens_card(part_size(), Method::Halves, &NEVER));
    assert!(counter.opens_card(larger, Method::Halves, &NEVER));
}

#[test]
fn a_card_that_counts_wrong_fails_its_check_and_rests() {
    fails_its_check(Lies);
    fails_its_check(LiesOfMany);
    // Several subproblems of n = 12 hold nothing, so that a card that finds nothing must be asked for others.
    (0..50).for_each(|_| fails_its_check(IsDead));
}

#[test]
fn what_a_card_counted_before_it_rests_is_not_accepted() {
    let common = Arc::default();
    let (mut counter, _) = counter(&common, |_| CountsRight);
    let counted = counter.count(&part(), &mut part().subproblems(Symmetry::IDENTITY), 0..3, &NEVER);
    assert!(counted.is_ok_and(|counted| counted.is_unchecked));
    common.rests.store(true, Ordering::Relaxed);
    assert_eq!(counter.check(&NEVER), Some(false));
}

#[test]
fn a_card_that_fails_again_and_again_rests_though_it_counts_between() {
    let after = |n_failures| {
        let (mut counter, _) =
            counter(&Arc::default(), |opening| if opening == 0 { Fails } else { CountsRight });
        let card = counter.card.as_mut().expect("a card");
        card.failures = vec![Instant::now(); n_failures];
        count_and_check(&mut counter, &NEVER)
    };
    assert_eq!(after(MOST_FAILURES_AN_HOUR - 2), Ok((right(true), Some(true))));
    assert_eq!(after(MOST_FAILURES_AN_HOUR - 1), Err(NotCounted::CardRests));
}

#[test]
fn a_stopped_card_counts_nothing() {
    let (mut counter, n_calls) = counter(&Arc::default(), |_| CountsRight);
    assert_eq!(count_and_check(&mut counter, &AtomicBool::new(true)), Err(NotCounted::Stopped));
    assert!(counter.card.is_some() && n_calls.load(Ordering::Relaxed) == 1);
}

#[test]
fn a_card_that_one_thread_found_wrong_is_used_by_none() {
    let common = Arc::default();
    let (mut first, _) = counter(&common, |_| Lies);
    let (mut second, n_calls) = counter(&common, |_| CountsRight);
    assert!(count_and_check(&mut first, &NEVER).is_ok_and(|(_, verdict)| verdict == Some(false)));
    assert_eq!(count_and_check(&mut second, &NEVER), Err(NotCounted::CardRests));
    // The operators are told once.
    let told = [&mut first, &mut second].map(Counter::take_notice);
    let told: Vec<String> = told.into_iter().flatten().collect();
    assert!(matches!(&told[..], [one] if one.contains("cuda:0 counted n = 12 wrong")), "{told:?}");
    assert_eq!(n_calls.load(Ordering::Relaxed), 0);
}

/// Chunks of 1, 2 and 4 subproblems: each chunk is chosen in proportion to its length.
#[test]
fn every_subproblem_may_be_checked() {
    let (mut counter, _) = counter(&Arc::default(), |_| CountsRight);
    let mut chosen = [0; 4];
    for _ in 0..700 {
        for numbers in [0..1, 1..3, 3..7] {
            let counted =
                counter.count(&part(), &mut part().subproblems(Symmetry::IDENTITY), numbers, &NEVER);
            assert!(counted.is_ok());
        }
        let unchecked = counter.unchecked.take().expect("something was counted");
        assert_eq!(unchecked.of, 7);
        chosen[usize::try_from(unchecked.numbers.start).expect("small")] += 1;
    }
    assert!((60..150).contains(&chosen[0]) && (150..260).contains(&chosen[1]), "{chosen:?}");
}
