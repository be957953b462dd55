//! Measures samples of a board on several threads, and extrapolates to the whole board.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::num::NonZeroUsize;
use std::ops::Add;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use queens_counting::{CardProbe, ProbedChunk};
use queens_gpu::CardId;
use queens_platform::thread_time;
use queens_solver::{BoardSize, Count, Kernel, Method, Plan, SampledPart, Sampler, parallel};

/// The number of random descents for all parts together: they take a core-second or less and estimate the nodes within
/// some 1 %.
const DESCENTS_OF_ALL: usize = 400_000;

/// How long a card counts, after it has warmed up.
const PROBING_OF_CARD: Duration = Duration::from_secs(5);

/// A counted piece of a board: a sampled part, or a card's chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) count: Count,
    pub(crate) weight: u8,
    /// How many pieces it stands for.
    pub(crate) stands_for: f64,
    /// The seconds that a core, or the card, took.
    pub(crate) seconds: f64,
}

impl From<ProbedChunk> for Piece {
    fn from(ProbedChunk { count, weight, seconds }: ProbedChunk) -> Self {
        Self { count, weight, stands_for: 1.0, seconds }
    }
}

impl Piece {
    /// Counts a part.
    pub(crate) fn count(part: &SampledPart, kernel: Kernel) -> Self {
        let began = thread_time();
        let count = part.count(kernel);
        let seconds = thread_time().saturating_sub(began).as_secs_f64();
        Self { count, weight: part.weight, stands_for: part.stands_for, seconds }
    }
}

/// The counted pieces of a board.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) pieces: Vec<Piece>,
    /// Whether the pieces are the whole board.
    pub(crate) is_whole: bool,
}

/// An estimate from a sample, with its standard error relative to the value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) value: f64,
    pub(crate) error: f64,
}

impl Measured {
    /// Estimates Σa / Σb over the pairs (a, b) of a sample, 0 for an empty one. Computes the error by linearisation
    /// (Cochran, "Sampling techniques", 1977).
    pub(crate) fn ratio(pairs: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let n = pairs.clone().count() as f64;
        let (a, b) = pairs.clone().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        if a <= 0.0 || b <= 0.0 {
            return Self { value: 0.0, error: 0.0 };
        }
        let value = a / b;
        let squares: f64 = pairs.map(|(a, b)| (a - value * b).powi(2)).sum();
        Self { value, error: (squares * n / (n - 1.0).max(1.0)).sqrt() / a }
    }

    /// Returns a known value, without an error.
    pub(crate) const fn exact(value: f64) -> Self {
        Self { value, error: 0.0 }
    }

    /// Returns the product of two values with independent errors.
    pub(crate) fn times(self, other: Self) -> Self {
        Self { value: self.value * other.value, error: self.error.hypot(other.error) }
    }
}

/// Returns the name of a method's samples.
pub(crate) const fn samples_of(method: Method) -> &'static str {
    match method {
        Method::Search => "parts",
        Method::Halves => "samples of halves",
    }
}

/// The time for sampling, and the minimum number of samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probing {
    pub(crate) time: Duration,
    pub(crate) fewest: usize,
}

/// Counts the first samples of a board, as many as fit into the time.
pub(crate) fn probe(
    n: BoardSize,
    method: Method,
    kernel: Kernel,
    n_threads: NonZeroUsize,
    probing: Probing,
) -> anyhow::Result<(Sampler, Sample)> {
    let began = Instant::now();
    let sampler = Sampler::new(n, method);
    let go_on = |i| i < probing.fewest || began.elapsed() < probing.time;
    let count = |i| Piece::count(&sampler.part(i), kernel);
    let pieces = parallel(n_threads, sampler.n_samples(), go_on, count)?;
    let sample = Sample::of(&sampler, pieces);
    Ok((sampler, sample))
}

impl Sample {
    /// Returns the sample with these pieces, which are the sampler's first.
    pub(crate) fn of(sampler: &Sampler, pieces: Vec<Piece>) -> Self {
        let is_whole = sampler.samples_are_parts() && pieces.len() == sampler.n_samples();
        Self { pieces, is_whole }
    }

    /// Returns the weighted solutions of the pieces.
    pub(crate) fn solutions(&self) -> u128 {
        self.pieces.iter().map(|piece| u128::from(piece.weight) * u128::from(piece.count.solutions)).sum()
    }

    /// Returns the work of the pieces.
    pub(crate) fn work(&self) -> u128 {
        self.pieces.iter().map(|piece| u128::from(piece.count.work)).sum()
    }

    /// Returns the seconds that the pieces took.
    pub(crate) fn seconds(&self) -> f64 {
        self.pieces.iter().map(|piece| piece.seconds).fold(0.0, f64::add)
    }

