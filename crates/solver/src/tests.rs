//! Tests that cover several modules of the crate.

mod decomposition;
mod example;
mod halves;
mod kernels;
mod oeis;

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use crate::{BoardSize, Kernel, Method, Plan, published};

#[expect(unreachable_pub, reason = "it belongs to the crate of the whole-system tests as well")]
#[expect(dead_code, reason = "these tests do not need all of it")]
#[path = "../../../tests/src/skip.rs"]
mod skip;

static NEVER: AtomicBool = AtomicBool::new(false);

fn size(n: u8) -> BoardSize {
    BoardSize::new(n).expect("a board size")
}

fn available() -> impl Iterator<Item = Kernel> {
    Kernel::ALL.into_iter().filter(|kernel| kernel.is_available())
}

fn plan_by(method: Method, n: u8) -> Plan {
    Plan::new(size(n), method, NonZeroUsize::MIN, &NEVER).expect("nobody stops it")
}

/// Checks that all parts of a board add up to the published count.
#[track_caller]
fn check_total(method: Method, n: u8, kernel: Kernel) {
    let plan = plan_by(method, n);
    let mut total = 0;
    for planned in plan.parts() {
        let all = 0..planned.choice().n_subproblems;
        let counted = planned.subproblems().count(all, kernel, &NEVER).expect("nobody stops it");
        total += u128::from(planned.weight()) * u128::from(counted.solutions);
    }
    assert_eq!(Some(total), published(size(n)).map(|counts| counts.solutions), "n = {n}, {kernel}");
}
