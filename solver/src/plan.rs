//! The plan of a job: what is counted, in which pieces, and how much work each piece is.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use thiserror::Error;

use crate::board::{BoardSize, Square};
use crate::cross::Cross;
use crate::free_rows::FreeRows;
use crate::parallel::parallel;
use crate::prefix::Prefixes;
use crate::split_mix::SplitMix;
use crate::subproblems::{Subproblems, depth};
use crate::symmetry::Symmetry;
use crate::work;

/// The version of everything that decides what a subproblem number means: crosses and their order, images, depths.
/// Spans counted under different versions must not be added up.
pub const DECOMPOSITION_VERSION: u32 = 2;

/// Below this n the whole plan takes less than starting a thread.
const THREADED_FROM: u8 = 21;

/// What is to be counted for one n, and in which pieces.
///
/// It depends on n alone: made again, it is the same plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    n: BoardSize,
    crosses: Vec<PlannedCross>,
}

/// One cross of a plan, standing for its orbit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedCross {
    cross: Cross,
    choice: Choice,
}

/// What planning decides about a cross. With this stored, the plan can be had again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The image the cross is counted on.
    pub image: Symmetry,
    /// The number of subproblems at the plan's depth.
    pub n_subproblems: u64,
    /// The estimated work of the whole cross in nodes.
    pub work: u128,
}

/// How far a plan is while it is being made. Other threads may look at it.
#[derive(Debug, Default)]
pub struct PlanProgress {
    n_crosses: AtomicUsize,
    n_planned: AtomicUsize,
}

/// Stored choices that can't belong to a plan of this n.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a plan for n = {n} has {expected} crosses, not {found}")]
pub struct WrongCrosses {
    n: BoardSize,
    expected: usize,
    found: usize,
}

/// The crosses of a board of size `n` in the order of every plan for it: a cross's number in a
/// [`Span`](crate::Span) is its place here.
///
/// The order is a walk through the lexicographic one with a stride near the golden section. Neighbours in
/// lexicographic order are alike in work; scattered, any first part of a job is an even sample of the whole, so that
/// what was measured so far tells what is left.
#[must_use]
pub fn crosses_in_counting_order(n: BoardSize) -> Vec<Cross> {
    let crosses = Cross::all(n);
    let len = crosses.len();
    let stride = (len * 618 / 1000..).find(|&stride| gcd(stride, len) <= 1).unwrap_or(1);
    (0..len).map(|i| crosses[i * stride % len]).collect()
}

impl Plan {
    /// Makes the plan for boards of size `n` with `n_threads` threads.
    ///
    /// Takes milliseconds up to n = 17, a tenth of a core-second at 26, some core-seconds at 28, a core-minute at 31
    /// and less than a core-hour at 32, nearly all of it to count the subproblems. Returns `None` if `stop` is set
    /// before the end, or if a thread can't be started.
    #[must_use]
    pub fn new(n: BoardSize, n_threads: NonZeroUsize, stop: &AtomicBool) -> Option<Self> {
        Self::with_progress(n, n_threads, stop, &PlanProgress::default())
    }

    /// The same. `progress` tells all the time how far it is.
    #[must_use]
    pub fn with_progress(
        n: BoardSize,
        n_threads: NonZeroUsize,
        stop: &AtomicBool,
        progress: &PlanProgress,
    ) -> Option<Self> {
        let crosses = crosses_in_counting_order(n);
        progress.n_crosses.store(crosses.len(), Ordering::Relaxed);
        let n_threads = if n.get() < THREADED_FROM { NonZeroUsize::MIN } else { n_threads };
        let go_on = |_| !stop.load(Ordering::Relaxed);
        let probes = parallel(n_threads, crosses.len(), go_on, |i| {
            let probe = Probe::new(&crosses[i]);
            progress.n_planned.fetch_add(1, Ordering::Relaxed);
            probe
        });
        let probes = probes.ok().filter(|probes| probes.len() == crosses.len())?;
        let works = works(n, &crosses, &probes);
        let planned = crosses.iter().zip(&probes).zip(works).map(|((&cross, probe), work)| {
            let choice = Choice { image: probe.image, n_subproblems: probe.n_subproblems, work };
            PlannedCross { cross, choice }
        });
        Some(Self { n, crosses: planned.collect() })
    }

    /// The plan that made these choices, in the order of its crosses.
    ///
    /// # Errors
    /// If their number is not that of the crosses of `n`.
    pub fn from_choices(n: BoardSize, choices: &[Choice]) -> Result<Self, WrongCrosses> {
        let crosses = crosses_in_counting_order(n);
        if crosses.len() != choices.len() {
            return Err(WrongCrosses { n, expected: crosses.len(), found: choices.len() });
        }
        let planned = crosses.into_iter().zip(choices);
        Ok(Self { n, crosses: planned.map(|(cross, &choice)| PlannedCross { cross, choice }).collect() })
    }

