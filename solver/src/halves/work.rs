//! The work of halves, and estimates of it.
//!
//! What the work of a subproblem is stands in [`unit`](super::unit).
//!
//! How much a part has is estimated by two estimators, as for the search. A *shape* tells parts from one another:
//! whether a half has many placements depends on how far its columns are from each other. Two queens in columns at a
//! distance of d, and in any two of m rows, attack each other with a probability of 2 (m − d) / m (m − 1) if d < m. The
//! product over all pairs of columns of either half of the complement of that, to the power of 3/2, is what the pairs
//! of a set of columns are in proportion to, with an error (root mean square) of 21 % at n = 16, 17 % at 18 and 15 % at
//! 20, and for odd n, where it is corrected by where the middle row's queen stands, of 28 % at 17 and 20 % at 21. The
//! exponent is a fit, 1.49 to 1.55 for even n. A part is the mean of some of its sets. How many pairs there are in all
//! is told without bias by random descents: at each row go to a random square that is free and multiply by how many
//! there were (Knuth 1975).
//!
//! Only additions, multiplications, divisions and square roots are used. IEEE 754 rounds these alike everywhere, so the
//! same plan has the same estimates on any machine.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::board::BoardSize;
use crate::choice::{Choice, PlanProgress};
use crate::halves::columns::{Columns, Middle, members};
use crate::halves::descent::Descents;
use crate::halves::parts::HalvesPart;
use crate::halves::unit::pairs_per_unit;
use crate::parallel::parallel;
use crate::split_mix::SplitMix;
use crate::symmetry::Symmetry;

/// Sets of columns whose mean stands for a part.
const N_SETS: u64 = 128;

/// Random descents that tell how much work a board is. One scatters by some 12 (n = 16) to 18 times (28) its mean.
const N_DESCENTS: u32 = 1 << 18;

/// What is decided about each of the parts. `None` if `stop` is set before the end, or if a thread can't be started.
pub(crate) fn choices(
    n: BoardSize,
    parts: &[HalvesPart],
    n_threads: NonZeroUsize,
    stop: &AtomicBool,
    progress: &PlanProgress,
) -> Option<Vec<Choice>> {
    let go_on = |_| !stop.load(Ordering::Relaxed);
    let shape = Shape::new(n);
    let shapes = parallel(n_threads, parts.len(), go_on, |i| {
        progress.step();
        shape.of(&parts[i])
    });
    let shapes = shapes.ok().filter(|shapes| shapes.len() == parts.len())?;
    let scale = scale(n, parts, &shapes);
    let choice = |(part, shape): (&HalvesPart, f64)| Choice {
        image: Symmetry::IDENTITY,
        n_subproblems: part.n_subproblems(),
        work: whole_units(scale * shape),
    };
    Some(parts.iter().zip(shapes).map(choice).collect())
}

/// What the work of parts of one board is in proportion to.
pub(crate) struct Shape {
    /// By the distance of two columns.
    factors: [f64; 33],
}

impl Shape {
    pub(crate) fn new(n: BoardSize) -> Self {
        let m = f64::from(n.get() / 2);
        let mut factors = [1.0; 33];
        for (distance, factor) in (1..n.get() / 2).zip(&mut factors[1..]) {
            let free = 1.0 - 2.0 * (m - f64::from(distance)) / (m * (m - 1.0));
            *factor = free * free.sqrt();
        }
        Self { factors }
    }

    /// Of a part: the mean of some of its sets, as far apart as can be, times the number of its sets.
    fn of(&self, part: &HalvesPart) -> f64 {
        let n_sets = part.n_sets();
        let n_looked_at = n_sets.min(N_SETS);
        let sets = (0..n_looked_at).map(|i| part.set(i * n_sets / n_looked_at));
        let sum: f64 = sets.map(|upper| self.of_set(part.middle(), upper)).sum();
        sum * n_sets as f64 / n_looked_at as f64
    }

    /// Of one set of columns of the upper half.
    pub(crate) fn of_set(&self, middle: Middle, upper: Columns) -> f64 {
        if middle.factor(upper) == 0 {
            return 0.0;
        }
        self.of_half(upper) * self.of_half(middle.columns() & !upper) * of_middle(middle)
    }

    fn of_half(&self, columns: Columns) -> f64 {
        let mut product = 1.0;
        for right in members(columns) {
            for left in members(columns & ((1 << right) - 1)) {
                product *= self.factors[usize::from(right - left)];
            }
        }
        product
    }
}

/// The farther the middle row's queen is from the centre, the fewer pairs have weight.
fn of_middle(middle: Middle) -> f64 {
    match middle.queen() {
        Some(column) if middle.is_left() => (f64::from(column) / f64::from(middle.n_rows())).sqrt(),
        Some(_) => 0.85,
        None => 1.0,
    }
}

/// The work of the board, in units, over the sum of the shapes.
fn scale(n: BoardSize, parts: &[HalvesPart], shapes: &[f64]) -> f64 {
    let sum: f64 = shapes.iter().sum();
    if sum <= 0.0 {
        return 0.0;
    }
    let (descents, mut random) = (Descents::new(n), SplitMix::new(u64::from(n.get())));
    // Each part gets descents in proportion to its shape, so that all have the same weight.
    let (mut pairs, mut n_descents, mut ahead) = (0.0, 0_u32, 0.0);
    for (part, shape) in parts.iter().zip(shapes) {
        ahead += shape / sum * f64::from(N_DESCENTS);
        while f64::from(n_descents) + 0.5 < ahead && *shape > 0.0 {
            let set = part.random_set(&mut random);
            if part.middle().factor(set) > 0 {
                pairs += descents.pairs(part.middle(), set, &mut random) * part.n_sets() as f64 / shape;
            }
            n_descents += 1;
        }
    }
    pairs / f64::from(n_descents.max(1)) / pairs_per_unit(n) as f64
}

/// At least one unit, so that no part is without weight.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and below 2^100")]
fn whole_units(units: f64) -> u128 {
    (units.round() as u128).max(1)
}
