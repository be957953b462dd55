//! Samples of a board: parts that count in a fraction of a second, and rough sizes of all parts.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use crate::board::{BoardSize, Square};
use crate::halves::HalvesSampler;
use crate::kernel::Kernel;
use crate::method::Method;
use crate::part::halves_in_counting_order;
use crate::search_sample::CrossSampler;
use crate::span::Count;
use crate::subproblems::Subproblems;

/// The parts of a board by one method, to draw samples from.
#[derive(Clone, Debug)]
pub struct Sampler {
    n: BoardSize,
    of: SamplerOf,
}

#[derive(Clone, Debug)]
enum SamplerOf {
    Search(CrossSampler),
    Halves(Box<HalvesSampler>),
}

/// A sample: the counted piece of one part.
#[derive(Clone, Debug)]
pub struct SampledPart {
    /// The weight of the part.
    pub weight: u8,
    /// The factor from the sample's counts to the board's. For half boards the probability of each draw is known. So the
    /// sums over all samples, each multiplied by this, estimate the board's without bias. Samples of the search only
    /// give ratios, and this is 1.
    pub stands_for: f64,
    /// The queens whose completions the sample counts: the cross, and for large boards a prefix. Absent for half boards,
    /// where not all completions count.
    pub queens: Option<Vec<Square>>,
    subproblems: Subproblems,
    numbers: Range<u64>,
}

impl Sampler {
    /// Lists the parts of a board of size `n`, in [counting order](crate::parts_in_counting_order): the first are an
    /// even sample.
    #[must_use]
    pub fn new(n: BoardSize, method: Method) -> Self {
        let of = match method {
            Method::Search => SamplerOf::Search(CrossSampler::new(n)),
            Method::Halves => SamplerOf::Halves(Box::new(HalvesSampler::new(n, halves_in_counting_order(n)))),
        };
        Self { n, of }
    }

    /// Returns the size of the board.
    #[must_use]
    pub const fn n(&self) -> BoardSize {
        self.n
    }

    /// Returns the counting method.
    #[must_use]
    pub const fn method(&self) -> Method {
        match self.of {
            SamplerOf::Search(_) => Method::Search,
            SamplerOf::Halves(_) => Method::Halves,
        }
    }

    /// Returns the number of samples: one of each cross, one or several of each part of half boards.
    #[must_use]
    pub fn n_samples(&self) -> usize {
        match &self.of {
            SamplerOf::Search(crosses) => crosses.n_crosses(),
            SamplerOf::Halves(halves) => halves.n_samples(),
        }
    }

    /// Returns whether samples are whole parts, so that together they are the board.
    #[must_use]
    pub fn samples_are_parts(&self) -> bool {
        match &self.of {
            SamplerOf::Search(crosses) => crosses.parts_are_crosses(),
            SamplerOf::Halves(halves) => halves.samples_are_parts(),
        }
    }

    /// Estimates a sample's share of work by `n_descents` random descents: its part's work, divided by the part's
    /// number of samples. The sum over all samples is the work of the board.
    ///
    /// # Panics
    /// If there is no sample of this number.
    #[must_use]
    pub fn work(&self, number: usize, n_descents: u32) -> f64 {
        match &self.of {
            SamplerOf::Search(crosses) => crosses.work(number, n_descents),
            SamplerOf::Halves(halves) => halves.work(number, n_descents),
        }
    }

    /// Returns the sample with this number, the same each time.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn part(&self, number: usize) -> SampledPart {
        match &self.of {
            SamplerOf::Search(crosses) => {
                let (weight, queens) = crosses.part(number);
                // Without a row below them, the queens are one subproblem.
                let subproblems = Subproblems::below(self.n, &queens, 0);
                SampledPart { weight, stands_for: 1.0, queens: Some(queens), subproblems, numbers: 0..1 }
            }
            SamplerOf::Halves(halves) => {
                let (part, numbers, stands_for) = halves.sample(number);
                let (weight, subproblems) = (part.weight(), Subproblems::of_halves(part));
                SampledPart { weight, stands_for, queens: None, subproblems, numbers }
            }
        }
    }
}

