//! Counts on a device of OpenCL, here usually the processor by PoCL, beside the CPU's join.
//!
//! Without OpenCL they are skipped; `.ci/tools` installs PoCL.

#[path = "../../../tests/src/skip.rs"]
#[allow(dead_code, unreachable_pub, reason = "used by other tests")]
mod skip;

mod simulation;

use std::env;
use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use queens_solver::{
    BoardSize, Count, HalvesPart, Kernel, Method, Part, SplitMix, Symmetry, parts_in_counting_order,
};

use crate::device::{Device, Stage, all_stages};
use crate::opencl::OpenCl;
use crate::shape::Shape;
use crate::{Card, CardError, CardId, CardInfo, cards};

static NEVER: AtomicBool = AtomicBool::new(false);

/// A card that no other test uses at the same time: PoCL crashes if several threads call it at once.
struct Locked(Card, #[expect(dead_code, reason = "held as long as the card")] MutexGuard<'static, ()>);

impl Deref for Locked {
    type Target = Card;

    fn deref(&self) -> &Card {
        &self.0
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut Card {
        &mut self.0
    }
}

/// Returns a card of OpenCL for a board; `None` if there is none here.
fn card(n: u8) -> Option<Locked> {
    // Other processes use memory, too.
    card_with(n, 8)
}

/// Returns a card with one `share`th of the device's memory.
fn card_with(n: u8, share: u64) -> Option<Locked> {
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_opencl = |card: &&CardInfo| matches!(card.id, CardId::OpenCl(_));
    let Some(here) = cards().iter().find(is_opencl).map(|card| card.id) else {
        skip::skipped("counting by a card, as there is no OpenCL");
        return None;
    };
    Some(Locked(here.open(size(n), share).expect("opens"), one))
}

fn size(n: u8) -> BoardSize {
    BoardSize::new(n).expect("a board size")
}

fn halves(n: u8) -> Vec<(Part, HalvesPart)> {
    let parts = parts_in_counting_order(size(n), Method::Halves).into_iter();
    parts
        .filter_map(|part| if let Part::Halves(halves) = part { Some((part, halves)) } else { None })
        .collect()
}

fn on_card(card: &mut Card, part: &HalvesPart, numbers: Range<u64>) -> Count {
    card.count(part, numbers, &NEVER).expect("counts").expect("nobody stops it")
}

fn on_cpu(part: &Part, numbers: Range<u64>) -> Count {
    part.subproblems(Symmetry::IDENTITY).count(numbers, Kernel::best(), &NEVER).expect("nobody stops it")
}

/// Counts a whole board, each part beside the CPU.
#[track_caller]
fn check_board(n: u8, solutions: u128) {
    let Some(mut card) = card(n) else { return };
    check_board_on(&mut card, n, solutions);
}

#[track_caller]
pub(crate) fn check_board_on(card: &mut Card, n: u8, solutions: u128) {
    let mut sum = 0;
    for (part, halves) in halves(n) {
        let all = 0..part.subproblems(Symmetry::IDENTITY).n_subproblems();
        let count = on_card(card, &halves, all.clone());
        assert_eq!(count, on_cpu(&part, all), "{part:?}");
        sum += u128::from(halves.weight()) * u128::from(count.solutions);
    }
    assert_eq!(sum, solutions);
}

/// Counts random spans beside the CPU.
#[track_caller]
fn check_spans(n: u8, lengths: &[u64]) {
    let Some(mut card) = card(n) else { return };
    check_spans_on(&mut card, n, lengths);
}

#[track_caller]
pub(crate) fn check_spans_on(card: &mut Card, n: u8, lengths: &[u64]) {
    let (parts, mut random) = (halves(n), SplitMix::new(n.into()));
    for &length in lengths {
        let (part, halves) = &parts[random.below(parts.len())];
        let n_subproblems = part.subproblems(Symmetry::IDENTITY).n_subproblems();
        let from = random.next() % n_subproblems;
        let span = from..from + length;
        assert_eq!(on_card(card, halves, span.clone()), on_cpu(part, span.clone()), "{part:?} {span:?}");
    }
}

#[test]
fn kernels_are_timed() {
    let Some(mut card) = card(14) else { return };
    assert!(card.seconds().iter().all(|(_, seconds)| *seconds == 0.0));
    on_card(&mut card, &halves(14)[0].1, 0..9);
    let is_timed =
        |name| card.seconds().iter().any(|(of, seconds)| *of == name && (1e-6..60.0).contains(seconds));
    assert!(["count_tails", "write_words", "join"].into_iter().all(is_timed), "{:?}", card.seconds());
}

/// With QUEENS_CARD_BOARD=16, up to n = 16.
#[test]
fn whole_boards_are_counted_as_by_the_cpu() {
    let last = env::var("QUEENS_CARD_BOARD").map_or(13, |n| n.parse().expect("a board size"));
    for (n, solutions) in (12..=last).zip([14_200, 73_712, 365_596, 2_279_184, 14_772_512]) {
        check_board(n, solutions);
    }
}

/// `.ci/long races` looks for races here.
#[test]
fn random_spans_of_small_boards_are_counted_as_by_the_cpu() {
    check_spans(12, &[1, 5, 20]);
    check_spans(13, &[1, 5]);
}

#[test]
fn random_spans_are_counted_as_by_the_cpu() {
    check_spans(14, &[1, 3, 7]);
    check_spans(15, &[1, 3, 7]);
    check_spans(18, &[1, 9]);
    check_spans(19, &[1, 9]);
    check_spans(20, &[2]);
    check_spans(21, &[3]);
}

/// Numbers fix one queen from 23 on, two from 25 on, three from 27 on.
#[test]
fn spans_that_fix_queens_are_counted_as_by_the_cpu() {
    check_spans(23, &[1, 5]);
}

#[test]
fn spans_without_subproblems_hold_nothing() {
    let Some(mut card) = card(14) else { return };
    let parts = halves(14);
    let end = parts[0].0.subproblems(Symmetry::IDENTITY).n_subproblems();
    for span in [0..0, 5..5, end..end + 7, u64::MAX..u64::MAX] {
        assert_eq!(on_card(&mut card, &parts[0].1, span.clone()), Count::default(), "{span:?}");
    }
    // Past the end.
    assert_eq!(on_card(&mut card, &parts[0].1, end - 2..u64::MAX), on_cpu(&parts[0].0, end - 2..u64::MAX));
}

/// With 1 to 3 MB, arrays overflow in all stages, and batches are divided until they have room.
#[test]
fn with_little_memory_counts_are_the_same_or_there_is_none() {
    let Some(whole) =
        cards().iter().find(|card| matches!(card.id, CardId::OpenCl(_))).map(|card| card.memory)
    else {
        return skip::skipped("counting by a card, as there is no OpenCL");
    };
    let parts = halves(14);
    let mut n_counted = 0;
    for kilobytes in [500, 900, 1100, 1300, 1600, 2000, 3000] {
        let Some(mut card) = card_with(14, whole / (1000 * kilobytes)) else { return };
        for (part, halves) in &parts[..4] {
            match card.count(halves, 0..u64::MAX, &NEVER) {
                Ok(count) => assert_eq!(count, Some(on_cpu(part, 0..u64::MAX)), "{kilobytes} KB"),
                Err(error) => {
                    assert!(matches!(error, CardError::TooLittleMemory(_)), "{error}");
                    continue;
                }
            }
            n_counted += 1;
        }
    }
    assert!(n_counted > 4, "{n_counted}");
}

#[test]
fn a_stopped_count_counts_nothing_and_the_next_is_right() {
    let Some(mut card) = card(14) else { return };
    let parts = halves(14);
    assert_eq!(card.count(&parts[0].1, 0..9, &AtomicBool::new(true)), Ok(None));
    assert_eq!(on_card(&mut card, &parts[0].1, 0..9), on_cpu(&parts[0].0, 0..9));
}

/// What happens to a device, and when.
#[derive(Default)]
struct Disturbance {
    /// A stage, and how often it begins before this happens.
    at: Option<(Stage, u32)>,
    /// Whether the device fails; otherwise it is told to stop.
    fails: bool,
    has_happened: bool,
    /// Kernels that began later.
    n_after: u32,
}

/// A device that fails or is told to stop.
struct Disturbed {
    device: OpenCl,
    disturbance: Arc<Mutex<Disturbance>>,
    stop: Arc<AtomicBool>,
}

impl Disturbed {
    /// Opens a card with one `share`th of the memory.
    fn open(n: u8, share: u64) -> (Card, Arc<Mutex<Disturbance>>, Arc<AtomicBool>) {
        let of_opencl =
            |card: &CardInfo| if let CardId::OpenCl(number) = card.id { Some(number) } else { None };
        let number = cards().iter().find_map(of_opencl).expect("a card was opened");
        let shape = Shape::of(n).expect("cards count it");
        let device = OpenCl::open(number, shape, share).expect("opens");
        let (disturbance, stop) = (Arc::new(Mutex::default()), Arc::new(AtomicBool::new(false)));
        let disturbed = Self { device, disturbance: disturbance.clone(), stop: stop.clone() };
        (Card::new(Box::new(disturbed), shape), disturbance, stop)
    }
}

impl Device for Disturbed {
    fn memory(&self) -> u64 {
        self.device.memory()
    }

    fn n_blocks(&self) -> u32 {
        self.device.n_blocks()
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), CardError> {
        self.device.write(at, bytes)
    }

    fn start(&mut self, stage: Stage) -> Result<(), CardError> {
        let mut next = self.disturbance.lock().expect("no test panics here");
        let Disturbance { at, fails, has_happened, n_after } = &mut *next;
        match at {
            _ if *has_happened => *n_after += 1,
            Some((of, left)) if *of == stage => {
                *left -= 1;
                *has_happened = *left == 0;
                if *has_happened && *fails {
                    return Err(CardError::Driver("lost".to_owned()));
                }
                self.stop.store(*has_happened, Ordering::Relaxed);
            }
            _ => {}
        }
        self.device.start(stage)
    }

    fn read(&mut self, at: u64, bytes: &mut [u8]) -> Result<(), CardError> {
        self.device.read(at, bytes)
    }
}

/// A batch of n = 20 has some hundred times as many pieces as a launch joins at first.
#[test]
fn a_count_ends_after_the_launch_in_which_it_is_stopped() {
    let Some(_locked) = card(20) else { return };
    let (part, halves) = halves(20)[0];
    for (stage, nth, most_after) in [
        ("count_tails", 1, 0),
        ("write_tails", 1, 0),
        // The lists of a short batch are made without a pause.
        ("count_heads", 1, 9),
        ("join", 1, 0),
        ("join", 3, 0),
    ] {
        let (mut card, disturbance, stop) = Disturbed::open(20, 8);
        disturbance.lock().expect("nobody panics").at = Some((stage, nth));
        assert_eq!(card.count(&halves, 0..9, &stop), Ok(None), "{stage:?} {nth}");
        let Disturbance { has_happened, n_after, .. } = *disturbance.lock().expect("nobody panics");
        assert!(has_happened && n_after <= most_after, "{n_after} kernels after {stage:?} {nth}");
        assert_eq!(on_card(&mut card, &halves, 3..4), on_cpu(&part, 3..4), "{stage:?}");
    }
}

/// All on one card: stops, failures and overflows between random spans of two boards, with 1 to 30 MB.
#[test]
fn what_a_card_counts_after_stops_and_failures_is_right() {
    let Some(_locked) = card(14) else { return };
    let whole =
        cards().iter().find(|card| matches!(card.id, CardId::OpenCl(_))).map_or(0, |card| card.memory);
    let mut random = SplitMix::new(36);
    let boards = [halves(14), halves(15)];
    let (mut n_counted, mut n_stopped, mut n_failed) = (0, 0, 0);
    for megabytes in [1, 2, 4, 30].repeat(5) {
        let (mut card, disturbance, stop) = Disturbed::open(14, whole / (megabytes << 20));
        for _ in 0..8 {
            let parts = &boards[random.below(2)];
            let (part, halves) = &parts[random.below(parts.len())];
            let from = random.next() % part.subproblems(Symmetry::IDENTITY).n_subproblems();
            let span = from..from + 1 + random.next() % 30;
            // Tails are seldom made, and first.
            let all: Vec<Stage> = all_stages().collect();
            let stages = if random.below(2) == 0 { &all[..3] } else { &all };
            let (stage, nth) = (stages[random.below(stages.len())], [1, 2, 3][random.below(3)]);
            let (at, fails) = ((random.below(3) > 0).then_some((stage, nth)), random.below(3) == 0);
            *disturbance.lock().expect("nobody panics") = Disturbance { at, fails, ..Disturbance::default() };
            stop.store(false, Ordering::Relaxed);
            let count = card.count(halves, span.clone(), &stop);
            let has_happened = disturbance.lock().expect("nobody panics").has_happened;
            match count {
                Ok(Some(count)) => assert_eq!(count, on_cpu(part, span.clone()), "{part:?} {span:?}"),
                Ok(None) => assert!(has_happened && !fails, "{at:?}"),
                Err(CardError::TooLittleMemory(_)) => continue,
                Err(_) => assert!(has_happened && fails, "{at:?}"),
            }
            n_counted += u32::from(matches!(count, Ok(Some(_))));
            n_stopped += u32::from(count == Ok(None));
            n_failed += u32::from(count.is_err());
        }
    }
    assert!(n_counted.min(n_stopped).min(n_failed) > 4, "{n_counted} {n_stopped} {n_failed}");
}

#[test]
fn boards_of_other_sizes_are_refused() {
    for n in [0, 11, 30, 32] {
        assert!(!CardId::counts(size(n)));
        assert_eq!(CardId::Cuda(0).open(size(n), 1).err(), Some(CardError::BoardSize), "{n}");
    }
    let Some(mut card) = card(14) else { return };
    let (_, other) = halves(12)[0];
    assert_eq!(card.count(&other, 0..1, &NEVER), Err(CardError::BoardSize));
}
