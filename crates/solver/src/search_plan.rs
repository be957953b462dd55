//! Plans the search: chooses each cross's image and estimates its work.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::board::{BoardSize, Square};
use crate::choice::{Choice, Pass, PlanProgress};
use crate::cross::Cross;
use crate::free_rows::FreeRows;
use crate::parallel::parallel;
use crate::prefix::Prefixes;
use crate::split_mix::SplitMix;
use crate::subproblems::depth;
use crate::symmetry::Symmetry;
use crate::work;

/// The version of everything that decides the meaning of a subproblem number of the search: crosses and their order,
/// images, depths. Spans of different versions must not be added up.
pub const DECOMPOSITION_VERSION: u32 = 2;

/// Below this n the whole plan takes less time than starting a thread.
const THREADED_FROM: u8 = 21;

/// Returns the planned choice for each of the crosses of boards of size `n` for this pass. `None` if `stop` is set
/// before the end, or if a thread can't be started.
pub(crate) fn choices(
    n: BoardSize,
    crosses: &[Cross],
    pass: Pass,
    n_threads: NonZeroUsize,
    stop: &AtomicBool,
    progress: &PlanProgress,
) -> Option<Vec<Choice>> {
    let n_threads = if n.get() < THREADED_FROM { NonZeroUsize::MIN } else { n_threads };
    let go_on = |_| !stop.load(Ordering::Relaxed);
    let probes = parallel(n_threads, crosses.len(), go_on, |i| {
        let probe = Probe::new(&crosses[i], pass);
        progress.step();
        probe
    });
    let probes = probes.ok().filter(|probes| probes.len() == crosses.len())?;
    let works = works(n, crosses, &probes);
    let choices = probes.iter().zip(works);
    Some(
        choices
            .map(|(probe, work)| Choice { image: probe.image, n_subproblems: probe.n_subproblems, work })
            .collect(),
    )
}

/// The image, numbering and unscaled work of one cross.
struct Probe {
    image: Symmetry,
    n_subproblems: u64,
    shape: f64,
}

impl Probe {
    fn new(cross: &Cross, pass: Pass) -> Self {
        let images = images(cross);
        let first = narrowest(&images);
        let best = match pass {
            Pass::First => first,
            Pass::Second => second(cross, &images, first),
        };
        // The first two images keep rows as rows, the last two exchange them with columns.
        let crosswise = &images[(best + 2) % images.len()];
        Self {
            image: Symmetry::UP_TO_MIRROR[best],
            n_subproblems: Prefixes::count(&images[best], depth(cross.n())),
            shape: work::shape(&images[best], crosswise),
        }
    }
}

/// Returns the image on which a plan counts a cross.
pub(crate) fn image(cross: &Cross) -> Symmetry {
    Symmetry::UP_TO_MIRROR[narrowest(&images(cross))]
}

/// Returns the free rows of each image of a cross that has a tree of its own.
fn images(cross: &Cross) -> [FreeRows; Symmetry::UP_TO_MIRROR.len()] {
    Symmetry::UP_TO_MIRROR.map(|image| FreeRows::new(cross.n(), &cross.image(image)))
}

/// Returns the first image with the smallest width.
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

/// Returns the narrowest image with another tree than the first pass's image. A cross that turns and reflections leave
/// unchanged may have none; then it returns another image with the same tree.
fn second(cross: &Cross, images: &[FreeRows], first: usize) -> usize {
    let tree = |image: Symmetry| {
        let mut queens = cross.image(image);
        queens.sort_unstable();
        queens
    };
    let (n, symmetries) = (cross.n(), Symmetry::UP_TO_MIRROR);
    let known = tree(symmetries[first]);
    // Applied to the first image's queens, so that it is the left-right mirror of that image.
    let mirror = |square: &Square| Square { column: n.get() - 1 - square.column, ..*square };
    let mut mirrored: Vec<Square> = known.iter().map(mirror).collect();
    mirrored.sort_unstable();
    let is_alike = |i: usize| [&known, &mirrored].contains(&&tree(symmetries[i]));
    let others = (0..images.len()).filter(|&i| i != first);
    let width = |i: usize| work::width(&images[i]);
    let narrower = |&a: &usize, &b: &usize| is_alike(a).cmp(&is_alike(b)).then(width(a).total_cmp(&width(b)));
    others.min_by(narrower).unwrap_or(first)
}

/// Estimates the work of each cross: its shape, scaled so that each class has the mean of random descents.
///
/// Crosses of three queens leave one more row than crosses of four and are several times as large. So each class has
/// its scale.
fn works(n: BoardSize, crosses: &[Cross], probes: &[Probe]) -> Vec<u128> {
    // So few descents take nearly no time beside the count.
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

/// Rounds to at least one node, so that every cross has work.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and below 2^80")]
fn whole_nodes(nodes: f64) -> u128 {
    (nodes.round() as u128).max(1)
}
