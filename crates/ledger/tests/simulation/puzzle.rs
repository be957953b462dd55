//! The boards that a history counts, with their true counts.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use queens_ledger::store::JobEntry;
use queens_model::{JobId, JobIdentity, Share, Submission, Terms};
use queens_solver::{BoardSize, Choice, Count, Kernel, Method, Plan, Span, published};

use super::random::Random;

/// The board sizes.
const SIZES: std::ops::RangeInclusive<u8> = 6..=12;

/// The mean estimated work of a subproblem, in work units.
const WORK: u64 = 10_000_000;

/// The true counts of the boards' parts, by each method.
#[derive(Debug)]
pub(crate) struct Library(Vec<(BoardSize, Method, Vec<Count>)>);

/// A plan with the true count of each of its subproblems.
#[derive(Debug)]
pub(crate) struct Puzzle {
    pub(crate) plan: Plan,
    /// For each part, the sums over its first 0, 1, 2... subproblems.
    sums: Vec<Vec<Count>>,
    /// Q(n).
    pub(crate) solutions: u128,
    pub(crate) work: u128,
    /// The share to recount.
    pub(crate) recount: Share,
    /// Drawn for its submission.
    pub(crate) seed: u128,
    /// The identity of its job with number `number`.
    pub(crate) identity: JobIdentity,
}

impl Library {
    pub(crate) fn new() -> Self {
        let never = AtomicBool::new(false);
        let counts = |(n, method): (BoardSize, Method)| {
            let plan = Plan::new(n, method, NonZeroUsize::MIN, &never).expect("nobody stops it");
            let count = |planned: &queens_solver::PlannedPart| {
                let all = 0..planned.choice().n_subproblems;
                planned.subproblems().count(all, Kernel::Portable, &never).expect("nobody stops it")
            };
            (n, method, plan.parts().iter().map(count).collect())
        };
        let sizes = BoardSize::range(*SIZES.start(), *SIZES.end());
        Self(sizes.flat_map(|n| Method::ALL.map(|method| counts((n, method)))).collect())
    }

    /// Creates a job of this number: a board of a random size and method, cut at random. Each part keeps its real
    /// number of solutions, spread over its subproblems. Their nodes are made up and all different, so that confused
    /// spans show.
    pub(crate) fn puzzle(&self, number: JobId, random: &mut Random) -> Puzzle {
        // Small boards more often: they have few parts, so that these have many subproblems.
        let sizes = [6, 6, 6, 7, 8, 8, 8, 9, 10, 11, 12];
        let size = random.pick(&sizes).expect("not empty");
        let method = if random.percent(40) { Method::Halves } else { Method::Search };
        let (n, method, counts) =
            self.0.iter().find(|(n, by, _)| n.get() == size && *by == method).expect("counted");
        // One in eight as it really is cut: small boards into one subproblem a part.
        let most = if random.percent(12) {
            1
        } else {
            random.between(60, 400).div_ceil(u64::try_from(counts.len()).expect("fits")).max(2)
        };
        let mut choices = Vec::new();
        let mut sums = Vec::new();
        for count in counts {
            let empty = count.solutions == 0 && most > 1 && random.percent(10);
            let n_subproblems = if empty { 0 } else { random.between(1, most * 2 - 1) };
            let work = u128::from(n_subproblems.max(1)) * u128::from(random.between(WORK / 4, WORK * 2));
            choices.push(Choice { image: queens_solver::Symmetry::IDENTITY, n_subproblems, work });
            sums.push(shares(*count, n_subproblems, random));
        }
        let plan = Plan::from_choices(*n, *method, &choices).expect("one choice for each part");
        let solutions = published(*n).expect("known").solutions;
        let nodes = sums.iter().filter_map(|sums| sums.last()).map(|sum| u128::from(sum.work)).sum();
        // Half of them have no recounts, and one in eight recounts everything.
        let shares = [0, 0, 0, 0, 10_000, 100_000, 500_000, 1_000_000];
        let recount = Share::of_ppm(random.pick(&shares).expect("not empty")).expect("a share");
        let seed = u128::from(random.below(u64::MAX));
        let terms = Terms { seed, ..Terms::default() };
        let entry = JobEntry { terms, ..JobEntry::new(number, *n, *method, 0) };
        Puzzle { plan, sums, solutions, work: nodes, recount, seed, identity: entry.identified().identity }
    }
}

/// Returns the running sums over the subproblems of a part.
fn shares(count: Count, n_subproblems: u64, random: &mut Random) -> Vec<Count> {
    let mut cuts: Vec<u64> = (1..n_subproblems).map(|_| random.between(0, count.solutions)).collect();
    cuts.sort_unstable();
    cuts.push(count.solutions);
    let mut work = 0;
    let mut sums = vec![Count::default()];
    for solutions in cuts.into_iter().take(usize::try_from(n_subproblems).expect("small")) {
        work += random.between(1, 1_000_000);
        sums.push(Count { solutions, work });
    }
    sums
}

impl Puzzle {
    /// Returns the submission that asks for it, and its seed.
    pub(crate) fn submission(&self) -> (Submission, u128) {
        let asked = Submission::new(self.plan.n(), self.plan.method());
        (Submission { recount: Some(self.recount), ..asked }, self.seed)
    }

    /// Returns the true count of a span of the plan.
    pub(crate) fn count(&self, span: Span) -> Count {
        let sums = &self.sums[index(span.part().into())];
        let (before, after) = (sums[index(span.from())], sums[index(span.to())]);
        Count { solutions: after.solutions - before.solutions, work: after.work - before.work }
    }

    pub(crate) fn has(&self, span: Span) -> bool {
        self.plan.part(span.part()).is_some_and(|part| span.to() <= part.choice().n_subproblems)
    }

    /// Returns the estimated work of a span of the plan.
    pub(crate) fn work(&self, span: Span) -> f64 {
        let choice = self.plan.parts()[index(span.part().into())].choice();
        choice.work as f64 * span.n_subproblems() as f64 / choice.n_subproblems as f64
    }

    /// Returns a random span of the plan, of at most `longest` subproblems.
    pub(crate) fn random_span(&self, longest: u64, random: &mut Random) -> Span {
        loop {
            let n_parts = u64::try_from(self.sums.len()).expect("fits");
            let part = u32::try_from(random.below(n_parts)).expect("fits");
            let all = self.plan.parts()[index(part.into())].choice().n_subproblems;
            if all > 0 {
                let from = random.below(all);
                let to = all.min(from + random.between(1, longest));
                return Span::new(part, from, to).expect("not empty");
            }
        }
    }
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("small")
}

/// Returns the puzzle of a job.
pub(crate) fn puzzle(puzzles: &[Puzzle], job: JobIdentity) -> &Puzzle {
    find(puzzles, job).expect("it was submitted")
}

/// Returns the puzzle of a job, if there is such a job.
pub(crate) fn find(puzzles: &[Puzzle], job: JobIdentity) -> Option<&Puzzle> {
    puzzles.iter().find(|puzzle| puzzle.identity == job)
}
