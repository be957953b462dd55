//! What a card has to do: hold memory, and run the kernels one after another.

use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::shape::Shape;

/// A batch of kernels that takes longer than this hangs. Batches take half a second, and a set of n = 29 some minutes
/// on a small card until it is divided.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// How long to sleep before asking again whether a batch has ended: at first, and at most.
const SLEEPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];

/// Waits until `has_ended`, asleep so that other threads can use the processor.
pub(crate) fn wait_for_end(
    mut has_ended: impl FnMut() -> Result<bool, CardError>,
    patience: Duration,
) -> Result<(), CardError> {
    let (began, mut sleep) = (Instant::now(), SLEEPS[0]);
    while !has_ended()? {
        if began.elapsed() > patience {
            return Err(CardError::Hung);
        }
        thread::sleep(sleep);
        // Late by a tenth of the time at most.
        sleep = (began.elapsed() / 10).clamp(SLEEPS[0], SLEEPS[1]);
    }
    Ok(())
}

/// A kernel, by its name.
pub(crate) type Stage = &'static str;

/// The kernels that make tails, in order.
pub(crate) const TAILS: [Stage; 3] = ["count_tails", "place_tails", "write_tails"];

/// The kernels that make the lists of a batch, in order. Then it is joined.
pub(crate) const LISTS: [Stage; 11] = [
    "clear",
    "count_heads",
    "place_heads",
    "write_heads",
    "count_words",
    "place_words",
    "write_words",
    "level",
    LEVEL_2,
    "sieve",
    "cut",
];

/// The kernel that a leaf of more than two rows needs.
const LEVEL_2: Stage = "level_2";

pub(crate) const JOIN: Stage = "join";

/// Returns all kernels, the one that joins last.
pub(crate) fn all_stages() -> impl Iterator<Item = Stage> {
    TAILS.into_iter().chain(LISTS).chain([JOIN])
}

/// Returns the kernels that a shape needs, in the same order.
pub(crate) fn stages_of(shape: Shape) -> impl Iterator<Item = Stage> {
    all_stages().filter(move |&stage| shape.leaf > 2 || stage != LEVEL_2)
}

/// Adds to the seconds that a kernel has taken.
pub(crate) fn add_seconds(times: &mut [(Stage, f64)], stage: Stage, seconds: f64) {
    if let Some((_, sum)) = times.iter_mut().find(|(of, _)| *of == stage) {
        *sum += seconds;
    }
}

/// Why a card can't count.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CardError {
    /// The driver refused something, or the card was lost.
    #[error("{0}")]
    Driver(String),
    /// A kernel has not ended in time. The card must not be closed, as that would wait for the kernel.
    #[error("a kernel has not ended for {} seconds", PATIENCE.as_secs())]
    Hung,
    /// Not even one subproblem has room in the card's memory.
    #[error("the card has too little memory: {0} MiB are not enough for one subproblem of this board")]
    TooLittleMemory(u64),
    /// A block has too little shared memory, in bytes.
    #[error("a block of the card has {has} bytes of shared memory, and this board takes {needs}")]
    TooLittleSharedMemory {
        /// What the card has.
        has: u64,
        /// What the board takes.
        needs: u64,
    },
    /// Cards count boards of other sizes only.
    #[error("cards count boards of n = 12 to 29")]
    BoardSize,
}

/// A card with the kernels for half boards of one number of rows.
pub(crate) trait Device: Send {
    /// Returns the bytes of memory that a batch may use.
    fn memory(&self) -> u64;

    /// Returns the number of blocks that join.
    fn n_blocks(&self) -> u32;

    /// Copies to the card's memory.
    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), CardError>;

    /// Starts a kernel after all that was asked for before.
    fn start(&mut self, stage: Stage) -> Result<(), CardError>;

    /// Copies from the card's memory, after all that was asked for before.
    fn read(&mut self, at: u64, bytes: &mut [u8]) -> Result<(), CardError>;

    /// Returns the seconds that each kernel has taken, by its name, up to the last [`read`](Self::read); empty if they
    /// are not known.
    fn seconds(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_that_does_not_end_hangs() {
        let mut n_asked = 0;
        let third = || {
            n_asked += 1;
            Ok(n_asked == 3)
        };
        assert_eq!(wait_for_end(third, PATIENCE), Ok(()));
        assert_eq!(wait_for_end(|| Ok(false), Duration::from_millis(5)), Err(CardError::Hung));
        let lost = CardError::Driver("lost".to_owned());
        assert_eq!(wait_for_end(|| Err(lost.clone()), PATIENCE), Err(lost.clone()));
    }
}
