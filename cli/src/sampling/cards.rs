//! Measures cards by chunks of a board.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

use anyhow::anyhow;
use queens_counting::{CardProbe, ProbedChunk, threads_of};
use queens_gpu::CardId;
use queens_solver::{BoardSize, Kernel};

use crate::sampling::Piece;

/// How long to count, after the card has warmed up.
const PROBING: Duration = Duration::from_secs(5);

/// What a card has counted for a measurement.
#[derive(Debug)]
pub(crate) struct TimedProbe {
    pub(crate) chunks: Vec<Piece>,
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
    let piece = |ProbedChunk { count, weight, seconds }: ProbedChunk| Piece {
        count,
        weight,
        stands_for: 1.0,
        seconds: seconds / threads_of(card) as f64,
    };
    Ok(TimedProbe { chunks: chunks.into_iter().map(piece).collect(), n_checked, stages })
}
