//! Measures how fast a card counts a board, the way a worker counts on it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use queens_gpu::CardId;
use queens_solver::{BoardSize, Count, Kernel, Method, SplitMix, Symmetry, parts_in_counting_order};
use queens_worker_session::{ChunkAim, ChunkSize};

use crate::counter::{Counter, threads_of};

/// A chunk that a card has counted for a measurement.
#[derive(Clone, Copy, Debug)]
pub struct ProbedChunk {
    /// Its count.
    pub count: Count,
    /// The weight of the chunk's part.
    pub weight: u8,
    /// How long the card took: its threads share it.
    pub seconds: f64,
}

/// Chunks of a part, one after another. A card has to prepare for the next part.
const CHUNKS_OF_PART: usize = 8;

/// What a card has counted for a measurement.
#[derive(Clone, Debug, Default)]
pub struct CardProbe {
    /// The chunks after it had warmed up.
    pub chunks: Vec<ProbedChunk>,
    /// How many subproblems were counted again by the processor.
    pub n_checked: usize,
    /// The seconds that each of the card's kernels took for these chunks and their checks, by its name, in all its
    /// threads; empty if its driver does not tell.
    pub stages: Vec<(&'static str, f64)>,
}

/// How long a card may take until its chunks have their size.
const WARMING_UP: Duration = Duration::from_secs(5);

/// Counts chunks of a board on a card for some time, after it has warmed up, and checks them as a worker does. `seed`
/// chooses the chunks; the first parts in counting order are an even sample.
///
/// Takes `time` and up to ten seconds more.
///
/// # Errors
/// If the card fails or counts wrong, which is logged; or if cards don't count such boards.
pub fn probe_card(
    card: CardId,
    kernel: Kernel,
    n: BoardSize,
    time: Duration,
    seed: u64,
) -> Result<CardProbe, String> {
    if !CardId::counts(n) {
        return Err(format!("cards count n = 12 to 29, not {n}"));
    }
    let parts = parts_in_counting_order(n, Method::Halves);
    let (next, counters) = (AtomicUsize::new(0), Counter::of_card(card, kernel, seed));
    let probe = |mut counter: Counter, thread: u64| -> Option<CardProbe> {
        let stop = AtomicBool::new(false);
        if !counter.opens_card(n, Method::Halves, &stop) {
            return None;
        }
        let (mut size, mut random) =
            (ChunkSize::first(ChunkAim::CARD, n, Method::Halves), SplitMix::new(seed ^ thread));
        let mut n_checked = 0;
        let mut count_next = |counter: &mut Counter, size: &mut ChunkSize| {
            let part = parts[next.fetch_add(1, Ordering::Relaxed) / CHUNKS_OF_PART % parts.len()];
            let mut subproblems = part.subproblems(Symmetry::IDENTITY);
            let all = subproblems.n_subproblems();
            let end = size.end_after(random.next() % all.max(1)).min(all);
            let from = end.saturating_sub(size.end_after(0));
            let began = Instant::now();
            let counted = counter.count(&part, &mut subproblems, from..end, &stop).ok()?;
            let taken = began.elapsed();
            size.adapt(end - from, taken);
            let is_checked = counter.is_check_due();
            n_checked += usize::from(is_checked);
            let is_right = counted.is_unchecked && (!is_checked || counter.check(&stop)?);
            let seconds = taken.as_secs_f64() / threads_of(card) as f64;
            is_right.then_some((taken, ProbedChunk { count: counted.count, weight: part.weight(), seconds }))
        };
        let began = Instant::now();
        let mut has_failed = false;
        while began.elapsed() < WARMING_UP {
            match count_next(&mut counter, &mut size) {
                Some((taken, _)) if taken < ChunkAim::CARD.duration / 2 => {}
                counted => {
                    has_failed = counted.is_none();
                    break;
                }
            }
        }
        let before = counter.stage_seconds();
        let (began, mut chunks) = (Instant::now(), Vec::new());
        while !has_failed && began.elapsed() < time {
            match count_next(&mut counter, &mut size) {
                Some((_, chunk)) => chunks.push(chunk),
                None => has_failed = true,
            }
        }
        let stages = sum_by_name([
            counter.stage_seconds(),
            before.into_iter().map(|(stage, seconds)| (stage, -seconds)).collect(),
        ]);
        (!has_failed && counter.check(&stop)?).then_some(CardProbe {
            chunks,
            n_checked: n_checked + 1,
            stages,
        })
    };
    let probes: Option<Vec<CardProbe>> = thread::scope(|scope| {
        let probe = &probe;
        let spawn = |(counter, thread)| scope.spawn(move || probe(counter, thread));
        let threads: Vec<_> = counters.into_iter().zip(0..).map(spawn).collect();
        threads.into_iter().map(|thread| thread.join().ok().flatten()).collect()
    });
    let probes = probes.ok_or_else(|| format!("{card} has failed or counted wrong, as the log says"))?;
    let n_checked = probes.iter().map(|probe| probe.n_checked).sum();
    let stages = sum_by_name(probes.iter().map(|probe| probe.stages.clone()));
    Ok(CardProbe { chunks: probes.into_iter().flat_map(|probe| probe.chunks).collect(), n_checked, stages })
}

/// Adds up lists of the same names in the same order.
fn sum_by_name(lists: impl IntoIterator<Item = Vec<(&'static str, f64)>>) -> Vec<(&'static str, f64)> {
    let add = |sum: Vec<(&'static str, f64)>, list: Vec<(&'static str, f64)>| {
        sum.into_iter().zip(list).map(|((name, seconds), (_, more))| (name, seconds + more)).collect()
    };
    lists.into_iter().reduce(add).unwrap_or_default()
}
