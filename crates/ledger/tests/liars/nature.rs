//! The ways in which simulated workers falsify their counts.

use queens_solver::Count;

use super::random::Random;

/// How a worker reports its counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Nature {
    /// Truthfully.
    Honest,
    /// Some subproblems are reported wrongly, always the same ones in the same way.
    Liar {
        /// Liars of the same seed tell the same lies.
        seed: u64,
        /// How many of a million subproblems are reported wrongly.
        share: u64,
        /// The amount that is added to the true count.
        adds: Count,
    },
    /// Now and then a bit of a number flips.
    Flaky {
        /// In how many of a million subproblems.
        share: u64,
        /// The first of ten bits: one of them flips, and no two workers flip the same.
        bit: u32,
    },
}

impl Nature {
    /// Returns a liar of some kind, or a worker with bad memory. Liars of one number tell the same lies.
    pub(crate) fn random(random: &mut Random, number: u64) -> Self {
        if random.percent(20) {
            let bit = 20 + 10 * u32::try_from(number).expect("few");
            return Self::Flaky { share: random.between(1_000, 100_000), bit };
        }
        // Different liars lie by different amounts, so that no two agree by accident.
        let little = [1, 1_000, 1_000_003][usize::try_from(number).expect("few")];
        let much = 1 << (40 + number);
        let kinds = Random::new(number).between(0, 99);
        let (solutions, work) = match kinds % 3 {
            0 => (1, 0),
            1 => (0, 1),
            _ => (1, 1),
        };
        let by = if kinds % 4 == 3 { much } else { little };
        let share = [2_000, 20_000, 200_000, 1_000_000][usize::try_from(kinds % 4).expect("few")];
        Self::Liar { seed: number, share, adds: Count { solutions: solutions * by, work: work * by } }
    }

    /// Returns a liar that reports too many solutions, in `share` of a million subproblems.
    pub(crate) fn solutions(seed: u64, share: u64) -> Self {
        Self::Liar { seed, share, adds: Count { solutions: 1, work: 0 } }
    }

    /// Returns the reported count of a subproblem with this true count.
    pub(crate) fn tell(self, random: &mut Random, part: u32, number: u64, truth: Count) -> Count {
        match self {
            Self::Honest => truth,
            Self::Liar { seed, share, adds } => {
                let chance = hash(seed, u64::from(part), number) % 1_000_000;
                if chance < share { truth.checked_add(adds).expect("small numbers") } else { truth }
            }
            Self::Flaky { share, bit } if random.below(1_000_000) < share => {
                let bit = 1 << (u64::from(bit) + random.below(10));
                if random.percent(50) {
                    Count { solutions: truth.solutions ^ bit, ..truth }
                } else {
                    Count { work: truth.work ^ bit, ..truth }
                }
            }
            Self::Flaky { .. } => truth,
        }
    }
}

/// Returns a number that looks random, and is the same for the same arguments.
pub(crate) fn hash(a: u64, b: u64, c: u64) -> u64 {
    let mut mixed = Random::new(a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (b << 32) ^ c);
    mixed.next();
    mixed.next()
}