    /// Returns the work of the whole board: the sum if the sample is the whole board, otherwise an estimate from random
    /// descents in all parts.
    pub(crate) fn board_work(&self, sampler: &Sampler, n_threads: NonZeroUsize) -> anyhow::Result<Measured> {
        if self.is_whole {
            return Ok(Measured::exact(self.work() as f64));
        }
        let n_samples = sampler.n_samples();
        let n_descents = u32::try_from(DESCENTS_OF_ALL / n_samples.max(1)).unwrap_or(u32::MAX).max(1);
        let all = parallel(n_threads, n_samples, |_| true, |i| sampler.work(i, n_descents))?;
        let mean = Measured::ratio(all.iter().map(|&work| (work, 1.0)));
        Ok(mean.times(Measured::exact(n_samples as f64)))
    }

    /// Returns the seconds of a core, or of the card, for the whole board, if it has this work.
    pub(crate) fn board_seconds(&self, board_work: Measured) -> Measured {
        self.extrapolate(board_work, |piece| piece.seconds)
    }

    /// Returns the solutions of the whole board, if it has this work.
    pub(crate) fn board_solutions(&self, board_work: Measured) -> Measured {
        self.extrapolate(board_work, |piece| f64::from(piece.weight) * piece.count.solutions as f64)
    }

    /// Extrapolates the sum of `term` from the work of the sample to that of the whole board.
    fn extrapolate(&self, board_work: Measured, term: impl Fn(&Piece) -> f64) -> Measured {
        if self.is_whole {
            return Measured::exact(self.pieces.iter().map(term).fold(0.0, f64::add));
        }
        let weighted =
            |piece: &Piece| (piece.stands_for * term(piece), piece.stands_for * piece.count.work as f64);
        Measured::ratio(self.pieces.iter().map(weighted)).times(board_work)
    }
}

/// Counts chunks of a board on a card for five seconds and up to ten more.
pub(crate) fn probe_card(card: CardId, kernel: Kernel, n: BoardSize) -> anyhow::Result<CardProbe> {
    let seed = RandomState::new().build_hasher().finish();
    queens_counting::probe_card(card, kernel, n, PROBING_OF_CARD, seed).map_err(|reason| anyhow!(reason))
}