impl SampledPart {
    /// Counts the sample.
    #[must_use]
    pub fn count(&self, kernel: Kernel) -> Count {
        let never = AtomicBool::new(false);
        self.subproblems.clone().count(self.numbers.clone(), kernel, &never).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classic;
    use crate::published::published;

    fn queens(part: &SampledPart) -> &[Square] {
        part.queens.as_deref().expect("it is of the search")
    }

    fn sampler(n: u8) -> Sampler {
        Sampler::new(BoardSize::new(n).expect("a board size"), Method::Search)
    }

    /// If samples are crosses, together they are the board.
    #[test]
    fn the_parts_of_small_boards_sum_to_the_published_counts() {
        for n in 0..=13 {
            let sampler = sampler(n);
            assert!(sampler.samples_are_parts());
            let parts = (0..sampler.n_samples()).map(|number| sampler.part(number));
            let total: u128 = parts
                .map(|part| u128::from(part.weight) * u128::from(part.count(Kernel::best()).solutions))
                .sum();
            assert_eq!(Some(total), published(sampler.n).map(|counts| counts.solutions), "n = {n}");
        }
    }

    /// Parts of large boards have the expected size and no attacks. Kernels and a textbook method count the same
    /// completions.
    #[test]
    fn the_parts_of_large_boards_are_small_and_alike() {
        for n in 19..=32 {
            let sampler = sampler(n);
            assert!(!sampler.samples_are_parts());
            let parts: Vec<SampledPart> = (0..32).map(|number| sampler.part(number)).collect();
            let counts: Vec<Count> = parts.iter().map(|part| part.count(Kernel::best())).collect();
            for part in &parts {
                let attacks = |a: &Square| queens(part).iter().filter(|b| a.attacks(**b)).count();
                // A square attacks itself.
                assert!(queens(part).iter().all(|queen| attacks(queen) == 1), "n = {n}: {part:?}");
            }
            let (smallest, count) =
                parts.iter().zip(&counts).min_by_key(|(_, count)| count.work).expect("there are 32");
            let textbook = classic::Method::Bitmask.count(sampler.n, queens(smallest));
            assert_eq!(textbook, Ok(count.solutions), "n = {n}: {smallest:?}");
            let mean = counts.iter().map(|count| count.work).sum::<u64>() / 32;
            assert!((100_000..3_000_000).contains(&mean), "n = {n}: {mean} nodes in the mean");
        }
    }

    /// The random descents in all crosses estimate the actual nodes.
    #[test]
    fn the_nodes_of_a_board_are_estimated_without_bias() {
        let sampler = sampler(15);
        let nodes: u64 =
            (0..sampler.n_samples()).map(|number| sampler.part(number).count(Kernel::best()).work).sum();
        let estimated: f64 = (0..sampler.n_samples()).map(|number| sampler.work(number, 256)).sum();
        assert!((estimated / nodes as f64 - 1.0).abs() < 0.01, "{estimated} instead of {nodes}");
    }

    /// Estimates the solutions and the work of a board, with their standard errors, by two samples of each part. Half
    /// the difference of the two is as far from the truth as their mean is.
    fn estimated(sampler: &Sampler, n_parts: usize) -> [(f64, f64); 2] {
        let n_each = sampler.n_samples() / n_parts;
        let (mut sums, mut variances) = ([0.0; 2], [0.0; 2]);
        for part in 0..n_parts {
            let two = [part, part + n_parts].map(|number| {
                let sample = sampler.part(number);
                let count = sample.count(Kernel::best());
                let solutions = f64::from(sample.weight) * count.solutions as f64;
                [solutions, count.work as f64].map(|value| value * sample.stands_for * n_each as f64)
            });
            for i in 0..2 {
                sums[i] += (two[0][i] + two[1][i]) / 2.0;
                variances[i] += ((two[0][i] - two[1][i]) / 2.0).powi(2);
            }
        }
        [0, 1].map(|i| (sums[i], variances[i].sqrt()))
    }

    /// Samples of half boards are unbiased: they agree with the published counts, and their work agrees with descents.
    #[test]
    fn samples_of_halves_estimate_the_board_without_bias() {
        let largest =
            std::env::var("QUEENS_HALVES").map_or(20, |n| n.parse().expect("QUEENS_HALVES is a number"));
        for n in 20..=largest {
            let sampler = Sampler::new(BoardSize::new(n).expect("a board size"), Method::Halves);
            assert!(!sampler.samples_are_parts());
            let n_parts = crate::parts_in_counting_order(sampler.n, Method::Halves).len();
            let [solutions, work] = estimated(&sampler, n_parts);
            let published = published(sampler.n).expect("it is").solutions as f64;
            let off = (solutions.0 - published) / solutions.1;
            assert!(off.abs() < 3.0, "n = {n}: {off} standard errors, {solutions:?}");
            assert!(solutions.1 < 0.05 * published, "n = {n}: {solutions:?}");
            let by_descents: f64 = (0..sampler.n_samples()).map(|number| sampler.work(number, 64)).sum();
            assert!((by_descents / work.0 - 1.0).abs() < 0.15, "n = {n}: {by_descents}, {work:?}");
        }
    }

    /// Up to n = 19 samples of half boards are parts, and together they are the board.
    #[test]
    fn the_samples_of_small_boards_by_halves_sum_to_the_published_counts() {
        for n in 0..=12 {
            let sampler = Sampler::new(BoardSize::new(n).expect("a board size"), Method::Halves);
            assert!(sampler.samples_are_parts());
            let samples = (0..sampler.n_samples()).map(|number| sampler.part(number));
            let total: u128 = samples
                .map(|sample| u128::from(sample.weight) * u128::from(sample.count(Kernel::best()).solutions))
                .sum();
            assert_eq!(Some(total), published(sampler.n).map(|counts| counts.solutions), "n = {n}");
        }
    }
}
