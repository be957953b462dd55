//! The work of halves, and estimates of it.
//!
//! The work of a subproblem is the number of pairs of halves that are left to be tested when the queens of the first
//! two rows of both are known: none of these attacks a queen of the other half, and γ and δ give the pair a weight.
//! That is a property of the board, however the lists are joined, and what the fast versions spend most time on.
//!
//! How much a part has is estimated by two estimators, as for the search: `shape` tells parts from one another, and how
//! many pairs there are in all is told without bias by random descents (`descent`).
//!
//! Only additions, multiplications, divisions and square roots are used. IEEE 754 rounds these alike everywhere, so the
//! same plan has the same estimates on any machine.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::board::BoardSize;
use crate::choice::{Choice, PlanProgress};
use crate::halves::descent::Descents;
use crate::halves::parts::HalvesPart;
use crate::halves::shape::Shape;
use crate::parallel::parallel;
use crate::split_mix::SplitMix;
use crate::symmetry::Symmetry;

/// Pairs of halves that make a unit of work: so many that a fast thread does some 10^9 units a second.
pub(crate) const PAIRS_PER_UNIT: u128 = 256;

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
    pairs / f64::from(n_descents.max(1)) / PAIRS_PER_UNIT as f64
}

/// At least one unit, so that no part is without weight.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and below 2^100")]
fn whole_units(units: f64) -> u128 {
    (units.round() as u128).max(1)
}
