//! Tests that the halves method counts every solution exactly once, for any plan and any spans.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use super::{NEVER, available, check_total, plan_by, size};
use crate::{
    Count, Kernel, Method, Plan, PlannedPart, Sampler, SplitMix, Symmetry, parts_in_counting_order, published,
};

fn plan(n: u8) -> Plan {
    plan_by(Method::Halves, n)
}

/// Returns the largest board to count: QUEENS_HALVES if set, else one that takes seconds.
fn largest(in_seconds: u8) -> u8 {
    std::env::var("QUEENS_HALVES").map_or(in_seconds, |n| n.parse().expect("QUEENS_HALVES is a number"))
}

#[test]
fn totals_are_the_published_counts() {
    for kernel in available() {
        for n in 0..=largest(14) {
            check_total(Method::Halves, n, kernel);
        }
    }
}

/// The specification counts right. Boards above 16 take hours.
#[test]
fn specified_totals_are_the_published_counts() {
    for n in 0..=largest(13).min(16) {
        let specified = |planned: &PlannedPart| {
            let count = planned.subproblems().specified(0..planned.choice().n_subproblems);
            u128::from(planned.weight()) * u128::from(count.solutions)
        };
        let total = plan(n).parts().iter().map(specified).sum();
        assert_eq!(Some(total), published(size(n)).map(|counts| counts.solutions), "n = {n}");
    }
}

/// Any run of numbers has the sum of its single counts, whatever was counted before.
#[test]
fn every_cutting_of_a_part_has_its_sums() {
    let kernels = || available();
    for (n, kernel) in (4..=11).flat_map(|n| kernels().map(move |kernel| (n, kernel))) {
        for planned in plan(n).parts() {
            let n_subproblems = planned.choice().n_subproblems;
            let count = |numbers| planned.subproblems().count(numbers, kernel, &NEVER);
            let whole = count(0..n_subproblems).expect("nobody stops it");
            let mut sum = Count::default();
            for number in (0..n_subproblems).rev() {
                let one = count(number..number + 1).expect("nobody stops it");
                sum = sum.checked_add(one).expect("small counts");
            }
            assert_eq!(sum, whole, "n = {n}: {planned:?}");
        }
    }
}

/// All kernels count the same, on random spans that follow each other or not.
#[test]
fn kernels_agree_on_random_spans() {
    let seed = 13;
    let mut random = SplitMix::new(seed);
    for n in 10..=17 {
        let plan = plan(n);
        let n_parts = if n < 15 { 12 } else { 4 };
        for _ in 0..n_parts {
            let planned = &plan.parts()[random.below(plan.parts().len())];
            let n_subproblems = planned.choice().n_subproblems;
            let mut subproblems: Vec<_> = Kernel::ALL.map(|_| planned.subproblems()).into();
            for _ in 0..3 {
                let start = random.below(usize::try_from(n_subproblems).expect("64 bits")) as u64;
                let numbers = start..(start + random.below(8) as u64).min(n_subproblems);
                let specified = planned.subproblems().specified(numbers.clone());
                for (kernel, subproblems) in Kernel::ALL.into_iter().zip(&mut subproblems) {
                    if kernel.is_available() {
                        let count = subproblems.count(numbers.clone(), kernel, &NEVER);
                        assert_eq!(
                            count,
                            Some(specified),
                            "n = {n}, {kernel}, {numbers:?} of {planned:?}, seed {seed}"
                        );
                    }
                }
            }
        }
    }
}

