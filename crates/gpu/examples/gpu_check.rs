//! Compares a card with the processor and times it: `gpu_check CARD [STREAMS]`, such as `gpu_check cuda:0 2`.
//!
//! First it counts the boards of n = 12 to 16 whole and random spans of n = 18 to 28 on both: solutions and units of
//! work must be equal. Then it counts samples of n = 21 to 26 on the card alone, with this many threads. Its output is
//! for docs/GPU.md. It takes two minutes on a card of 2023 with 16 cores beside it.
#![allow(clippy::print_stdout, reason = "a program")]

use std::env;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use queens_gpu::{Card, CardError, CardId, cards};
use queens_solver::{
    BoardSize, Count, HalvesPart, Kernel, Method, Part, Plan, SplitMix, Symmetry, parallel,
    parts_in_counting_order,
};

static NEVER: AtomicBool = AtomicBool::new(false);

/// Samples to time: n, every how many parts, the share of each part's subproblems.
const TIMED: [(u8, usize, u64); 4] = [(21, 20, 1), (22, 20, 1), (24, 40, 16), (26, 80, 200)];

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    let Some(Ok(id)) = args.next().map(|card| card.parse::<CardId>()) else {
        println!("usage: gpu_check CARD [STREAMS]; the cards here:");
        cards().iter().for_each(|card| println!("{} {}", card.id, card.name));
        return ExitCode::from(2);
    };
    let n_streams = args.next().and_then(|n| n.parse().ok()).unwrap_or(2);
    match check(id).and_then(|all_equal| time(id, n_streams).map(|()| all_equal)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn size(n: u8) -> BoardSize {
    BoardSize::new(n).unwrap_or_else(|_| unreachable!("a board size"))
}

fn halves(n: u8) -> Vec<HalvesPart> {
    let parts = parts_in_counting_order(size(n), Method::Halves).into_iter();
    parts.filter_map(|part| if let Part::Halves(halves) = part { Some(halves) } else { None }).collect()
}

fn n_subproblems(part: HalvesPart) -> u64 {
    Part::Halves(part).subproblems(Symmetry::IDENTITY).n_subproblems()
}

fn on_card(card: &mut Card, part: &HalvesPart, numbers: Range<u64>) -> Result<Count, CardError> {
    Ok(card.count(part, numbers, &NEVER)?.unwrap_or_default())
}

/// Compares whole boards and spans; returns whether all counts are equal.
fn check(id: CardId) -> Result<bool, CardError> {
    let mut all_equal = true;
    for n in 12..=16 {
        let whole = halves(n).into_iter().map(|part| (part, 0..n_subproblems(part)));
        all_equal &= compare(id, n, &whole.collect::<Vec<_>>(), "parts, all")?;
    }
    for n in 18..=28 {
        let (parts, mut random) = (halves(n), SplitMix::new(n.into()));
        let span = |i: u64| {
            let part = parts[random.below(parts.len())];
            let from = random.next() % n_subproblems(part);
            (part, from..from + [1, 7, 40][usize::try_from(i % 3).unwrap_or(0)])
        };
        let spans: Vec<_> = (0..if n < 26 { 60 } else { 9 }).map(span).collect();
        all_equal &= compare(id, n, &spans, "random spans")?;
    }
    Ok(all_equal)
}

fn compare(id: CardId, n: u8, spans: &[(HalvesPart, Range<u64>)], what: &str) -> Result<bool, CardError> {
    let mut card = id.open(size(n), 2)?;
    let began = Instant::now();
    let counts: Result<Vec<Count>, CardError> =
        spans.iter().map(|(part, span)| on_card(&mut card, part, span.clone())).collect();
    let (counts, seconds) = (counts?, began.elapsed().as_secs_f64());
    let n_wrong = AtomicUsize::new(0);
    let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let again = |i: usize| {
        let (part, span) = &spans[i];
        let mut subproblems = Part::Halves(*part).subproblems(Symmetry::IDENTITY);
        let expected = subproblems.count(span.clone(), Kernel::best(), &NEVER).unwrap_or_default();
        if counts[i] != expected {
            println!("WRONG: {part:?} {span:?}: {:?}, the processor counts {expected:?}", counts[i]);
            n_wrong.fetch_add(1, Ordering::Relaxed);
        }
    };
    if parallel(threads, spans.len(), |_| true, again).is_err() {
        return Err(CardError::Driver("no thread could be started".to_owned()));
    }
    let solutions: u64 = counts.iter().map(|count| count.solutions).sum();
    let n_wrong = n_wrong.into_inner();
    println!("n = {n}: {} {what}, {solutions} solutions in {seconds:.2} s, {n_wrong} wrong", spans.len());
    Ok(n_wrong == 0)
}

/// Times samples by some threads, each with a card of its own on the device.
fn time(id: CardId, n_streams: u8) -> Result<(), CardError> {
    for (n, every, share) in TIMED {
        let Some(plan) = Plan::new(size(n), Method::Halves, NonZeroUsize::MIN, &NEVER) else { continue };
        let parts: Vec<HalvesPart> = halves(n).into_iter().step_by(every).collect();
        let opened: Result<Vec<Card>, CardError> =
            (0..n_streams).map(|_| id.open(size(n), n_streams.into())).collect();
        let (mut opened, next, sum) = (opened?, AtomicUsize::new(0), Mutex::new(Count::default()));
        let began = Instant::now();
        let count = |card: &mut Card| -> Result<(), CardError> {
            while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                // Whole sets of columns.
                let of_set = u64::from(n / 2).pow(part.n_digits().into());
                let n_sets = n_subproblems(*part) / of_set;
                let n_counted = (n_sets / share).max(1);
                let from = (n_sets - n_counted) / 2;
                let count = on_card(card, part, from * of_set..(from + n_counted) * of_set)?;
                let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
                *sum = sum.checked_add(count).unwrap_or(*sum);
            }
            Ok(())
        };
        thread::scope(|scope| {
            let count = &count;
            let threads: Vec<_> = opened.iter_mut().map(|card| scope.spawn(move || count(card))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
        })?;
        let seconds = began.elapsed().as_secs_f64();
        let work = sum.into_inner().unwrap_or_default().work as f64;
        let whole = plan.work() as f64 * seconds / work.max(1.0);
        println!(
            "n = {n}: {seconds:.2} s for {:.4} % of the work, {:.1} · 10⁹ units a second, whole {whole:.1} s",
            100.0 * work / plan.work() as f64,
            work / seconds / 1e9
        );
        let stages: Vec<_> = opened.iter().map(Card::seconds).collect();
        let total =
            |i: usize| stages.iter().filter_map(|one| one.get(i)).map(|(_, seconds)| seconds).sum::<f64>();
        let names = stages.first().cloned().unwrap_or_default();
        let each = names.iter().enumerate().map(|(i, (name, _))| format!("{name} {:.3}", total(i)));
        println!("    seconds of the stages: {}", each.collect::<Vec<_>>().join(", "));
    }
    Ok(())
}
