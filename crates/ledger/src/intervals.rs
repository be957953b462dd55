//! A set of numbers, stored as ranges.

use std::fmt;
use std::ops::Range;

use siphasher::sip::SipHasher13;

use crate::ranges::{Ranges, outside};

/// A set of `u64`: disjoint ranges in order that do not touch, with a fingerprint.
///
/// A change takes time logarithmic in the number of ranges, times the number of ranges that it touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intervals {
    ranges: Ranges<()>,
    n_numbers: u64,
    fingerprint: u64,
}

/// The size of a set and its fingerprint, which differs from that of any other set except by chance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The number of ranges.
    pub n_ranges: u64,
    /// The number of numbers in them.
    pub n_numbers: u64,
    /// The sum of a hash of each range. It shows a missing, additional or different range.
    pub fingerprint: u64,
}

impl Intervals {
    /// Returns the ranges, in order, with a gap between any two.
    pub fn ranges(&self) -> impl DoubleEndedIterator<Item = Range<u64>> {
        self.ranges.iter().map(|((), range)| range)
    }

    /// Returns the number of numbers in the set.
    pub fn len(&self) -> u64 {
        self.n_numbers
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the set's size and fingerprint.
    pub fn extent(&self) -> Extent {
        let (n_ranges, n_numbers) = (self.ranges.len() as u64, self.n_numbers);
        Extent { n_ranges, n_numbers, fingerprint: self.fingerprint }
    }

    /// Returns the end of the range that begins with `start`, if there is one.
    pub fn end_of(&self, start: u64) -> Option<u64> {
        self.ranges.end_of((), start)
    }

    /// Whether the set contains all of `range`.
    pub fn contains(&self, range: &Range<u64>) -> bool {
        range.is_empty() || self.ranges.with((), range.start).is_some_and(|held| range.end <= held.end)
    }

    /// Whether the set contains any of `range`.
    pub fn intersects(&self, range: &Range<u64>) -> bool {
        self.ranges.intersects((), range)
    }

    /// Adds `range`, which may already be in the set wholly or in part. Returns the ranges that were merged with it.
    pub fn insert(&mut self, range: Range<u64>) -> Vec<Range<u64>> {
        if range.is_empty() {
            return Vec::new();
        }
        let (merged, whole) = self.ranges.insert((), range);
        merged.iter().for_each(|held| self.uncount(held));
        self.count(&whole);
        merged
    }

    /// Removes `range`, as far as it is in the set.
    pub fn remove(&mut self, range: &Range<u64>) {
        for held in self.ranges.remove((), range) {
            self.uncount(&held);
            outside(&held, range).for_each(|rest| self.count(&rest));
        }
    }

    /// Returns the numbers that are in this set and not in the other.
    #[must_use]
    pub fn without(&self, others: &Self) -> Self {
        let mut rest = self.clone();
        others.ranges().for_each(|range| rest.remove(&range));
        rest
    }

    /// Returns the ranges of `range` that are not in the set, in order.
    pub fn gaps(&self, range: Range<u64>) -> Vec<Range<u64>> {
        self.ranges.gaps((), range)
    }

    fn count(&mut self, range: &Range<u64>) {
        self.n_numbers += range.end - range.start;
        self.fingerprint = self.fingerprint.wrapping_add(hash(range));
    }

    fn uncount(&mut self, range: &Range<u64>) {
        self.n_numbers -= range.end - range.start;
        self.fingerprint = self.fingerprint.wrapping_sub(hash(range));
    }
}

/// Returns the contribution of a range to a fingerprint. Fingerprints are stored, so this must never change.
fn hash(range: &Range<u64>) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&range.start.to_le_bytes());
    bytes[8..].copy_from_slice(&range.end.to_le_bytes());
    SipHasher13::new().hash(&bytes)
}

