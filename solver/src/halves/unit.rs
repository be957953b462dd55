//! The unit of work.
//!
//! The work of halves is a number of pairs: for each queen next to the middle of the upper half and each two of the
//! lower half, the number of upper placements with that queen that these two don't attack, times the number of lower
//! placements with these two that that one does not attack; of both only those that may be of a pair that counts twice
//! (see [`transposition`](super::transposition)). That is a property of the board, however the lists are joined. All
//! that a join does goes with these lists' sizes, and it needs hardly more than to add these up.
//!
//! The larger the board, the more pairs are counted in one go, and the fewer of them fit.

use crate::board::BoardSize;

/// What a subproblem holds, before it is weighted by what its columns stand for.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Joined {
    pub(crate) solutions: u64,
    /// Pairs of halves that may fit and count twice, as far as their queens next to the middle tell.
    pub(crate) pairs: u128,
}

#[cfg(target_arch = "x86_64")]
impl Joined {
    /// Adds what one list of upper placements and at most 65,536 lower ones counted to, at most 2^45 as memory holds no
    /// more words.
    pub(crate) fn add(&mut self, solutions: u64) {
        self.solutions = self.solutions.checked_add(solutions).expect("a subproblem is small");
    }
}

/// Pairs that make a unit: so many that an AVX-512 thread does very roughly 10^9 units a second from n = 20 on.
pub(crate) fn pairs_per_unit(n: BoardSize) -> u64 {
    let m = u32::from(n.get() / 2);
    1 << (2 * m.saturating_sub(8))
}

/// The units of so many pairs of one subproblem: a whole number, rounded up.
pub(crate) fn units(n: BoardSize, pairs: u128) -> u64 {
    u64::try_from(pairs.div_ceil(pairs_per_unit(n).into())).expect("a subproblem is small")
}
