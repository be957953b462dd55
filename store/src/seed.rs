//! Seeds of jobs.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// A number that nobody can foretell. It decides which records are counted again: whoever knew it could falsify the
/// others.
///
/// Both halves are what SipHash makes of different inputs with a key that the system has drawn at random: one half tells
/// nothing of the other, nor of another seed.
pub fn draw() -> u128 {
    let key = RandomState::new();
    [0_u8, 1].into_iter().fold(0, |seed, half| (seed << 64) | u128::from(key.hash_one(half)))
}
