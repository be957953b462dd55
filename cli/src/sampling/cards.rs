//! Measures cards by chunks of a board, and extrapolates to the whole board.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

use anyhow::anyhow;
use queens_counting::{CardProbe, ProbedChunk, threads_of};
use queens_gpu::CardId;
use queens_solver::{BoardSize, Kernel};

use crate::sampling::Measured;

/// How long to count, after the card has warmed up.
const PROBING: Duration = Duration::from_secs(5);

/// A chunk, and the seconds that its card took for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedChunk {
    chunk: ProbedChunk,
    card_seconds: f64,
}

/// What a card has counted for a measurement.
#[derive(Debug)]
pub(crate) struct TimedProbe {
    pub(crate) chunks: Vec<TimedChunk>,
    /// How many subproblems the processor counted again.
    pub(crate) n_checked: usize,
    /// The seconds that each of the card's kernels took, by its name; empty if its driver does not tell.
    pub(crate) stages: Vec<(&'static str, f64)>,
}

/// Counts chunks of a board on a card for five seconds and up to ten more.
pub(crate) fn probe_card(card: CardId, kernel: Kernel, n: BoardSize) -> anyhow::Result<TimedProbe> {
    let seed = RandomState::new().build_hasher().finish();
    let CardProbe { chunks, n_checked, stages } =
        queens_counting::probe_card(card, kernel, n, PROBING, seed).map_err(|reason| anyhow!(reason))?;
    // The threads of a card share it.
    let card_seconds = |chunk: &ProbedChunk| chunk.seconds / threads_of(card) as f64;
    let timed = |chunk: ProbedChunk| TimedChunk { chunk, card_seconds: card_seconds(&chunk) };
    Ok(TimedProbe { chunks: chunks.into_iter().map(timed).collect(), n_checked, stages })
}

/// Returns the card-seconds of the whole board, if it has this work.
pub(crate) fn time_of_cards(chunks: &[TimedChunk], board_work: Measured) -> Measured {
    per_work(chunks, board_work, |timed| timed.card_seconds)
}

/// Returns the solutions of the whole board, if it has this work.
pub(crate) fn solutions_of_cards(chunks: &[TimedChunk], board_work: Measured) -> Measured {
    per_work(chunks, board_work, |TimedChunk { chunk, .. }| {
        f64::from(chunk.weight) * chunk.count.solutions as f64
    })
}

/// Returns the weighted solutions, the work and the card-seconds of some chunks.
pub(crate) fn sums(chunks: &[TimedChunk]) -> (u128, u128, f64) {
    let solutions = |chunk: &ProbedChunk| u128::from(chunk.weight) * u128::from(chunk.count.solutions);
    (
        chunks.iter().map(|timed| solutions(&timed.chunk)).sum(),
        chunks.iter().map(|timed| u128::from(timed.chunk.count.work)).sum(),
        chunks.iter().map(|timed| timed.card_seconds).sum(),
    )
}

fn per_work(chunks: &[TimedChunk], board_work: Measured, term: impl Fn(&TimedChunk) -> f64) -> Measured {
    let pairs = chunks.iter().map(|timed| (term(timed), timed.chunk.count.work as f64));
    Measured::ratio(pairs).times(board_work)
}
