//! Samples of the halves method: subproblems that are counted to estimate a board's time.

use std::ops::Range;

use crate::board::BoardSize;
use crate::halves::descent::Descents;
use crate::halves::parts::HalvesPart;
use crate::halves::spread::Spread;
use crate::halves::unit::pairs_per_unit;
use crate::split_mix::SplitMix;

/// The largest n where samples are whole parts.
const WHOLE_TO: u8 = 19;

/// Samples of each part on larger boards.
const N_SAMPLES: usize = 16;

/// Candidate sets for each counted set. One is drawn with a probability in proportion to its estimated work, so that
/// most samples come from where most work is.
const N_CANDIDATES: usize = 16;

/// The parts of a board, to draw samples from. See [`Sampler`](crate::Sampler).
///
/// A sample is one set of columns, with all queens of the first rows. If numbers fix such queens, it takes as many as
/// share lists ([`HalvesPart::n_in_run`]), and so pays for lists like a count.
#[derive(Clone, Debug)]
pub(crate) struct HalvesSampler {
    n: BoardSize,
    parts: Vec<HalvesPart>,
    spread: Spread,
    descents: Descents,
}

impl HalvesSampler {
    pub(crate) fn new(n: BoardSize, parts: Vec<HalvesPart>) -> Self {
        Self { n, parts, spread: Spread::new(n), descents: Descents::new(n) }
    }

    pub(crate) const fn samples_are_parts(&self) -> bool {
        self.n.get() <= WHOLE_TO
    }

    /// Returns the number of samples, the same for each part.
    pub(crate) fn n_samples(&self) -> usize {
        self.parts.len() * self.n_samples_of_part()
    }

    /// Estimates the work of a sample's part, divided by the number of its samples.
    pub(crate) fn work(&self, number: usize, n_descents: u32) -> f64 {
        let part = &self.parts[number % self.parts.len()];
        let mut random = SplitMix::new(stream(number, 0));
        let mut pairs = 0.0;
        for _ in 0..n_descents {
            let set = part.random_set(&mut random);
            if part.middle.factor(set) > 0 {
                pairs += self.descents.pairs(part.middle, set, &mut random);
            }
        }
        let mean = pairs / f64::from(n_descents.max(1));
        mean * part.n_sets() as f64 / pairs_per_unit(self.n) as f64 / self.n_samples_of_part() as f64
    }

    /// Returns the sample with this number, the same each time: subproblems of one part, and how many each stands for.
    pub(crate) fn sample(&self, number: usize) -> (HalvesPart, Range<u64>, f64) {
        let part = self.parts[number % self.parts.len()];
        if self.samples_are_parts() {
            return (part, 0..part.n_subproblems(), 1.0);
        }
        let mut random = SplitMix::new(stream(number, 1));
        let (rank, n_sets) = self.draw(&part, &mut random);
        let run = part.n_in_run();
        let n_runs = part.n_given() / run;
        let from = rank * part.n_given() + below(&mut random, n_runs) * run;
        let stands_for = n_sets * n_runs as f64 / self.n_samples_of_part() as f64;
        (part, from..from + run, stands_for)
    }

    /// Draws the number of a set of columns, and returns how many sets it stands for.
    ///
    /// Among equally likely candidates, one is drawn with a probability in proportion to its spread. It stands for more
    /// sets by the ratio of the candidates' mean spread to its own. So the mean over all draws is that of all sets,
    /// whatever the quality of the spreads.
    fn draw(&self, part: &HalvesPart, random: &mut SplitMix) -> (u64, f64) {
        let candidates: [u64; N_CANDIDATES] = std::array::from_fn(|_| below(random, part.n_sets()));
        let spreads = candidates.map(|rank| self.spread.of_set(part.middle, part.set(rank)));
        let sum: f64 = spreads.iter().sum();
        let mut left = sum * (random.next() >> 32) as f64 / (1_u64 << 32) as f64;
        for (rank, spread) in candidates.into_iter().zip(spreads) {
            if spread > 0.0 && left < spread {
                return (rank, part.n_sets() as f64 * sum / N_CANDIDATES as f64 / spread);
            }
            left -= spread;
        }
        // No candidate is canonical, or only a rounding error is left.
        (candidates[0], part.n_sets() as f64)
    }

    const fn n_samples_of_part(&self) -> usize {
        if self.samples_are_parts() { 1 } else { N_SAMPLES }
    }
}

/// Returns a random number below `bound`, which must be below 2^32.
fn below(random: &mut SplitMix, bound: u64) -> u64 {
    usize::try_from(bound).map_or(0, |bound| random.below(bound)) as u64
}

/// Returns the seed of a sample's pseudo-random sequence.
const fn stream(number: usize, purpose: u64) -> u64 {
    (purpose << 32) | number as u64
}
