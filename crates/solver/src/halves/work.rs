//! Estimates the work of the halves method (see [`unit`](super::unit)).
//!
//! Two estimators are combined, as for the search. The spread (`spread`) distributes work among parts, and random
//! descents (`descent`) estimate the total number of pairs without bias.
//!
//! Only additions, multiplications, divisions and square roots are used. IEEE 754 rounds these alike everywhere, so the
//! same plan has the same estimates on any machine.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::board::BoardSize;
use crate::choice::{Choice, PlanProgress};
use crate::halves::descent::Descents;
use crate::halves::parts::HalvesPart;
use crate::halves::spread::Spread;
use crate::halves::unit::pairs_per_unit;
use crate::parallel::parallel;
use crate::split_mix::SplitMix;
use crate::symmetry::Symmetry;

/// Random descents for a board's total. A single one scatters by about 12 (n = 16) to 18 times (28) its mean.
const N_DESCENTS: u32 = 1 << 17;

/// Returns the planned choice for each part. `None` if `stop` is set before the end, or if a thread can't be started.
pub(crate) fn choices(
    n: BoardSize,
    parts: &[HalvesPart],
    n_threads: NonZeroUsize,
    stop: &AtomicBool,
    progress: &PlanProgress,
) -> Option<Vec<Choice>> {
    let go_on = |_| !stop.load(Ordering::Relaxed);
    let spread = Spread::new(n);
    let spreads = parallel(n_threads, parts.len(), go_on, |i| {
        progress.step();
        spread.of(&parts[i])
    });
    let spreads = spreads.ok().filter(|spreads| spreads.len() == parts.len())?;
    let scale = scale(n, parts, &spreads);
    let choice = |(part, spread): (&HalvesPart, f64)| Choice {
        image: Symmetry::IDENTITY,
        n_subproblems: part.n_subproblems(),
        work: whole_units(scale * spread),
    };
    Some(parts.iter().zip(spreads).map(choice).collect())
}

/// Returns the work of the board, in units, divided by the sum of the spreads.
fn scale(n: BoardSize, parts: &[HalvesPart], spreads: &[f64]) -> f64 {
    let sum: f64 = spreads.iter().sum();
    if sum <= 0.0 {
        return 0.0;
    }
    let (descents, mut random) = (Descents::new(n), SplitMix::new(u64::from(n.get())));
    // Each part gets descents in proportion to its spread, so that all descents have the same weight.
    let (mut pairs, mut n_descents, mut ahead) = (0.0, 0_u32, 0.0);
    for (part, spread) in parts.iter().zip(spreads) {
        ahead += spread / sum * f64::from(N_DESCENTS);
        while f64::from(n_descents) + 0.5 < ahead && *spread > 0.0 {
            let set = part.random_set(&mut random);
            if part.middle.factor(set) > 0 {
                pairs += descents.pairs(part.middle, set, &mut random) * part.n_sets() as f64 / spread;
            }
            n_descents += 1;
        }
    }
    pairs / f64::from(n_descents.max(1)) / pairs_per_unit(n) as f64
}

/// Rounds to at least one unit, so that every part has work.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and below 2^100")]
fn whole_units(units: f64) -> u128 {
    (units.round() as u128).max(1)
}
