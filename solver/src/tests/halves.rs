//! Halves count every solution exactly once, however the board is cut.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use crate::{BoardSize, Count, Kernel, Method, Plan, SplitMix, published};

static NEVER: AtomicBool = AtomicBool::new(false);

fn size(n: u8) -> BoardSize {
    BoardSize::new(n).expect("a board size")
}

fn plan(n: u8) -> Plan {
    Plan::new(size(n), Method::Halves, NonZeroUsize::MIN, &NEVER).expect("nobody stops it")
}

#[track_caller]
fn check_total(n: u8) {
    let plan = plan(n);
    let mut total = 0;
    for planned in plan.parts() {
        let all = 0..planned.choice().n_subproblems;
        let counted = planned.subproblems().count(all, Kernel::Portable, &NEVER).expect("nobody stops it");
        total += u128::from(planned.weight()) * u128::from(counted.solutions);
    }
    assert_eq!(Some(total), published(size(n)).map(|counts| counts.solutions), "n = {n}");
}

/// How far totals are counted, unless the environment says otherwise: so far they take seconds.
const LARGEST: u8 = 13;

#[test]
fn totals_are_the_published_counts() {
    let largest = std::env::var("QUEENS_HALVES").ok().and_then(|n| n.parse().ok()).unwrap_or(LARGEST);
    for n in 0..=largest {
        check_total(n);
    }
}

/// Any run of numbers counts to what its numbers count to one by one, whatever was counted before.
#[test]
fn every_cutting_of_a_part_has_its_sums() {
    for n in 4..=11 {
        for planned in plan(n).parts() {
            let n_subproblems = planned.choice().n_subproblems;
            let count = |numbers| planned.subproblems().count(numbers, Kernel::Portable, &NEVER);
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
                let start = random.below(n_subproblems as usize) as u64;
                let numbers = start..(start + random.below(8) as u64).min(n_subproblems);
                let portable = planned.subproblems().count(numbers.clone(), Kernel::Portable, &NEVER);
                for (kernel, subproblems) in Kernel::ALL.into_iter().zip(&mut subproblems) {
                    if kernel.is_available() {
                        let count = subproblems.count(numbers.clone(), kernel, &NEVER);
                        assert_eq!(
                            count, portable,
                            "n = {n}, {kernel}, {numbers:?} of {planned:?}, seed {seed}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn scratch_work() {
    let Ok(range) = std::env::var("QUEENS_SCRATCH") else { return };
    for n in range.split(',').map(|n| n.parse().expect("n")) {
        let began = std::time::Instant::now();
        let plan = plan(n);
        let took = began.elapsed();
        let (mut sum, mut nodes, mut square, mut k) = (0.0, 0.0, 0.0, 0.0);
        if n <= 19 {
            for planned in plan.parts() {
                let all = 0..planned.choice().n_subproblems;
                let counted = planned.subproblems().count(all, Kernel::best(), &NEVER).expect("x");
                let (est, real) = (planned.choice().work as f64, counted.nodes as f64);
                sum += est;
                nodes += real;
                square += (est - real).powi(2) / real.max(1.0);
                k += real;
            }
        }
        eprintln!(
            "n={n} parts={} plan took {took:?} work={:.4e} est/real={:.4} rms weighted {:.3} nodes {nodes:.4e}",
            plan.parts().len(),
            plan.work() as f64,
            sum / nodes,
            (square / k).sqrt()
        );
    }
}
