//! What workers make of what they count.

use queens_solver::Count;

use super::random::Random;

/// How a worker tells what it has counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Nature {
    /// As it is.
    Honest,
    /// Some subproblems are told wrongly, always the same ones in the same way.
    Liar {
        /// Liars of the same seed tell the same lies.
        seed: u64,
        /// How many of a million subproblems are told wrongly.
        share: u64,
        /// What is added to what is right.
        adds: Count,
    },
    /// Now and then a bit of a number flips.
    Flaky {
        /// In how many of a million subproblems.
        share: u64,
        /// One of ten bits from this one on: no two flip the same.
        bit: u32,
    },
}

impl Nature {
    /// A liar of some kind, or somebody with bad memory. Those of one number tell the same lies if they lie.
    pub(crate) fn random(random: &mut Random, number: u64) -> Self {
        if random.percent(20) {
            let bit = 20 + 10 * u32::try_from(number).expect("few");
            return Self::Flaky { share: random.between(1_000, 100_000), bit };
        }
        // Different liars lie by different amounts, so that no two say the same by accident.
        let little = [1, 1_000, 1_000_003][usize::try_from(number).expect("few")];
        let much = 1 << (40 + number);
        let kinds = Random::new(number).between(0, 99);
        let (solutions, nodes) = match kinds % 3 {
            0 => (1, 0),
            1 => (0, 1),
            _ => (1, 1),
        };
        let by = if kinds % 4 == 3 { much } else { little };
        let share = [2_000, 20_000, 200_000, 1_000_000][usize::try_from(kinds % 4).expect("few")];
        Self::Liar { seed: number, share, adds: Count { solutions: solutions * by, nodes: nodes * by } }
    }

    /// Somebody who tells too many solutions, in so many of a million subproblems.
    pub(crate) fn solutions(seed: u64, share: u64) -> Self {
        Self::Liar { seed, share, adds: Count { solutions: 1, nodes: 0 } }
    }

    /// What it tells of a subproblem that counts to this.
    pub(crate) fn tell(self, random: &mut Random, cross: u32, number: u64, truth: Count) -> Count {
        match self {
            Self::Honest => truth,
            Self::Liar { seed, share, adds } => {
                let chance = hash(seed, u64::from(cross), number) % 1_000_000;
                if chance < share { truth.checked_add(adds).expect("small numbers") } else { truth }
            }
            Self::Flaky { share, bit } if random.below(1_000_000) < share => {
                let bit = 1 << (u64::from(bit) + random.below(10));
                if random.percent(50) {
                    Count { solutions: truth.solutions ^ bit, ..truth }
                } else {
                    Count { nodes: truth.nodes ^ bit, ..truth }
                }
            }
            Self::Flaky { .. } => truth,
        }
    }
}

/// A number that looks random, and is the same for the same three.
pub(crate) fn hash(a: u64, b: u64, c: u64) -> u64 {
    let mut mixed = Random::new(a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (b << 32) ^ c);
    mixed.next();
    mixed.next()
}
