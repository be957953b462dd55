//! The query for records to recount, a few at a time.

use std::collections::BTreeSet;
use std::hash::Hasher;
use std::sync::Arc;

use queens_model::{JobId, Name, Party, Share};
use queens_solver::Count;
use siphasher::sip::SipHasher24;

use crate::store::record::{Record, SecondCount, Verdict};

/// The number of records that a store looks at for one [`Draw`].
pub const MOST_SEEN: usize = 4096;

/// A request for records of a job to recount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The job.
    pub job: JobId,
    /// The end of the last answer: part and first subproblem of the last record that was looked at.
    pub after: Option<(u32, u64)>,
    /// The seed of the random choice.
    pub seed: u128,
    /// The probability that a record is drawn.
    pub share: Share,
    /// Parties whose records are all wanted.
    pub suspects: Arc<BTreeSet<Party>>,
    /// Parts whose records are all wanted.
    pub doubted: BTreeSet<u32>,
    /// The complete first pass, if the job is the second by the same method. A record is wanted if its party also has a
    /// record of that part in the first pass. A party that is wrong in both may be wrong in the same way.
    pub first_pass: Option<JobId>,
}

/// The answer to a [`Draw`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    /// The wanted records, in the order of their spans.
    pub records: Vec<Recorded>,
    /// The number of records that were looked at.
    pub n_seen: u64,
    /// Where to continue; `None` if there are no more.
    pub next: Option<(u32, u64)>,
    /// The parties of the records that were looked at.
    pub seen: BTreeSet<Party>,
}

impl Drawn {
    /// Notes a record that was looked at.
    pub fn see(&mut self, record: &Record) {
        self.n_seen += 1;
        self.seen.insert(record.source.party);
    }
}

/// A record with its other counts and verdicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The record.
    pub record: Record,
    /// Further counts that begin with the same subproblem.
    pub again: Vec<SecondCount>,
    /// The verdicts, in the order of their numbers.
    pub verdicts: Vec<Verdict>,
}

impl Recorded {
    /// Returns the recorded count.
    #[must_use]
    pub fn count(&self) -> Count {
        self.record.count
    }

    /// Returns the name of the worker that made the record.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.record.source.name
    }

    /// Returns the party that made the record.
    #[must_use]
    pub fn party(&self) -> Party {
        self.record.source.party
    }
}

impl Draw {
    /// Whether a record without second counts is wanted, given the parties that recorded its part in the first pass. A
    /// record with second counts is always wanted: it may be in dispute.
    #[must_use]
    pub fn wants(&self, record: &Record, before: &BTreeSet<Party>) -> bool {
        let (part, first) = (record.span.part(), record.span.from());
        let party = &record.source.party;
        is_drawn(self.seed, self.share, self.job, part, first)
            || self.doubted.contains(&part)
            || self.suspects.contains(party)
            || before.contains(party)
    }
}

/// Whether the record of a job that begins with this subproblem is drawn.
///
/// All records have the same probability p, independently: k of them all go undrawn with probability (1 − p)^k. Without
/// the seed nobody can predict the drawn records; with it, anybody can check them.
///
/// The hash is SipHash-2-4 of the job, the part and the first subproblem as 8, 4 and 8 bytes, with the 16 bytes of the
/// seed as its key, all of them little-endian. A record is drawn if hash / 2^64 is below the share.
#[must_use]
pub fn is_drawn(seed: u128, share: Share, job: JobId, part: u32, first: u64) -> bool {
    largest_without(seed, job, part, first) < share
}

/// Returns the largest share for which a record is not drawn.
pub(crate) fn largest_without(seed: u128, job: JobId, part: u32, first: u64) -> Share {
    let mut hasher = SipHasher24::new_with_key(&seed.to_le_bytes());
    hasher.write(&job.0.to_le_bytes());
    hasher.write(&part.to_le_bytes());
    hasher.write(&first.to_le_bytes());
    let ppm = (u128::from(hasher.finish()) * u128::from(Share::ALL.ppm())) >> 64;
    u32::try_from(ppm).ok().and_then(|ppm| Share::of_ppm(ppm).ok()).unwrap_or(Share::ALL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seed: u128, ppm: u32) -> Vec<u64> {
        let share = Share::of_ppm(ppm).expect("a share");
        (0..10_000).filter(|&first| is_drawn(seed, share, JobId(1), 3, first)).collect()
    }

    #[test]
    fn all_none_or_about_the_share_are_drawn_and_others_with_another_seed() {
        assert_eq!((drawn(7, 0).len(), drawn(7, 1_000_000).len()), (0, 10_000));
        for seed in 0..20 {
            // Within six standard deviations of 1000.
            let n_drawn = drawn(seed, 100_000).len();
            assert!((820..1180).contains(&n_drawn), "seed {seed}: {n_drawn}");
        }
        assert_ne!(drawn(1, 100_000), drawn(2, 100_000));
    }

    #[test]
    fn a_larger_share_draws_what_a_smaller_one_does() {
        let larger = drawn(7, 20_000);
        assert!(drawn(7, 10_000).iter().all(|first| larger.contains(first)));
    }

    /// Other programs must find the drawn records of a certificate again.
    #[test]
    fn what_is_drawn_stays_drawn_in_all_versions() {
        assert_eq!(drawn(0x0123_4567_89ab_cdef, 1_000), [98, 3323, 6435, 6953, 8341, 9102]);
    }
}