/// The estimates are good enough to plan with: parts err by a quarter at most (root mean square), the total by less.
#[test]
fn estimated_work_is_near_the_work() {
    for n in 13..=largest(15) {
        let plan = plan(n);
        let (mut work, mut estimated, mut squares) = (0.0, 0.0, 0.0);
        for planned in plan.parts() {
            let all = 0..planned.choice().n_subproblems;
            let counted = planned.subproblems().count(all, Kernel::best(), &NEVER).expect("nobody stops it");
            let (expected, nodes) = (planned.choice().work as f64, counted.work as f64);
            (work, estimated) = (work + nodes, estimated + expected);
            squares += (expected - nodes).powi(2) / nodes.max(1.0);
        }
        let (whole, parts) = (estimated / work, (squares / work).sqrt());
        assert!((whole - 1.0).abs() < 0.15 && parts < 0.25, "n = {n}: {whole}, {parts}");
    }
}

/// Compares plans with many descents, in some parts of boards that are too large to count.
///
/// Plans estimate from the distances between columns; descents do not use these.
#[test]
#[expect(clippy::print_stdout, reason = "the report of a long test")]
fn estimated_work_is_near_what_descents_find() {
    const N_DESCENTS: u32 = 1 << 13;
    let most_parts = if std::env::var_os("QUEENS_HALVES").is_some() { 40 } else { 12 };
    for n in 20..=largest(20) {
        let (plan, sampler) = (plan(n), Sampler::new(size(n), Method::Halves));
        let n_parts = plan.parts().len();
        let n_each = sampler.n_samples() / n_parts;
        // Sums over parts: the work, the squared differences of plans and descents, and the squared errors of descents.
        // The squares are divided by the work.
        let (mut work, mut differences, mut errors) = (0.0, 0.0, 0.0);
        for part in (0..n_parts).step_by(n_parts / most_parts) {
            let found: Vec<f64> = (0..n_each).map(|i| sampler.work(part + i * n_parts, N_DESCENTS)).collect();
            let sum: f64 = found.iter().sum();
            let squares: f64 = found.iter().map(|one| (one * n_each as f64 - sum).powi(2)).sum();
            let estimated = plan.parts()[part].choice().work as f64;
            work += sum;
            differences += (estimated - sum).powi(2) / sum.max(1.0);
            errors += squares / (n_each * (n_each - 1)) as f64 / sum.max(1.0);
        }
        let [error, difference] =
            [errors, differences - errors].map(|squares| (squares.max(0.0) / work).sqrt());
        println!("n = {n}: plans err by {difference:.3}, descents by {error:.3}");
        assert!(error < 0.1 && difference < 0.25, "n = {n}: {difference}, by descents good to {error}");
    }
}

#[test]
fn plans_repeat_whatever_the_threads_and_come_back_from_their_choices() {
    for n in [0, 1, 2, 9, 16, 21] {
        let threads = NonZeroUsize::new(3).expect("not zero");
        let plan = plan(n);
        assert_eq!(Some(&plan), Plan::new(size(n), Method::Halves, threads, &NEVER).as_ref(), "n = {n}");
        let choices: Vec<_> = plan.parts().iter().map(|planned| *planned.choice()).collect();
        assert_eq!(Ok(&plan), Plan::from_choices(size(n), Method::Halves, &choices).as_ref(), "n = {n}");
        assert!(Plan::from_choices(size(n), Method::Halves, &choices[1..]).is_err());
    }
}

/// A stop takes effect at once, at any stage.
#[test]
fn what_is_stopped_counts_nothing() {
    let stop = AtomicBool::new(true);
    assert!(Plan::new(size(20), Method::Halves, NonZeroUsize::MIN, &stop).is_none());
    for n in [12, 20, 23, 28] {
        let part = parts_in_counting_order(size(n), Method::Halves)[0];
        for kernel in available() {
            let mut subproblems = part.subproblems(Symmetry::IDENTITY);
            assert_eq!(subproblems.count(0..u64::MAX, kernel, &stop), None, "n = {n}, {kernel}");
            assert_eq!(subproblems.count(5..5, kernel, &stop), Some(Count::default()), "n = {n}, {kernel}");
            assert_eq!(subproblems.count(u64::MAX - 1..u64::MAX, kernel, &NEVER), Some(Count::default()));
        }
    }
}
