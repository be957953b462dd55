//! The workers of a simulated cluster, and the true cost of subproblems.

use queens_solver::{Plan, Span, SplitMix};

/// Workers of one kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Team {
    /// The number of workers.
    pub(crate) n_workers: u32,
    /// The number of counting threads of each.
    pub(crate) n_threads: u32,
    /// The speed of the slowest and the fastest worker, all threads together, in cores.
    pub(crate) cores: (f64, f64),
    /// Whether the workers are cards.
    pub(crate) is_card: bool,
}

impl Team {
    /// Cards of these speeds. A card has two counting threads.
    pub(crate) const fn cards(n_workers: u32, slowest: f64, fastest: f64) -> Self {
        Self { n_workers, n_threads: 2, cores: (slowest, fastest), is_card: true }
    }

    /// Processors with this number of threads. They differ in speed by a quarter.
    pub(crate) const fn processors(n_workers: u32, n_threads: u32) -> Self {
        Self { n_workers, n_threads, cores: (0.8 * n_threads as f64, n_threads as f64), is_card: false }
    }

    /// Returns the speed of each thread of a worker, in cores.
    pub(crate) fn cores_of_thread(&self, worker: u32) -> f64 {
        let (slowest, fastest) = self.cores;
        let place = f64::from(worker) / f64::from(self.n_workers.max(2) - 1);
        (slowest + (fastest - slowest) * place) / f64::from(self.n_threads)
    }
}

/// The true work of the subproblems of a plan, which differs from the estimate.
#[derive(Debug)]
pub(crate) struct Truth {
    /// For each part, the factor by which its work differs from the estimate, and the phase of a wave within it.
    parts: Vec<(f64, f64)>,
}

/// The standard deviation of the time for a unit between parts (docs/HALVES.md).
const SPREAD_OF_PARTS: f64 = 0.3;

/// Within a part, neighbours are alike: the work of a subproblem follows a wave of three periods with this amplitude.
/// The work of each 32nd of a part varies as much at n = 20: by a fifth to four fifths of its mean (standard
/// deviation).
const AMPLITUDE: f64 = 0.6;
const N_PERIODS: f64 = 3.0;

impl Truth {
    /// Draws the true work of a plan's parts.
    pub(crate) fn of(plan: &Plan, random: &mut SplitMix) -> Self {
        let mut draw = |_| ((SPREAD_OF_PARTS * normal(random)).exp(), unit(random));
        Self { parts: plan.parts().iter().map(&mut draw).collect() }
    }

    /// Returns the true work of a span, with some noise for each of its subproblems.
    pub(crate) fn work(&self, plan: &Plan, span: Span, random: &mut SplitMix) -> f64 {
        let n = span.n_subproblems() as f64;
        let noise = (1.0 + normal(random) / n.sqrt()).max(0.05);
        self.mean_work(plan, span) * noise
    }

    /// Returns the true work of all parts.
    pub(crate) fn whole_work(&self, plan: &Plan) -> f64 {
        let whole = |part: u32| Span::new(part, 0, plan.part(part)?.choice().n_subproblems).ok();
        (0..).take(plan.parts().len()).filter_map(whole).map(|span| self.mean_work(plan, span)).sum()
    }

    fn mean_work(&self, plan: &Plan, span: Span) -> f64 {
        let (Some(part), Some((factor, phase))) =
            (plan.part(span.part()), self.parts.get(span.part() as usize))
        else {
            return 0.0;
        };
        let all = part.choice().n_subproblems as f64;
        let angle = |number: u64| std::f64::consts::TAU * (N_PERIODS * number as f64 / all + phase);
        let wave = (angle(span.to()).sin() - angle(span.from()).sin()) / (std::f64::consts::TAU * N_PERIODS);
        let share = span.n_subproblems() as f64 / all + AMPLITUDE * wave;
        part.choice().work as f64 * factor * share
    }
}

/// Returns a random number from 0 to 1.
pub(crate) fn unit(random: &mut SplitMix) -> f64 {
    (random.next() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns a random number that is about normally distributed, with mean 0 and variance 1.
fn normal(random: &mut SplitMix) -> f64 {
    (0..12).map(|_| unit(random)).sum::<f64>() - 6.0
}
