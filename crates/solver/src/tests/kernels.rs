//! Tests that every kernel returns the portable kernel's solutions and nodes, and that one a plain recursion's.

use std::env;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;

use super::{NEVER, available, size};
use crate::free_rows::{FreeRow, FreeRows, RowState};
use crate::prefix::Prefixes;
use crate::tests::skip::{impossible, skipped};
use crate::{BoardSize, Count, Cross, Kernel, Square};

fn others() -> impl Iterator<Item = Kernel> {
    let available = available();
    available.filter(|&kernel| kernel != Kernel::Portable)
}

fn count(kernel: Kernel, free: &FreeRows, depth: u8, from: u64, n_subproblems: u64) -> Count {
    let mut prefixes = Prefixes::new(free, depth);
    prefixes.seek(from);
    kernel.count(&mut prefixes, n_subproblems, &NEVER).expect("nobody stops it")
}

#[track_caller]
fn check(free: &FreeRows, depth: u8, from: u64, n_subproblems: u64) {
    let expected = count(Kernel::Portable, free, depth, from, n_subproblems);
    for kernel in others() {
        let counted = count(kernel, free, depth, from, n_subproblems);
        assert_eq!(counted, expected, "{kernel}, depth {depth}, from {from}, {n_subproblems} subproblems");
    }
}

/// Adds the counts below `state`, one queen after the other down to the last row.
///
/// The rule looks at all rows if at most five are left below a queen, at two of six, else at one. The queen is a node
/// if each of these has a free square, and if they are all rows left, so has every unfilled column.
fn count_plainly(rows: &[FreeRow], columns: u32, state: RowState, count: &mut Count) {
    let [row, below @ ..] = rows else {
        count.solutions += 1;
        return;
    };
    for column in (0..32).filter(|column| state.free(row.allowed) >> column & 1 == 1) {
        let child = state.with(1 << column).down(row.step);
        let mut seen = child;
        let mut squares = Vec::new();
        for next in below {
            squares.push(seen.free(next.allowed));
            seen = seen.down(next.step);
        }
        squares.truncate(match below.len() {
            0..=5 => 5,
            6 => 2,
            _ => 1,
        });
        let reached = squares.iter().fold(0, |reached, squares| reached | squares);
        let all_reached = below.len() > 5 || reached == columns & !child.columns;
        // In the last two rows no queen is a node.
        if squares.iter().all(|&squares| squares != 0) && all_reached {
            count.work += u64::from(below.len() >= 2);
            count_plainly(below, columns, child, count);
        }
    }
}

/// A kernel is available if the system also reports that the processor has its features.
#[test]
fn kernels_that_this_processor_lacks_are_said_so() {
    let system = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags =
        system.lines().find(|line| line.starts_with("flags")).filter(|_| cfg!(target_arch = "x86_64"));
    let has = |flag: &str| flags.is_some_and(|flags| flags.split_whitespace().any(|word| word == flag));
    for kernel in Kernel::ALL {
        let needed: &[&str] = match kernel {
            Kernel::Portable => &[],
            Kernel::V128 => &["sse4_1", "ssse3", "popcnt"],
            Kernel::Avx2 => &["avx2", "popcnt"],
            Kernel::Avx512 => &["avx512f", "popcnt"],
        };
        if flags.is_some() {
            assert_eq!(kernel.is_available(), needed.iter().all(|flag| has(flag)), "{kernel}");
        } else if cfg!(target_arch = "x86_64") {
            skipped("the choice of kernels, as the system does not tell what the processor can do");
        }
        if !kernel.is_available() {
            impossible(&format!("the {kernel} kernel, as this processor lacks {}", needed.join(" or ")));
        }
    }
    assert!(Kernel::best().is_available());
}

#[test]
fn whole_crosses_of_small_boards_agree() {
    for n in BoardSize::range(0, 13) {
        for cross in Cross::all(n) {
            let free = FreeRows::new(n, cross.queens());
            for depth in [0, 1, 2, 3] {
                check(&free, depth, 0, u64::MAX);
            }
        }
    }
}

