//! Estimates of a cross's work, in nodes, without counting it.
//!
//! Two estimators are combined. The number of nodes in the first few levels of a tree is cheap and tells crosses
//! apart (it predicts a cross's nodes within some 30 %, where assuming them equal errs by 50 to 100 %), but not how
//! large a tree is. Random descents give that without bias (Knuth 1975, "Estimating the efficiency of backtrack
//! programs"): at each level go to a random surviving child and multiply by how many there were. One descent
//! scatters widely, so they are averaged over many crosses.
//!
//! Only additions, multiplications and square roots are used, which IEEE 754 rounds alike everywhere: whoever makes
//! the same plan gets the same estimates.

use crate::free_rows::{FreeRow, FreeRows, State, bits};
use crate::pruning::surviving;

/// The number of nodes in the lowest of the first `levels` levels of a cross's tree.
pub(crate) fn width(free: &FreeRows, levels: usize) -> u64 {
    width_below(free.as_slice(), State::EMPTY, levels)
}

fn width_below(rows: &[FreeRow], state: State, levels: usize) -> u64 {
    let (Some((row, below)), false) = (rows.split_first(), levels == 0) else { return 1 };
    bits(state.free(row.allowed))
        .map(|queen| state.with(queen).down(row.step))
        .filter(|&child| surviving(below, child).is_some())
        .map(|child| width_below(below, child, levels - 1))
        .sum()
}

/// How the widths of a cross's four trees predict the nodes of the one that is searched.
///
/// `own` is the width of the searched image, `crosswise` those of the two images with rows and columns exchanged,
/// which see the same constraints from the sides. The exponents are a fit over all images of a sample of crosses of
/// n = 14 to 18 (0.65 to 0.8 and 0.4 to 0.6), rounded to what square roots can do.
pub(crate) fn shape(own: u64, crosswise: [u64; 2]) -> f64 {
    let own = (own as f64).sqrt();
    let crosswise = crosswise[0] as f64 * crosswise[1] as f64;
    own * own.sqrt() * crosswise.sqrt()
}

/// One random descent: an unbiased estimate of the nodes of a cross's tree.
pub(crate) fn descent(free: &FreeRows, random: &mut SplitMix) -> f64 {
    let mut rows = free.as_slice();
    let mut state = State::EMPTY;
    let (mut product, mut nodes) = (1.0, 0.0);
    while let [row, below @ ..] = rows
        && below.len() >= 2
    {
        let children = bits(state.free(row.allowed))
            .map(|queen| state.with(queen).down(row.step))
            .filter(|&child| surviving(below, child).is_some());
        let n_children = children.clone().count();
        let Some(child) = children.clone().nth(random.below(n_children)) else { break };
        product *= n_children as f64;
        nodes += product;
        state = child;
        rows = below;
    }
    nodes
}

/// A small fixed pseudo-random sequence (Steele, Lea and Flood 2014), so that estimates and searches repeat.
#[derive(Clone, Debug)]
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    /// Any 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, 0 if that is 0; it must be below 2^32, of which it makes the bias.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((self.next() >> 32) as usize * bound) >> 32
    }
}
