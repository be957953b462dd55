//! Counts the ways to place queens in some rows so that none attacks another, without visiting each way.
//!
//! A plan needs this number for tens of thousands of crosses, and it is about ten millions for each of them at n = 28:
//! 2.6 · 10^11 prefixes in all. The walk covers only the rows above the last three, which leaves 2 · 10^8 states.
//!
//! **Three rows in closed form.** Let A, B and C be the free squares of three rows, top to bottom. Take a square of
//! each, in |A| · |B| · |C| ways. Those ways count in which none of the three pairs attack each other. By inclusion
//! and exclusion over the pairs, that is all ways,
//!
//! - less, for each pair of rows, the pairs of squares that attack each other, times the squares of the third row;
//! - plus, for each row, the ways in which its square is attacked from both other rows: the sum over its squares of the
//!   number of [`Attackers`] in one row times that in the other;
//! - less the ways in which all three attack each other. Those three squares stand in a column or on a diagonal; or, if
//!   the middle row is as far from the one above as from the one below, as one of these two:
//!
//! ```text
//!   a . .     . . a
//!   . b .     . b .      c stands in the column of a, and b on diagonals of both
//!   c . .     . . c
//! ```
//!
//! A square has at most three attackers in another row, so each of these terms is a few popcounts, 26 in all.
//!
//! **Blocks.** The three masks of each state wait in small arrays. The loop over a full array is arithmetic on words
//! without a branch, which the compiler vectorises.
//!
//! `docs/KERNEL.md` lists the rejected alternatives.

use crate::free_rows::{FreeRow, RowState, bits};

/// The most states that wait.
const CAPACITY: usize = 256;

/// Counts the ways to place a queen in each of `rows`, so that none is attacked, below the queens of `state`.
pub(crate) fn count(rows: &[FreeRow], state: RowState) -> u64 {
    match rows {
        [above @ .., a, b, c] => {
            let mut block = Block::new(a.step, b.step);
            block.gather(above, &[*a, *b, *c], state);
            block.empty();
            block.sum
        }
        [row, below @ ..] => {
            let children = bits(state.free(row.allowed)).map(|queen| state.with(queen).down(row.step));
            children.map(|child| count(below, child)).sum()
        }
        [] => 1,
    }
}

/// States with three rows left, and the count below earlier states.
struct Block {
    /// The free squares of the three rows, for each state.
    free: [[u32; CAPACITY]; 3],
    len: usize,
    steps: Steps,
    /// Saturates instead of wrapping; no count gets there in practice.
    sum: u64,
}

/// The distance from the first row to the second, and from the second to the third.
#[derive(Clone, Copy)]
struct Steps {
    upper: u32,
    lower: u32,
}

impl Block {
    fn new(upper: u8, lower: u8) -> Self {
        let steps = Steps { upper: upper.into(), lower: lower.into() };
        Self { free: [[0; CAPACITY]; 3], len: 0, steps, sum: 0 }
    }

    /// Adds the states that queens in the rows `above` make, seen from the last three rows.
    fn gather(&mut self, above: &[FreeRow], last: &[FreeRow; 3], state: RowState) {
        let [row, above @ ..] = above else { return self.push(last, state) };
        for child in bits(state.free(row.allowed)).map(|queen| state.with(queen).down(row.step)) {
            match above {
                [] => self.push(last, child),
                _ => self.gather(above, last, child),
            }
        }
    }

    #[inline(always)]
    fn push(&mut self, last: &[FreeRow; 3], mut state: RowState) {
        if self.len == CAPACITY {
            self.empty();
        }
        for (free, row) in self.free.iter_mut().zip(last) {
            free[self.len] = state.free(row.allowed);
            state = state.down(row.step);
        }
        self.len += 1;
    }

    /// Counts below all waiting states.
    fn empty(&mut self) {
        let free = self.free.each_ref().map(|free| &free[..self.len]);
        let counted = below_all(free, self.steps);
        self.sum = self.sum.saturating_add(counted.into());
        self.len = 0;
    }
}

/// Counts the ways to fill three rows, summed over states with these free squares.
fn below_all(free: [&[u32]; 3], steps: Steps) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the only feature that the function needs.
        return unsafe { below_all_avx2(free, steps) };
    }
    below_all_inlined(free, steps)
}

/// Does the same, compiled to vectors of eight words.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn below_all_avx2(free: [&[u32]; 3], steps: Steps) -> u32 {
    below_all_inlined(free, steps)
}

#[inline(always)]
fn below_all_inlined([a, b, c]: [&[u32]; 3], steps: Steps) -> u32 {
    // A loop, as an iterator's closures would be compiled without the features of the function that inlines this.
    let mut sum = 0;
    for ((&a, &b), &c) in a.iter().zip(b).zip(c) {
        sum += three_rows(a, b, c, steps);
    }
    sum
}