/// More prefixes and more children of a row than an array holds.
#[test]
fn arrays_that_run_full_are_emptied() {
    let free = FreeRows::new(size(11), &[]);
    for depth in [5, 7] {
        assert!(Prefixes::count(&free, depth) > 4096);
        check(&free, depth, 0, u64::MAX);
    }
}

/// Places queens at random, top to bottom, until `n_left` rows are left or a row is full.
fn random_board(
    n: u8,
    cross: prop::sample::Index,
    choices: &[prop::sample::Index],
    n_left: usize,
) -> FreeRows {
    let crosses = Cross::all(size(n));
    let mut queens = cross.get(&crosses).queens().to_vec();
    let free = FreeRows::new(size(n), &queens);
    let mut state = RowState::EMPTY;
    for (row, choice) in free.as_slice().iter().take(free.len().saturating_sub(n_left)).zip(choices) {
        let squares: Vec<u8> = (0..n).filter(|column| state.free(row.allowed) >> column & 1 == 1).collect();
        if squares.is_empty() {
            break;
        }
        let column = *choice.get(&squares);
        queens.push(Square { row: row.row, column });
        state = state.with(1 << column).down(row.step);
    }
    FreeRows::new(size(n), &queens)
}

/// The largest board for random spans: miri takes minutes to list the crosses of larger ones.
const LARGEST: u8 = if cfg!(miri) { 10 } else { BoardSize::MAX };

/// Returns the number of random spans; an environment variable can raise it.
fn n_spans() -> u32 {
    env::var("QUEENS_SPANS").map_or(150, |number| number.parse().expect("QUEENS_SPANS is a number"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: n_spans(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_spans_of_any_board_agree(
        n in prop_oneof![4..=LARGEST, LARGEST - 4..=LARGEST],
        cross in any::<prop::sample::Index>(),
        choices in prop::collection::vec(any::<prop::sample::Index>(), 32),
        n_left in 0_usize..=12,
        depth in 0_u8..=5,
        from in any::<prop::sample::Index>(),
        n_subproblems in prop_oneof![Just(0_u64), Just(1), 2_u64..100, 1000_u64..5000],
    ) {
        let free = random_board(n, cross, &choices, n_left);
        // A board whose queens left more rows than requested may be too large to count.
        prop_assume!(free.len() <= 13);
        let all = Prefixes::count(&free, depth);
        let from = from.index(usize::try_from(all).expect("small") + 1) as u64;
        check(&free, depth, from, n_subproblems);
    }

    #[test]
    fn the_portable_kernel_counts_what_a_plain_recursion_does(
        n in prop_oneof![11_u8..=14, 4_u8..=32],
        cross in any::<prop::sample::Index>(),
        choices in prop::collection::vec(any::<prop::sample::Index>(), 32),
        n_left in 0_usize..=10,
        depth in 0_u8..=5,
    ) {
        let free = random_board(n, cross, &choices, n_left);
        prop_assume!(free.len() <= 11);
        let prefixes = Prefixes::new(&free, depth);
        let mut expected = Count::default();
        for prefix in prefixes.clone() {
            count_plainly(prefixes.rows_below(), free.columns, prefix, &mut expected);
        }
        prop_assert_eq!(count(Kernel::Portable, &free, depth, 0, u64::MAX), expected);
    }
}

/// A stopped kernel leaves nothing behind that a later call would count.
#[test]
fn a_stopped_kernel_counts_rightly_the_next_time() {
    let free = FreeRows::new(size(20), Cross::all(size(20))[0].queens());
    for kernel in others().chain([Kernel::Portable]) {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let counting = scope.spawn(|| {
                // Counting everything takes much longer than the stop.
                let stopped = kernel.count(&mut Prefixes::new(&free, 4), u64::MAX, &stop);
                (stopped, count(kernel, &free, 7, 0, 100))
            });
            thread::sleep(Duration::from_millis(3));
            stop.store(true, Ordering::Relaxed);
            let (stopped, next) = counting.join().expect("no panic");
            assert_eq!(stopped, None, "{kernel}");
            assert_eq!(next, count(Kernel::Portable, &free, 7, 0, 100), "{kernel}");
        });
    }
}