/// Counts all of a board in this thread; `None` if `stop` ends the count.
pub(crate) fn count_board(n: BoardSize, method: Method, kernel: Kernel, stop: &AtomicBool) -> Option<u128> {
    let plan = Plan::new(n, method, NonZeroUsize::MIN, stop)?;
    let mut total = 0;
    for planned in plan.parts() {
        let all = 0..planned.choice().n_subproblems;
        let count = planned.subproblems().count(all, kernel, stop)?;
        total += u128::from(planned.weight()) * u128::from(count.solutions);
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use queens_solver::{BoardSize, Method, published};

    use super::*;

    #[track_caller]
    fn check_ratio(pairs: &[(f64, f64)], value: f64, error: f64) {
        let ratio = Measured::ratio(pairs.iter().copied());
        assert!((ratio.value - value).abs() < 1e-9 && (ratio.error - error).abs() < 1e-9, "{ratio:?}");
    }

    #[test]
    fn ratios_have_the_errors_of_the_textbook() {
        check_ratio(&[], 0.0, 0.0);
        check_ratio(&[(0.0, 0.0)], 0.0, 0.0);
        check_ratio(&[(3.0, 2.0)], 1.5, 0.0);
        check_ratio(&[(2.0, 1.0), (4.0, 2.0), (8.0, 4.0)], 2.0, 0.0);
        // With denominators of 1 it is the standard error of the mean: here 1 ± 1 / √3 in units of 2.
        check_ratio(&[(0.0, 1.0), (2.0, 1.0), (4.0, 1.0)], 2.0, 1.0 / 3.0_f64.sqrt());
    }

    fn sample(sampler: &Sampler, n_samples: usize, kernel: Kernel) -> Sample {
        Sample::of(sampler, (0..n_samples).map(|i| Piece::count(&sampler.part(i), kernel)).collect())
    }

    /// Returns the difference between the estimated and the published solutions of a board, in standard errors.
    fn deviation(n: BoardSize, method: Method, n_samples: usize) -> f64 {
        let sampler = Sampler::new(n, method);
        let sample = sample(&sampler, n_samples, Kernel::best());
        let work = sample.board_work(&sampler, NonZeroUsize::MIN).expect("no thread is started");
        let solutions = sample.board_solutions(work);
        let published = published(n).expect("up to 27 they are").solutions as f64;
        assert!(solutions.error < 0.12, "n = {n}, {method}: {solutions:?}");
        (solutions.value - published) / (solutions.error * published)
    }

    /// Descents and parts are the same each time, so the result does not depend on time.
    #[test]
    fn two_standard_errors_are_nearly_always_enough() {
        let deviation = |n| deviation(n, Method::Search, 100);
        let deviations: Vec<f64> = BoardSize::range(14, 27).map(deviation).collect();
        let n_within = deviations.iter().filter(|deviation| deviation.abs() < 2.0).count();
        assert!(n_within + 1 >= deviations.len(), "{deviations:?}");
        assert!(deviations.iter().all(|deviation| deviation.abs() < 3.0), "{deviations:?}");
        // Nor are the errors far too wide.
        assert!(deviations.iter().any(|deviation| deviation.abs() > 0.5), "{deviations:?}");
    }

    /// Estimates for boards with known solutions, each relative to the published number.
    #[derive(Debug, Default)]
    struct Estimates {
        /// Estimates from disjoint small samples.
        small: Vec<Measured>,
        /// One estimate for each board, from all its samples.
        large: Vec<Measured>,
    }

    impl Estimates {
        /// Adds this many small estimates of a board, from this many samples each.
        #[expect(clippy::print_stdout, reason = "the report of a long test")]
        fn add(&mut self, n: BoardSize, n_estimates: usize, n_samples: usize) {
            let sampler = Sampler::new(n, Method::Halves);
            let sample = sample(&sampler, n_estimates * n_samples, Kernel::best());
            let work = sample.board_work(&sampler, NonZeroUsize::MIN).expect("no thread is started");
            let published = published(n).expect("up to 27 they are").solutions as f64;
            let estimate = |some: &[Piece]| {
                let some = Sample::of(&sampler, some.to_vec());
                let Measured { value, error } = some.board_solutions(work);
                Measured { value: value / published, error }
            };
            self.small.extend(sample.pieces.chunks(n_samples).map(estimate));
            let all = estimate(&sample.pieces);
            println!("n = {n}: {:.4} of the published number, ± {:.4}", all.value, all.error);
            self.large.push(all);
        }

        /// Returns a fault of these estimates after multiplying their values and their errors: the published numbers
        /// are too far away, or the stated errors are wrong.
        fn fault(&self, times: f64, errors_times: f64) -> Option<String> {
            let off = |estimate: &Measured| (times * estimate.value - 1.0) / (errors_times * estimate.error);
            let share = |is: fn(f64) -> bool| {
                let n_such = self.small.iter().map(off).filter(|&off| is(off)).count();
                n_such as f64 / self.small.len() as f64
            };
            let within = [share(|off| off.abs() < 1.0), share(|off| off.abs() < 2.0)];
            // A normal distribution has 0.68 and 0.95.
            let holds = (0.5..0.86).contains(&within[0]) && within[1] > 0.84;
            // The mean over all boards, each weighted by the inverse square of its error.
            let weight = |estimate: &Measured| (errors_times * estimate.error).powi(-2);
            let sum: f64 = self.large.iter().map(weight).sum();
            let mean = self.large.iter().map(|large| weight(large) * times * large.value).sum::<f64>() / sum;
            let of_all = (mean - 1.0) * sum.sqrt();
            let farthest = self.large.iter().map(off).fold(0.0, |far: f64, off| far.max(off.abs()));
            (!holds || farthest > 3.5 || of_all.abs() > 3.0).then(|| {
                format!("within 1 and 2 errors {within:?}; errors off: all {of_all:.2}, one {farthest:.2}")
            })
        }
    }

    /// Compares estimates by halves with the published solutions, within the stated errors. Takes seconds up to n = 20,
    /// and minutes up to 26, which QUEENS_HALVES selects.
    #[test]
    fn estimates_by_halves_are_off_by_their_errors() {
        let largest =
            std::env::var("QUEENS_HALVES").map_or(20, |n| n.parse().expect("QUEENS_HALVES is a number"));
        let mut estimates = Estimates::default();
        // Samples of n = 18 and 19 are whole parts: 72 and 276, which take long.
        for n in BoardSize::range(if largest > 20 { 18 } else { 20 }, largest) {
            let n_estimates = match n.get() {
                18 => 1,
                19 => 3,
                24.. => 8,
                _ => 40,
            };
            estimates.add(n, n_estimates, 32);
        }
        assert_eq!(estimates.fault(1.0, 1.0), None);
        // The check would find a bias, and errors that are stated too small or too large.
        for (times, errors_times) in [(1.1, 1.0), (0.9, 1.0), (1.0, 0.5), (1.0, 2.0)] {
            assert!(estimates.fault(times, errors_times).is_some(), "{times}, {errors_times}");
        }
    }

    #[test]
    fn the_whole_board_is_not_estimated() {
        for (n, method) in [0, 2, 8, 12].into_iter().flat_map(|n| Method::ALL.map(|method| (n, method))) {
            let n = BoardSize::new(n).expect("a board size");
            let sampler = Sampler::new(n, method);
            let sample = sample(&sampler, sampler.n_samples(), Kernel::Portable);
            let work = sample.board_work(&sampler, NonZeroUsize::MIN).expect("no thread is started");
            let solutions = sample.board_solutions(work);
            let published = published(n).expect("up to 27 they are").solutions as f64;
            assert_eq!((solutions.value, solutions.error, work.error), (published, 0.0, 0.0), "n = {n}");
        }
    }
}