/// For example `0..20 30..40`.
impl fmt::Display for Intervals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, range) in self.ranges().enumerate() {
            let gap = if i == 0 { "" } else { " " };
            write!(f, "{gap}{}..{}", range.start, range.end)?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Intervals {
    type Err = InvalidIntervals;

    /// Parses the output of [`Display`](fmt::Display), and nothing else.
    fn from_str(text: &str) -> Result<Self, InvalidIntervals> {
        let mut set = Self::default();
        let mut last = None;
        for range in text.split(' ').filter(|range| !range.is_empty()) {
            let (start, end) = range.split_once("..").ok_or(InvalidIntervals)?;
            let start: u64 = start.parse().map_err(|_| InvalidIntervals)?;
            let end: u64 = end.parse().map_err(|_| InvalidIntervals)?;
            if start >= end || last.is_some_and(|last| last >= start) {
                return Err(InvalidIntervals);
            }
            last = Some(end);
            set.insert(start..end);
        }
        Ok(set)
    }
}

/// The error for a text that is no set of ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a list of ranges in ascending order")]
pub struct InvalidIntervals;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// After any insertions and removals, the set agrees with a set of single numbers.
        #[test]
        fn behaves_like_a_set_of_numbers(
            steps in prop::collection::vec((any::<bool>(), 0_u64..40, 0_u64..12), 0..40),
            probe in (0_u64..40, 0_u64..12),
        ) {
            let mut set = Intervals::default();
            let mut model = BTreeSet::new();
            for (insert, start, len) in steps {
                let range = start..start + len;
                let before: Vec<Range<u64>> = set.ranges().collect();
                if insert {
                    let merged = set.insert(range.clone());
                    let after: Vec<Range<u64>> = set.ranges().collect();
                    let kept = |range: &&Range<u64>| !merged.contains(range);
                    prop_assert!(before.iter().filter(kept).all(|range| after.contains(range)));
                    prop_assert!(before.iter().filter(kept).count() + 1 >= after.len());
                    model.extend(range);
                } else {
                    set.remove(&range);
                    model.retain(|number| !range.contains(number));
                }
                let ranges: Vec<Range<u64>> = set.ranges().collect();
                for pair in ranges.windows(2) {
                    prop_assert!(pair[0].end < pair[1].start, "{}", set);
                }
                prop_assert!(ranges.iter().all(|range| !range.is_empty()));
                let numbers: BTreeSet<u64> = ranges.iter().cloned().flatten().collect();
                prop_assert_eq!(&numbers, &model);
                // The same numbers make the same set, in whatever order they came.
                let mut again = Intervals::default();
                model.iter().for_each(|&number| _ = again.insert(number..number + 1));
                prop_assert_eq!(&again, &set);
                prop_assert!(before == ranges || again.extent().fingerprint != sum(&before));
            }
            let probe = probe.0..probe.0 + probe.1;
            prop_assert_eq!(set.contains(&probe), probe.clone().all(|number| model.contains(&number)));
            prop_assert_eq!(set.intersects(&probe), probe.clone().any(|number| model.contains(&number)));
            let gaps: Vec<u64> = set.gaps(probe.clone()).into_iter().flatten().collect();
            let missing: Vec<u64> = probe.filter(|number| !model.contains(number)).collect();
            prop_assert_eq!(gaps, missing);
            prop_assert_eq!(set.len(), model.len() as u64);
            prop_assert_eq!(set.to_string().parse(), Ok(set));
        }
    }

    fn sum(ranges: &[Range<u64>]) -> u64 {
        ranges.iter().map(hash).fold(0, u64::wrapping_add)
    }

    #[test]
    fn only_its_own_text_is_read() {
        for text in
            ["1", "1..", "..2", "2..1", "1..1", "1..3 2..5", "1..3 3..5", "a..b", "0..5 9..7", "-1..4"]
        {
            assert_eq!(text.parse::<Intervals>(), Err(InvalidIntervals), "'{text}'");
        }
    }

    #[test]
    fn fingerprints_are_what_they_were_when_they_were_stored() {
        let set: Intervals = "0..20 30..40".parse().expect("ranges");
        assert_eq!(
            set.extent(),
            Extent { n_ranges: 2, n_numbers: 30, fingerprint: 10_436_887_883_881_559_468 }
        );
    }
}