    /// The size of the board.
    #[must_use]
    pub const fn n(&self) -> BoardSize {
        self.n
    }

    /// Rows placed below the cross to make a prefix.
    #[must_use]
    pub const fn depth(&self) -> u8 {
        depth(self.n)
    }

    /// The crosses, in [counting order](crosses_in_counting_order).
    #[must_use]
    pub fn crosses(&self) -> &[PlannedCross] {
        &self.crosses
    }

    /// The cross with this number, if there is one.
    #[must_use]
    pub fn cross(&self, number: u32) -> Option<&PlannedCross> {
        self.crosses.get(usize::try_from(number).ok()?)
    }

    /// The estimated work of the whole job in nodes.
    #[must_use]
    pub fn work(&self) -> u128 {
        self.crosses.iter().map(|cross| cross.choice.work).sum()
    }
}

impl PlanProgress {
    /// The crosses of the plan; 0 before they are listed, which takes a fraction of a second.
    #[must_use]
    pub fn n_crosses(&self) -> usize {
        self.n_crosses.load(Ordering::Relaxed)
    }

    /// How many of them are planned. Their order is scattered, so this grows evenly with time.
    #[must_use]
    pub fn n_planned(&self) -> usize {
        self.n_planned.load(Ordering::Relaxed)
    }
}

impl PlannedCross {
    /// The cross, as it stands for its orbit.
    #[must_use]
    pub const fn cross(&self) -> &Cross {
        &self.cross
    }

    /// What planning decided about it.
    #[must_use]
    pub const fn choice(&self) -> &Choice {
        &self.choice
    }

    /// The queens of the image that is counted.
    #[must_use]
    pub fn queens(&self) -> Vec<Square> {
        self.cross.image(self.choice.image)
    }

    /// The subproblems of the image that is counted.
    #[must_use]
    pub fn subproblems(&self) -> Subproblems {
        self.cross.subproblems(self.choice.image)
    }
}

/// What is found out about one cross on its own.
struct Probe {
    image: Symmetry,
    n_subproblems: u64,
    shape: f64,
}

impl Probe {
    fn new(cross: &Cross) -> Self {
        let images = images(cross);
        let best = narrowest(&images);
        // The first two images keep rows as rows, the last two exchange them with columns.
        let crosswise = &images[(best + 2) % images.len()];
        Self {
            image: Symmetry::UP_TO_MIRROR[best],
            n_subproblems: Prefixes::count(&images[best], depth(cross.n())),
            shape: work::shape(&images[best], crosswise),
        }
    }
}

/// The image that a plan counts a cross on.
pub(crate) fn image(cross: &Cross) -> Symmetry {
    Symmetry::UP_TO_MIRROR[narrowest(&images(cross))]
}

/// What each image of a cross that has a tree of its own leaves free.
fn images(cross: &Cross) -> [FreeRows; Symmetry::UP_TO_MIRROR.len()] {
    Symmetry::UP_TO_MIRROR.map(|image| FreeRows::new(cross.n(), &cross.image(image)))
}

/// The first of those with the smallest width.
fn narrowest<const N: usize>(images: &[FreeRows; N]) -> usize {
    let widths = images.each_ref().map(work::width);
    let mut best = 0;
    for i in 1..widths.len() {
        if widths[i] < widths[best] {
            best = i;
        }
    }
    best
}

/// The estimated work of each cross: its shape, scaled so that each class has the mean that random descents find.
///
/// Crosses of three queens leave one more row than crosses of four and are several times as large, so that the two
/// classes are scaled apart.
fn works(n: BoardSize, crosses: &[Cross], probes: &[Probe]) -> Vec<u128> {
    // So few that they take next to no time beside the count.
    let n_descents = 256 << n.get().saturating_sub(16).min(6);
    let mut random = SplitMix::new(u64::from(n.get()));
    let mut works = vec![0; crosses.len()];
    for n_queens in [0, 3, 4] {
        let class: Vec<usize> =
            (0..crosses.len()).filter(|&i| crosses[i].queens().len() == n_queens).collect();
        let (mut nodes, mut shapes) = (0.0, 0.0);
        for &i in class.iter().cycle().take(if class.is_empty() { 0 } else { n_descents }) {
            let free = FreeRows::new(n, &crosses[i].image(probes[i].image));
            nodes += work::descent(&free, &mut random);
            shapes += probes[i].shape;
        }
        let scale = if shapes > 0.0 { nodes / shapes } else { 0.0 };
        for i in class {
            works[i] = whole_nodes(scale * probes[i].shape);
        }
    }
    works
}

/// At least one node, so that no cross is without weight.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and below 2^80")]
fn whole_nodes(nodes: f64) -> u128 {
    (nodes.round() as u128).max(1)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
