//! Spans of subproblems and their counts.

use std::fmt;

use thiserror::Error;

/// A half-open, non-empty range of subproblem numbers of one part: the unit of leasing, progress and recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    part: u32,
    from: u64,
    to: u64,
}

/// The error of a range without subproblems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("span {from}..{to} is empty")]
pub struct EmptySpan {
    from: u64,
    to: u64,
}

impl Span {
    /// Makes the span of subproblems `from` (included) to `to` (excluded) of the part with number `cross` in its plan.
    ///
    /// # Errors
    /// If the range is empty.
    pub const fn new(part: u32, from: u64, to: u64) -> Result<Self, EmptySpan> {
        if from < to { Ok(Self { part, from, to }) } else { Err(EmptySpan { from, to }) }
    }

    /// Returns the number of the part in its plan.
    #[must_use]
    pub const fn part(self) -> u32 {
        self.part
    }

    /// Returns the first subproblem.
    #[must_use]
    pub const fn from(self) -> u64 {
        self.from
    }

    /// Returns the subproblem after the last.
    #[must_use]
    pub const fn to(self) -> u64 {
        self.to
    }

    /// Returns the number of subproblems, at least 1.
    #[must_use]
    pub const fn n_subproblems(self) -> u64 {
        self.to - self.from
    }

    /// Returns the subproblems that both spans have, if any.
    #[must_use]
    pub fn intersection(self, other: Self) -> Option<Self> {
        if self.part != other.part {
            return None;
        }
        Self::new(self.part, self.from.max(other.from), self.to.min(other.to)).ok()
    }

    /// Returns the pieces before and from subproblem `at` on; one is absent if `at` is not inside.
    #[must_use]
    pub fn split_at(self, at: u64) -> (Option<Self>, Option<Self>) {
        let at = at.clamp(self.from, self.to);
        (Self::new(self.part, self.from, at).ok(), Self::new(self.part, at, self.to).ok())
    }

    /// Returns the pieces, in order, that `others` leave of this span.
    #[must_use]
    pub fn without(self, others: &[Self]) -> Vec<Self> {
        let mut left = vec![self];
        for &other in others {
            let apart = |span: Self| match span.intersection(other) {
                None => [Some(span), None],
                Some(common) => [span.split_at(common.from).0, span.split_at(common.to).1],
            };
            left = left.into_iter().flat_map(apart).flatten().collect();
        }
        left
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part {} subproblems {}..{}", self.part, self.from, self.to)
    }
}

/// The solutions and the work of a span.
///
/// A kernel call runs for seconds at most, and a processor finds fewer than 10^11 solutions or nodes a second. So 64
/// bits hold the result of one call. Sums over calls are checked ([`Count::checked_add`]) or 128 bits wide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Solutions of the span, without the weight of its part.
    pub solutions: u64,
    /// The work of the span: for the search, queens below the prefixes that passed the pruning rule; for half boards,
    /// units.
    pub work: u64,
}

impl Count {
    /// Returns the sum, or `None` if it exceeds 64 bits.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        Some(Self {
            solutions: self.solutions.checked_add(other.solutions)?,
            work: self.work.checked_add(other.work)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_intersect_and_split() {
        let span = |from, to| Span::new(3, from, to).expect("not empty");
        assert_eq!(Span::new(0, 4, 4), Err(EmptySpan { from: 4, to: 4 }));
        assert_eq!(span(2, 9).intersection(span(5, 20)), Some(span(5, 9)));
        assert_eq!(span(2, 9).intersection(span(9, 20)), None);
        assert_eq!(span(2, 9).intersection(Span::new(4, 2, 9).expect("not empty")), None);
        assert_eq!(span(2, 9).split_at(5), (Some(span(2, 5)), Some(span(5, 9))));
        assert_eq!(span(2, 9).split_at(1), (None, Some(span(2, 9))));
        assert_eq!(span(2, 9).split_at(9), (Some(span(2, 9)), None));
    }

    #[test]
    fn spans_are_taken_off_a_span() {
        let span = |from, to| Span::new(3, from, to).expect("not empty");
        let elsewhere = Span::new(4, 2, 9).expect("not empty");
        assert_eq!(span(2, 9).without(&[]), [span(2, 9)]);
        assert_eq!(span(2, 9).without(&[elsewhere, span(0, 2), span(9, 12)]), [span(2, 9)]);
        assert_eq!(span(2, 9).without(&[span(7, 12), span(4, 5)]), [span(2, 4), span(5, 7)]);
        assert_eq!(span(2, 9).without(&[span(0, 4), span(3, 12)]), []);
    }
}
