//! The sums of a recount lease.
//!
//! A record is recounted as a whole or not at all, so its reports are added up until nothing is missing. If the lease
//! ends before that, another worker recounts the record from the beginning.

use std::collections::BTreeMap;
use std::time::Duration;

use queens_solver::{Count, Span};

use crate::spans::SpanSet;
use crate::store::{MAX_COUNT, MAX_DURATION};

/// The records of one lease, which do not touch each other, with the sums of their reports.
#[derive(Clone, Debug)]
pub(crate) struct Sums(BTreeMap<(u32, u64), Sum>);

#[derive(Clone, Copy, Debug)]
struct Sum {
    to: u64,
    /// The subproblems that are not reported.
    n_missing: u64,
    count: Count,
    duration: Duration,
}

/// A complete recount of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WholeCount {
    pub(crate) span: Span,
    pub(crate) count: Count,
    pub(crate) duration: Duration,
}

impl Sums {
    /// Creates empty sums for these records.
    pub(crate) fn of(records: &SpanSet) -> Self {
        let sum = |span: Span| Sum {
            to: span.to(),
            n_missing: span.n_subproblems(),
            count: Count::default(),
            duration: Duration::ZERO,
        };
        Self(records.iter().map(|span| ((span.part(), span.from()), sum(span))).collect())
    }

    /// Adds a span that was not reported before. Returns its record's count if it is complete.
    pub(crate) fn add(&mut self, span: Span, count: Count, duration: Duration) -> Option<WholeCount> {
        let key = self.key_of(span)?;
        let sum = self.0.get_mut(&key)?;
        sum.n_missing = sum.n_missing.saturating_sub(span.n_subproblems());
        // A sum that no record can hold is no honest count. As the largest number, it differs from any honest one.
        let plus = |before: u64, more: u64| before.saturating_add(more).min(MAX_COUNT);
        sum.count.solutions = plus(sum.count.solutions, count.solutions);
        sum.count.work = plus(sum.count.work, count.work);
        sum.duration = sum.duration.saturating_add(duration).min(MAX_DURATION);
        if sum.n_missing > 0 {
            return None;
        }
        let Sum { to, count, duration, .. } = self.0.remove(&key)?;
        Span::new(key.0, key.1, to).ok().map(|span| WholeCount { span, count, duration })
    }

    /// Removes the record that contains a span: it won't be counted under this lease.
    pub(crate) fn give_up(&mut self, span: Span) -> Option<(u32, u64)> {
        let key = self.key_of(span)?;
        self.0.remove(&key).map(|_| key)
    }

    /// Returns the records that are incomplete.
    pub(crate) fn missing(&self) -> impl Iterator<Item = (u32, u64)> {
        self.0.keys().copied()
    }

    fn key_of(&self, span: Span) -> Option<(u32, u64)> {
        let (&key, sum) = self.0.range(..=(span.part(), span.from())).next_back()?;
        (key.0 == span.part() && span.to() <= sum.to).then_some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: u64, to: u64) -> Span {
        Span::new(3, from, to).expect("not empty")
    }

    fn count(n: u64) -> Count {
        Count { solutions: n, work: 10 * n }
    }

    #[test]
    fn a_record_is_whole_when_all_of_it_is_reported_in_whatever_order() {
        let mut sums = Sums::of(&[span(0, 10), span(12, 13)].into_iter().collect());
        let second = Duration::from_secs(1);
        assert_eq!(sums.add(span(4, 10), count(1), second), None);
        assert_eq!(sums.add(span(10, 12), count(9), second), None, "of no record");
        assert_eq!(sums.add(span(9, 13), count(9), second), None, "of two");
        let whole = WholeCount { span: span(0, 10), count: count(3), duration: 2 * second };
        assert_eq!(sums.add(span(0, 4), count(2), second), Some(whole));
        assert_eq!(sums.missing().collect::<Vec<_>>(), [(3, 12)]);
        assert_eq!(sums.give_up(span(12, 13)), Some((3, 12)));
        assert_eq!(sums.add(span(12, 13), count(1), second), None);
    }

    #[test]
    fn what_no_record_can_hold_does_not_wrap() {
        let mut sums = Sums::of(&[span(0, 2)].into_iter().collect());
        let most = Count { solutions: u64::MAX, work: MAX_COUNT };
        assert_eq!(sums.add(span(0, 1), most, Duration::MAX), None);
        let whole = sums.add(span(1, 2), most, Duration::MAX).expect("all of it");
        assert_eq!((whole.count.solutions, whole.count.work), (MAX_COUNT, MAX_COUNT));
        assert_eq!(whole.duration, MAX_DURATION);
    }
}
