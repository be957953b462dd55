//! Random numbers that can be repeated from a seed.

use std::env;
use std::ops::RangeInclusive;
use std::time::{SystemTime, UNIX_EPOCH};

/// A random number generator with a seed (SplitMix64: Steele, Lea, Flood 2014).
#[derive(Debug)]
pub struct Chance(u64);

impl Chance {
    /// Starts with this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Starts with the seed in the environment variable `SEED`, or with one from the clock. Prints the seed, so that a
    /// failure can be repeated.
    ///
    /// # Panics
    /// Panics if `SEED` is no number.
    #[must_use]
    pub fn seeded() -> Self {
        let from_clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let seed = env::var("SEED").map_or_else(|_| from_clock(), |seed| seed.parse().expect("a number"));
        #[expect(clippy::print_stderr, reason = "the harness shows it if the test fails")]
        {
            eprintln!("SEED={seed}");
        }
        Self(seed)
    }

    /// Returns a number in `range`.
    pub fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        range.start() + mixed % (range.end() - range.start() + 1)
    }
}
