//! Sets of numbers, kept as ranges.

use std::fmt;
use std::ops::Range;

/// A set of `u64`, as disjoint ranges in order that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intervals(Vec<Range<u64>>);

impl Intervals {
    /// The ranges, in order, with a gap between any two.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }

    /// How many numbers are in the set.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all of `range` is in the set.
    pub fn contains(&self, range: &Range<u64>) -> bool {
        range.is_empty()
            || self.0[self.first_ending_after(range.start)..]
                .first()
                .is_some_and(|held| held.start <= range.start && range.end <= held.end)
    }

    /// Whether any of `range` is in the set.
    pub fn intersects(&self, range: &Range<u64>) -> bool {
        !range.is_empty()
            && self.0[self.first_ending_after(range.start)..]
                .first()
                .is_some_and(|held| held.start < range.end)
    }

    /// Adds `range`, all, part or none of which may be there already.
    pub fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        // All held ranges that overlap or touch the new one become one with it.
        let first = self.0.partition_point(|held| held.end < range.start);
        let last = self.0.partition_point(|held| held.start <= range.end);
        let mut merged = range;
        if first < last {
            merged.start = merged.start.min(self.0[first].start);
            merged.end = merged.end.max(self.0[last - 1].end);
        }
        self.0.splice(first..last, [merged]);
    }

    /// Takes out what of `range` is in the set.
    pub fn remove(&mut self, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        let first = self.first_ending_after(range.start);
        let last = self.0.partition_point(|held| held.start < range.end);
        if first >= last {
            return;
        }
        let before = self.0[first].start..range.start;
        let after = range.end..self.0[last - 1].end;
        self.0.splice(first..last, [before, after].into_iter().filter(|rest| !rest.is_empty()));
    }

    /// What of `range` is not in the set, in order.
    pub fn gaps(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut rest = Self::default();
        rest.insert(range);
        for held in &self.0 {
            rest.remove(held);
        }
        rest.0
    }

    fn first_ending_after(&self, number: u64) -> usize {
        self.0.partition_point(|held| held.end <= number)
    }
}

/// For example `0..20 30..40`.
impl fmt::Display for Intervals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, range) in self.0.iter().enumerate() {
            let gap = if i == 0 { "" } else { " " };
            write!(f, "{gap}{}..{}", range.start, range.end)?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Intervals {
    type Err = InvalidIntervals;

    /// Reads what [`Display`](fmt::Display) writes, and nothing else.
    fn from_str(text: &str) -> Result<Self, InvalidIntervals> {
        let mut set = Self::default();
        for range in text.split(' ').filter(|range| !range.is_empty()) {
            let (start, end) = range.split_once("..").ok_or(InvalidIntervals)?;
            let start = start.parse().map_err(|_| InvalidIntervals)?;
            let end = end.parse().map_err(|_| InvalidIntervals)?;
            let in_order = set.0.last().is_none_or(|last| last.end < start);
            if start >= end || !in_order {
                return Err(InvalidIntervals);
            }
            set.0.push(start..end);
        }
        Ok(set)
    }
}

/// A text that is no set of ranges.
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

        /// Whatever is put in and taken out, the set says what a set of single numbers says.
        #[test]
        fn behaves_like_a_set_of_numbers(
            steps in prop::collection::vec((any::<bool>(), 0_u64..40, 0_u64..12), 0..40),
            probe in (0_u64..40, 0_u64..12),
        ) {
            let mut set = Intervals::default();
            let mut model = BTreeSet::new();
            for (insert, start, len) in steps {
                let range = start..start + len;
                if insert {
                    set.insert(range.clone());
                    model.extend(range);
                } else {
                    set.remove(&range);
                    model.retain(|number| !range.contains(number));
                }
                for pair in set.ranges().windows(2) {
                    prop_assert!(pair[0].end < pair[1].start, "{}", set);
                }
                prop_assert!(set.ranges().iter().all(|range| !range.is_empty()));
                let numbers: BTreeSet<u64> = set.ranges().iter().cloned().flatten().collect();
                prop_assert_eq!(&numbers, &model);
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

    #[test]
    fn only_its_own_text_is_read() {
        for text in
            ["1", "1..", "..2", "2..1", "1..1", "1..3 2..5", "1..3 3..5", "a..b", "0..5 9..7", "-1..4"]
        {
            assert_eq!(text.parse::<Intervals>(), Err(InvalidIntervals), "'{text}'");
        }
    }
}