/// Counts the ways to take a square of each of three rows so that none attacks another.
#[inline(always)]
fn three_rows(a: u32, b: u32, c: u32, Steps { upper, lower }: Steps) -> u32 {
    let both = upper + lower;
    let (a_from_b, a_from_c) = (Attackers::new(a, b, upper), Attackers::new(a, c, both));
    let (b_from_a, b_from_c) = (Attackers::new(b, a, upper), Attackers::new(b, c, lower));
    let (c_from_a, c_from_b) = (Attackers::new(c, a, both), Attackers::new(c, b, lower));
    let paths = a_from_b.times(a_from_c) + b_from_a.times(b_from_c) + c_from_a.times(c_from_b);
    let [n_a, n_b, n_c] = [a, b, c].map(u32::count_ones);
    let pairs = a_from_b.sum() * n_c + a_from_c.sum() * n_b + b_from_c.sum() * n_a;
    // All squares or none, without a branch.
    let halfway = if upper == lower { u32::MAX } else { 0 };
    let triangles = (a & b & c).count_ones()
        + (a << both & b << lower & c).count_ones()
        + (a >> both & b >> lower & c).count_ones()
        + (a & c & b << upper & halfway).count_ones()
        + (a & c & b >> upper & halfway).count_ones();
    n_a * n_b * n_c + paths - pairs - triangles
}

/// The number of free squares of another row that attack each free square of a row, 0 to 3, as binary digits.
#[derive(Clone, Copy)]
struct Attackers {
    ones: u32,
    twos: u32,
}

impl Attackers {
    /// Counts the attackers of the squares `of` in the row of the squares `from`, at this distance in either direction.
    #[inline(always)]
    fn new(of: u32, from: u32, distance: u32) -> Self {
        let (column, rising, falling) = (from, from << distance, from >> distance);
        let ones = column ^ rising ^ falling;
        let twos = column & rising | (column ^ rising) & falling;
        Self { ones: of & ones, twos: of & twos }
    }

    /// Returns the sum of the numbers over all squares.
    #[inline(always)]
    fn sum(self) -> u32 {
        self.ones.count_ones() + 2 * self.twos.count_ones()
    }

    /// Returns the sum over all squares of the products with other numbers.
    #[inline(always)]
    fn times(self, other: Self) -> u32 {
        (self.ones & other.ones).count_ones()
            + 2 * ((self.ones & other.twos).count_ones() + (self.twos & other.ones).count_ones())
            + 4 * (self.twos & other.twos).count_ones()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Counts by visiting each placement except for its last queen.
    fn walked(rows: &[FreeRow], state: RowState) -> u64 {
        let [row, below @ ..] = rows else { return 1 };
        if below.is_empty() {
            return state.free(row.allowed).count_ones().into();
        }
        bits(state.free(row.allowed)).map(|queen| walked(below, state.with(queen).down(row.step))).sum()
    }

    fn rows() -> impl Strategy<Value = Vec<FreeRow>> {
        // Sparse, dense and whole rows of allowed squares.
        let allowed =
            prop_oneof![any::<u32>(), (any::<u32>(), any::<u32>()).prop_map(|(a, b)| a | b), Just(!0)];
        let row = (1_u8..=3, allowed).prop_map(|(step, allowed)| FreeRow { row: 0, step, allowed });
        prop::collection::vec(row, 0..=5)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        /// Any rows, distances and queens above: more than a cross can leave.
        #[test]
        fn as_many_are_counted_as_a_walk_meets(
            rows in rows(),
            columns in any::<u32>(),
            (rising, falling) in (any::<u32>(), any::<u32>()),
            thin in any::<bool>(),
        ) {
            let state = if thin {
                RowState { columns: columns & rising & falling, rising: 0, falling: 0 }
            } else {
                RowState { columns, rising, falling }
            };
            prop_assert_eq!(count(&rows, state), walked(&rows, state));
        }

        /// The compiler makes two versions of the loop, which must agree.
        #[test]
        fn vectors_count_what_words_do(
            free in prop::collection::vec(any::<[u32; 3]>(), 0..=CAPACITY),
            upper in 1_u32..=3,
            lower in 1_u32..=3,
        ) {
            let rows = [0, 1, 2].map(|row| free.iter().map(|free| free[row]).collect::<Vec<_>>());
            let (rows, steps) = (rows.each_ref().map(Vec::as_slice), Steps { upper, lower });
            prop_assert_eq!(below_all(rows, steps), below_all_inlined(rows, steps));
        }
    }
}
