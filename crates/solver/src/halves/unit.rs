//! The work unit of the halves method.
//!
//! The work is a number of pairs: a sum over all queens u in the first row above and a, b in the first two below. Each
//! term is a product. One factor counts the upper placements with u that a and b do not attack. The other counts the
//! lower placements with a and b that u does not attack. Both include only placements that may belong to a pair that
//! counts twice (see [`transposition`](super::transposition)). So work is a property of the board, whatever the join.
//! The time of a join is in proportion to these lists' sizes, and adding them up is nearly free.
//!
//! The larger the board, the more pairs are counted at a time, and the fewer of them fit.

use crate::board::BoardSize;

/// The counts of a subproblem, before its columns' factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Joined {
    pub(crate) solutions: u64,
    /// Pairs of placements that may fit and count twice, judging by the queens of the first rows.
    pub(crate) pairs: u128,
}

impl Joined {
    /// Adds the count of one upper list and at most 65,536 lower placements: at most 2^45, as memory holds no more
    /// words.
    pub(crate) fn add(&mut self, solutions: u64) {
        self.solutions = self.solutions.checked_add(solutions).expect("a subproblem is small");
    }
}

/// Returns the number of pairs in a unit. An AVX-512 thread does very roughly 10^9 units a second from n = 20 on.
pub(crate) fn pairs_per_unit(n: BoardSize) -> u64 {
    let m = u32::from(n.get() / 2);
    1 << (2 * m.saturating_sub(8))
}

/// Returns the units for the pairs of one subproblem, rounded up.
pub(crate) fn units(n: BoardSize, pairs: u128) -> u64 {
    u64::try_from(pairs.div_ceil(pairs_per_unit(n).into())).expect("a subproblem is small")
}
