//! Samples of the search: parts that count in milliseconds, and rough sizes of whole crosses.
//!
//! A [`Plan`](crate::Plan) of a large board takes core-minutes, most of it to count subproblems. A sample needs no
//! numbers: a random descent reaches a part, which is counted like a cross with a few more queens. Samples yield ratios
//! (time for each node, solutions for each node), which hardly depend on the way of drawing. From n = 19 to 28, 5000
//! parts were drawn by descents. Weighing each by the number of parts it stands for changes the nodes for each solution
//! by less than a hundredth.

use crate::board::{BoardSize, Square};
use crate::cross::Cross;
use crate::free_rows::{FreeRows, RowState, bits};
use crate::part::crosses_in_counting_order;
use crate::pruning::surviving;
use crate::search_plan;
use crate::split_mix::SplitMix;
use crate::work;

/// Rows placed below a cross to make a part, for each n: its completions are about 10^5 to 10^6 nodes. Vector kernels
/// are as fast there as on long runs (no difference was measured from 2 · 10^5 nodes on).
const PART_DEPTHS: [u8; BoardSize::MAX as usize + 1] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // 0 to 18
    1, 2, 2, 3, 4, 5, 6, 6, 7, 8, 9, 10, 11, 12, // 19 to 32
];

/// Random descents tried to reach a part; nearly every second one succeeds.
const TRIES: usize = 1000;

/// The crosses of a board, to draw samples from. See [`Sampler`](crate::Sampler).
#[derive(Clone, Debug)]
pub(crate) struct CrossSampler {
    n: BoardSize,
    crosses: Vec<Cross>,
}

impl CrossSampler {
    /// Lists the crosses of a board of size `n`, in [counting order](crosses_in_counting_order): the first are an even
    /// sample.
    pub(crate) fn new(n: BoardSize) -> Self {
        Self { n, crosses: crosses_in_counting_order(n) }
    }

    /// Returns the number of crosses.
    pub(crate) fn n_crosses(&self) -> usize {
        self.crosses.len()
    }

    /// Returns whether parts are whole crosses, so that together they are the board.
    pub(crate) fn parts_are_crosses(&self) -> bool {
        self.part_depth() == 0
    }

    /// Estimates the nodes of a cross by `n_descents` random descents.
    ///
    /// # Panics
    /// If there is no cross of this number.
    pub(crate) fn work(&self, number: usize, n_descents: u32) -> f64 {
        let free = FreeRows::new(self.n, &self.queens(number));
        let mut random = SplitMix::new(stream(number, 0));
        let nodes: f64 = (0..n_descents).map(|_| work::descent(&free, &mut random)).sum();
        nodes / f64::from(n_descents.max(1))
    }

    /// Returns the weight of a cross, and the queens of its sampled part, the same each time.
    ///
    /// # Panics
    /// If there is no cross of this number.
    pub(crate) fn part(&self, number: usize) -> (u8, Vec<Square>) {
        let mut queens = self.queens(number);
        let free = FreeRows::new(self.n, &queens);
        let mut random = SplitMix::new(stream(number, 1));
        let mut prefix = Vec::new();
        for _ in 0..TRIES {
            prefix = random_prefix(&free, self.part_depth(), &mut random);
            if prefix.len() == self.part_depth() {
                break;
            }
        }
        queens.append(&mut prefix);
        (self.crosses[number].weight(), queens)
    }

    /// Returns the queens of a cross, on the image of its plan.
    fn queens(&self, number: usize) -> Vec<Square> {
        let cross = &self.crosses[number];
        cross.image(search_plan::image(cross))
    }

    fn part_depth(&self) -> usize {
        usize::from(PART_DEPTHS[usize::from(self.n.get())])
    }
}

/// Returns the seed of a cross's pseudo-random sequence.
const fn stream(number: usize, purpose: u64) -> u64 {
    (purpose << 32) | number as u64
}

/// Places queens in the first `depth` free rows, each on a random square that the pruning rule allows, as far as
/// possible.
fn random_prefix(free: &FreeRows, depth: usize, random: &mut SplitMix) -> Vec<Square> {
    let mut queens = Vec::new();
    let mut rows = free.as_slice();
    let mut state = RowState::EMPTY;
    while let ([row, below @ ..], true) = (rows, queens.len() < depth) {
        let children = bits(state.free(row.allowed))
            .map(|queen| (queen, state.with(queen).down(row.step)))
            .filter(|&(_, child)| surviving(below, free.columns, child).is_some());
        let number = random.below(children.clone().count());
        let Some((queen, child)) = children.clone().nth(number) else { break };
        #[expect(clippy::cast_possible_truncation, reason = "the place of a bit in a word")]
        let column = queen.trailing_zeros() as u8;
        queens.push(Square { row: row.row, column });
        state = child;
        rows = below;
    }
    queens
}
