//! Draws the seeds of jobs.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// Draws an unpredictable number. It decides which records are recounted: a party that knew it could falsify the
/// others.
///
/// Each half is the SipHash of another input, with a key that the system has drawn at random. One half reveals nothing
/// about the other, nor about another seed.
pub fn draw() -> u128 {
    let key = RandomState::new();
    [0_u8, 1].into_iter().fold(0, |seed, half| (seed << 64) | u128::from(key.hash_one(half)))
}
