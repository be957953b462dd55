//! Estimates of a cross's work, in nodes, without counting it.
//!
//! Two estimators are combined. The numbers of allowed squares compare the trees of a cross's images, and crosses with
//! one another. They predict a cross's nodes within about 15 % (root mean square; n = 15 to 19), where assuming all
//! equal errs by 30 to 45 %. Random descents estimate the size of a tree without bias (Knuth 1975, "Estimating the
//! efficiency of backtrack programs"): at each level they go to a random surviving child and multiply by the number of
//! children. One descent scatters widely, so they are averaged over many crosses.
//!
//! Only additions, multiplications and square roots are used. IEEE 754 rounds these alike everywhere, so the same plan
//! has the same estimates on any machine.

use crate::free_rows::{FreeRows, RowState, bits};
use crate::pruning::surviving;
use crate::split_mix::SplitMix;

/// The last rows do not make a tree wider, as few queens are left to choose.
const N_LAST_ROWS: usize = 6;

/// Returns the width of a tree, to compare the images of one cross: the product of the allowed squares of all except
/// the last six rows.
///
/// A tree is small if its narrow rows come first. Taking the image with the smallest product saves 5 to 8 % of the
/// nodes (n = 15 to 19). The smallest tree saves one per cent more, the fewest nodes after three or four rows less.
pub(crate) fn width(free: &FreeRows) -> f64 {
    let n_rows = free.len().saturating_sub(N_LAST_ROWS);
    product(&free.allowed_counts()[..n_rows])
}

/// Returns the nodes of a searched image, up to a factor for all crosses of one size and number of queens.
///
/// `crosswise` is the image with rows and columns exchanged. The exponents are a fit over crosses of n = 15 to 19 (0.5
/// to 0.6 and 0.35 to 0.5), rounded to square roots.
pub(crate) fn shape(searched: &FreeRows, crosswise: &FreeRows) -> f64 {
    (width(searched) * product(&crosswise.allowed_counts())).sqrt()
}

fn product(counts: &[u32]) -> f64 {
    counts.iter().map(|&count| f64::from(count)).product()
}

/// Estimates the nodes of a cross's tree without bias, by one random descent.
pub(crate) fn descent(free: &FreeRows, random: &mut SplitMix) -> f64 {
    let mut rows = free.as_slice();
    let mut state = RowState::EMPTY;
    let (mut product, mut nodes) = (1.0, 0.0);
    while let [row, below @ ..] = rows
        && below.len() >= 2
    {
        let children = bits(state.free(row.allowed))
            .map(|queen| state.with(queen).down(row.step))
            .filter(|&child| surviving(below, free.columns, child).is_some());
        let n_children = children.clone().count();
        let Some(child) = children.clone().nth(random.below(n_children)) else { break };
        product *= n_children as f64;
        nodes += product;
        state = child;
        rows = below;
    }
    nodes
}
