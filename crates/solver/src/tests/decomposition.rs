//! Tests that the search counts every solution exactly once, for any plan and any spans.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;

use super::{NEVER, check_total, plan_by, size};
use crate::classic;
use crate::free_rows::{FreeRows, RowState};
use crate::prefix::Prefixes;
use crate::{BoardSize, Count, Cross, Kernel, Method, Pass, Plan, PlanProgress, Square, Symmetry};

/// Counts subproblems `from..to` at `depth`.
fn count(free: &FreeRows, depth: u8, from: u64, to: u64) -> Count {
    let mut prefixes = Prefixes::new(free, depth);
    prefixes.seek(from);
    Kernel::Portable.count(&mut prefixes, to - from, &NEVER).expect("nobody stops it")
}

fn plan(n: u8) -> Plan {
    plan_by(Method::Search, n)
}

#[test]
fn totals_are_the_published_counts() {
    for n in 0..=15 {
        check_total(Method::Search, n, Kernel::Portable);
    }
}

/// Both passes find the same solutions in each cross. Nearly all trees differ, and the second pass takes little longer.
#[test]
fn a_second_pass_counts_other_trees_to_the_same_solutions() {
    let (mut first_nodes, mut second_nodes) = (0, 0);
    for n in 0..=13 {
        let never = || NonZeroUsize::MIN;
        let passes = [Plan::new, Plan::second]
            .map(|plan| plan(size(n), Method::Search, never(), &NEVER).expect("made"));
        let [first, second] = &passes;
        let mut n_alike = 0;
        for (first, second) in first.parts().iter().zip(second.parts()) {
            let counts = [first, second].map(|part| {
                let all = 0..part.choice().n_subproblems;
                part.subproblems().count(all, Kernel::Portable, &NEVER).expect("nobody stops it")
            });
            assert_eq!(counts[0].solutions, counts[1].solutions, "n = {n}: {first:?}, {second:?}");
            let images = [first, second].map(|part| part.choice().image);
            assert!(first.queens().is_empty() || images[0] != images[1], "n = {n}: {first:?}");
            assert_eq!(images[1].index() % 2, 0, "the left-right mirror of another image: {second:?}");
            n_alike += usize::from(counts[0].work == counts[1].work);
            (first_nodes, second_nodes) = (first_nodes + counts[0].work, second_nodes + counts[1].work);
        }
        let n_parts = first.parts().len();
        assert!(n < 12 || n_alike * 20 <= n_parts, "n = {n}: {n_alike} of {n_parts} have as many nodes");
    }
    let ratio = second_nodes as f64 / first_nodes as f64;
    assert!((1.0..1.15).contains(&ratio), "{ratio}");
}

#[test]
fn every_image_of_every_cross_has_the_same_completions() {
    for n in BoardSize::range(0, 12) {
        for cross in Cross::all(n) {
            let counts =
                Symmetry::ALL.map(|image| count(&FreeRows::new(n, &cross.image(image)), 0, 0, 1).solutions);
            assert!(counts.iter().all(|&c| c == counts[0]), "n = {n}, {cross:?}: {counts:?}");
        }
    }
}

