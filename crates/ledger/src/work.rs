//! The estimated work of spans, in work units.

use queens_solver::{Plan, Span};

/// Returns the estimated work of a span, which should lie in the plan.
pub(crate) fn work_of(plan: &Plan, span: Span) -> u128 {
    plan.part(span.part()).map_or(0, |planned| {
        share_of_work(planned.choice().work, span.n_subproblems(), planned.choice().n_subproblems)
    })
}

/// Returns how many of a part's subproblems amount to about `work`.
pub(crate) fn n_subproblems_of(plan: &Plan, part: u32, work: u128) -> u64 {
    plan.part(part).map_or(0, |planned| {
        let all = u128::from(planned.choice().n_subproblems);
        u64::try_from(work.saturating_mul(all) / planned.choice().work.max(1)).unwrap_or(u64::MAX)
    })
}

/// Returns the share of `part` of `all` subproblems in `work`. As work stays below 2^80, no product reaches 2^128.
pub(crate) fn share_of_work(work: u128, part: u64, all: u64) -> u128 {
    if all == 0 { 0 } else { work * u128::from(part) / u128::from(all) }
}