/// The solutions of a cross depend neither on the depth nor on cutting it into single subproblems. The nodes of the
/// single subproblems add up to those of the whole.
#[test]
fn solutions_do_not_depend_on_the_depth_nor_nodes_on_the_cutting() {
    for n in BoardSize::range(0, 11) {
        for cross in Cross::all(n) {
            let free = FreeRows::new(n, cross.queens());
            let whole = count(&free, 0, 0, 1);
            for depth in 0..=n.get() {
                let n_subproblems = Prefixes::count(&free, depth);
                let at_once = count(&free, depth, 0, n_subproblems);
                assert_eq!(at_once.solutions, whole.solutions, "n = {n}, depth {depth}, {cross:?}");
                let mut sum = Count::default();
                let mut prefixes = Prefixes::new(&free, depth);
                while prefixes.position() < n_subproblems {
                    let one = Kernel::Portable.count(&mut prefixes, 1, &NEVER).expect("nobody stops it");
                    sum = sum.checked_add(one).expect("small counts");
                }
                assert_eq!(sum, at_once, "n = {n}, depth {depth}, {cross:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_cutting_of_a_span_gives_the_same_sums(
        n in 8_u8..=14,
        depth in 1_u8..=4,
        cross in any::<prop::sample::Index>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let crosses = Cross::all(size(n));
        let free = FreeRows::new(size(n), cross.get(&crosses).queens());
        let n_subproblems = Prefixes::count(&free, depth);
        prop_assume!(n_subproblems > 0);
        let mut cuts: Vec<u64> =
            cuts.iter().map(|cut| cut.index(usize::try_from(n_subproblems).expect("small")) as u64).collect();
        cuts.extend([0, n_subproblems]);
        cuts.sort_unstable();
        let mut sum = Count::default();
        for pair in cuts.windows(2) {
            sum = sum.checked_add(count(&free, depth, pair[0], pair[1])).expect("small counts");
        }
        prop_assert_eq!(sum, count(&free, depth, 0, n_subproblems));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// The number of subproblems, found without visiting most prefixes, is the number of prefixes that a walk meets.
    #[test]
    fn as_many_subproblems_are_counted_as_a_walk_meets(
        n in 4_u8..=32,
        depth in 0_u8..=6,
        cross in any::<prop::sample::Index>(),
        image in prop::sample::select(Symmetry::ALL.to_vec()),
    ) {
        let crosses = Cross::all(size(n));
        let free = FreeRows::new(size(n), &cross.get(&crosses).image(image));
        // A walk to some hundred thousands of prefixes takes milliseconds.
        let depth = depth.min(if n > 14 { 4 } else { 6 });
        prop_assert_eq!(Prefixes::count(&free, depth), Prefixes::new(&free, depth).count() as u64);
    }
}

/// The largest boards: masks use every bit of their words. Deep prefixes leave little to count, and an independent
/// count over squares gives the right number.
#[test]
fn deep_subproblems_of_the_largest_boards_are_counted_right() {
    for n in [30, 31, 32] {
        for cross in Cross::all(size(n)).iter().step_by(9001) {
            let free = FreeRows::new(size(n), cross.queens());
            let mut prefix = cross.queens().to_vec();
            let mut state = RowState::EMPTY;
            // Take the middle free square of each row until ten rows are left or none is free.
            let rows = free.as_slice();
            for row in &rows[..rows.len() - 10] {
                let squares: Vec<u8> = (0..n).filter(|c| state.free(row.allowed) >> c & 1 == 1).collect();
                let Some(&column) = squares.get(squares.len() / 2) else { break };
                prefix.push(Square { row: row.row, column });
                state = state.with(1 << column).down(row.step);
            }
            let by_squares = completions(n, &prefix, 0);
            let placed = FreeRows::new(size(n), &prefix);
            assert_eq!(count(&placed, 0, 0, 1).solutions, by_squares, "n = {n}, {prefix:?}");
        }
    }
}

fn completions(n: u8, queens: &[Square], from_row: u8) -> u64 {
    let filled = |row| queens.iter().any(|queen| queen.row == row);
    let Some(row) = (from_row..n).find(|&row| !filled(row)) else { return 1 };
    let mut total = 0;
    for column in 0..n {
        let square = Square { row, column };
        if !queens.iter().any(|queen| queen.attacks(square)) {
            let mut more = queens.to_vec();
            more.push(square);
            total += completions(n, &more, row + 1);
        }
    }
    total
}

#[test]
fn a_stopped_kernel_says_so_and_a_plan_can_be_stopped() {
    let stop = AtomicBool::new(true);
    let free = FreeRows::new(size(12), Cross::all(size(12))[0].queens());
    assert_eq!(Kernel::Portable.count(&mut Prefixes::new(&free, 2), 10, &stop), None);
    assert!(Plan::new(size(18), Method::Search, NonZeroUsize::MIN, &stop).is_none());
}

#[test]
fn plans_repeat_whatever_the_threads_and_come_back_from_their_choices() {
    for n in [0, 2, 9, 16, 18, 21] {
        let threads = NonZeroUsize::new(3).expect("not zero");
        let plan = plan(n);
        assert_eq!(Some(&plan), Plan::new(size(n), Method::Search, threads, &NEVER).as_ref(), "n = {n}");
        let choices: Vec<_> = plan.parts().iter().map(|planned| *planned.choice()).collect();
        assert_eq!(Ok(&plan), Plan::from_choices(size(n), Method::Search, &choices).as_ref(), "n = {n}");
        assert!(
            Plan::from_choices(
                size(n),
                Method::Search,
                &[&choices[..], &choices[..1.min(choices.len())]].concat()
            )
            .is_err()
                || choices.is_empty()
        );
    }
}

/// The recorded plan of every n, summed up in [`PLANS`]. Plans must not change.
const PLANS: &str = include_str!("plans.csv");

/// Up to this n all plans together take a second.
const LARGEST_PLAN: u8 = 26;

#[test]
fn plans_are_what_they_were() {
    let rows = PLANS.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let mut n_checked = 0;
    for row in rows {
        let n = row.split(',').next().and_then(|n| n.parse().ok()).expect("n");
        if n > LARGEST_PLAN {
            continue;
        }
        assert_eq!(summary(&plan(n)), row);
        n_checked += 1;
    }
    assert_eq!(n_checked, 23);
}

/// Returns a plan's row in the table.
fn summary(plan: &Plan) -> String {
    let choices = || plan.parts().iter().map(|planned| planned.choice());
    let image = |image| Symmetry::UP_TO_MIRROR.iter().position(|&one| one == image).expect("up to mirroring");
    let bytes = choices().flat_map(|choice| {
        let image = [u8::try_from(image(choice.image)).expect("one of four")];
        let numbers = (choice.n_subproblems.to_le_bytes(), choice.work.to_le_bytes());
        image.into_iter().chain(numbers.0).chain(numbers.1)
    });
    let digest = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let n_subproblems: u128 = choices().map(|choice| u128::from(choice.n_subproblems)).sum();
    let (n, n_crosses, depth, work) = (plan.n(), plan.parts().len(), plan.depth(), plan.work());
    format!("{n},{n_crosses},{depth},{n_subproblems},{work},{digest:016x}")
}

#[test]
fn the_progress_of_a_plan_goes_from_nothing_to_all_of_its_crosses() {
    let progress = PlanProgress::default();
    assert_eq!((progress.n_planned(), progress.n_parts()), (0, 0));
    let stop = AtomicBool::new(true);
    assert!(
        Plan::with_progress(size(14), Method::Search, Pass::First, NonZeroUsize::MIN, &stop, &progress)
            .is_none()
    );
    assert_eq!((progress.n_planned(), progress.n_parts()), (0, 849));
    let progress = PlanProgress::default();
    let planned = Plan::with_progress(
        size(21),
        Method::Search,
        Pass::First,
        NonZeroUsize::new(2).expect("not zero"),
        &NEVER,
        &progress,
    );
    assert_eq!(planned, Some(plan(21)));
    assert_eq!((progress.n_planned(), progress.n_parts()), (8038, 8038));
}

/// The estimates are good enough to plan with: the total errs by less than a quarter.
#[test]
fn estimated_work_is_near_the_nodes() {
    let plan = plan(15);
    let (mut estimated, mut nodes) = (0, 0);
    for planned in plan.parts() {
        let free = FreeRows::new(plan.n(), &planned.queens());
        nodes += u128::from(count(&free, 0, 0, 1).work);
        estimated += planned.choice().work;
    }
    assert_eq!(estimated, plan.work());
    assert!(estimated.abs_diff(nodes) * 4 < nodes, "estimated {estimated}, counted {nodes}");
}

/// Returns the queens of every subproblem, found by comparing squares, in the order of their numbers.
fn prefixes_by_squares(free: &FreeRows, queens: &[Square], depth: usize) -> Vec<Vec<Square>> {
    let mut prefixes = vec![queens.to_vec()];
    for row in free.as_slice().iter().take(depth) {
        let squares = (0..32).map(|column| Square { row: row.row, column });
        let squares: Vec<Square> = squares.filter(|square| row.allowed >> square.column & 1 == 1).collect();
        prefixes = prefixes
            .iter()
            .flat_map(|prefix| {
                let safe =
                    squares.iter().filter(|square| !prefix.iter().any(|queen| queen.attacks(**square)));
                safe.map(|&square| [prefix.as_slice(), &[square]].concat())
            })
            .collect();
    }
    prefixes
}

#[test]
fn every_subproblem_counts_to_what_the_textbook_counters_say() {
    for n in BoardSize::range(0, 9) {
        for cross in Cross::all(n) {
            let free = FreeRows::new(n, cross.queens());
            for depth in 0..=2_u8 {
                let prefixes = prefixes_by_squares(&free, cross.queens(), depth.into());
                assert_eq!(prefixes.len() as u64, Prefixes::count(&free, depth.min(n.get())), "n = {n}");
                for (number, queens) in (0..).zip(&prefixes) {
                    let counted = count(&free, depth, number, number + 1).solutions;
                    for method in classic::Method::ALL {
                        // Below the plan's depth, permutations of nine columns for each subproblem take minutes.
                        if method == classic::Method::Permutations && n.get() > 7 && depth > 0 {
                            continue;
                        }
                        let expected = method.count(n, queens).expect("within the method's limits");
                        assert_eq!(counted, expected, "n = {n}, {} on {queens:?}", method.name());
                    }
                }
            }
        }
    }
}
