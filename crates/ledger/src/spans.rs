//! Sets of subproblems, stored as spans.

use std::ops::Range;

use queens_solver::Span;

use crate::ranges::Ranges;

/// Disjoint spans in the order of their parts and numbers, merged where they touch. Each method takes time logarithmic
/// in the number of spans, for each span that it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SpanSet(Ranges<u32>);

impl SpanSet {
    /// Whether the set is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of spans.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the spans, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Span> {
        self.0.iter().filter_map(span)
    }

    /// Returns the end of the span that contains this subproblem.
    pub(crate) fn end_of(&self, part: u32, number: u64) -> Option<u64> {
        self.0.with(part, number).map(|range| range.end)
    }

    /// Returns the first span of a part.
    pub(crate) fn first_of(&self, part: u32) -> Option<Span> {
        self.0.first_of(part).and_then(|range| span((part, range)))
    }

    /// Adds a span, which may already be there wholly or in part.
    pub(crate) fn insert(&mut self, span: Span) {
        self.0.insert(span.part(), numbers(span));
    }

    /// Takes out `span`, as far as it is there, and returns that.
    pub(crate) fn take(&mut self, span: Span) -> Vec<Span> {
        let touched = self.0.remove(span.part(), &numbers(span)).into_iter();
        touched
            .filter_map(|held| Span::new(span.part(), held.start, held.end).ok()?.intersection(span))
            .collect()
    }

    /// Returns the first span.
    pub(crate) fn first(&self) -> Option<Span> {
        self.0.first().and_then(span)
    }

    /// Returns the subproblems that are in both sets.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let mut rest = self.clone();
        other.iter().flat_map(|span| rest.take(span)).collect()
    }

    /// Returns the subproblems that are in this set and not in the other.
    pub(crate) fn without(&self, other: &Self) -> Self {
        let mut rest = self.clone();
        other.iter().for_each(|span| _ = rest.take(span));
        rest
    }

    /// Removes the last span.
    pub(crate) fn pop_last(&mut self) -> Option<Span> {
        self.0.pop_last().and_then(span)
    }
}

fn numbers(span: Span) -> Range<u64> {
    span.from()..span.to()
}

/// Converts a range of a set, which is never empty.
fn span((part, range): (u32, Range<u64>)) -> Option<Span> {
    Span::new(part, range.start, range.end).ok()
}

/// Overlapping spans are merged.
impl FromIterator<Span> for SpanSet {
    fn from_iter<T: IntoIterator<Item = Span>>(spans: T) -> Self {
        let mut set = Self::default();
        spans.into_iter().for_each(|span| set.insert(span));
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    type Model = BTreeSet<(u32, u64)>;

    fn subproblems(span: Span) -> impl Iterator<Item = (u32, u64)> {
        (span.from()..span.to()).map(move |number| (span.part(), number))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn behaves_like_a_set_of_subproblems(
            steps in prop::collection::vec((any::<bool>(), 0_u32..3, 0_u64..30, 1_u64..10), 0..60),
        ) {
            let mut free = SpanSet::default();
            let mut model = Model::new();
            for (insert, part, from, len) in steps {
                let span = Span::new(part, from, from + len).expect("not empty");
                let here: Model = subproblems(span).filter(|number| model.contains(number)).collect();
                if insert {
                    free.insert(span);
                    model.extend(subproblems(span));
                } else {
                    let taken: Model = free.take(span).into_iter().flat_map(subproblems).collect();
                    prop_assert_eq!(&taken, &here);
                    model.retain(|number| !taken.contains(number));
                }
                let end = free.end_of(part, from);
                prop_assert_eq!(end.is_some(), model.contains(&(part, from)));
                prop_assert!(end.is_none_or(|end| !model.contains(&(part, end))));
                let spans: Vec<Span> = free.iter().collect();
                prop_assert_eq!(&spans.iter().copied().flat_map(subproblems).collect::<Model>(), &model);
                prop_assert!(spans.windows(2).all(|p| p[0].part() < p[1].part() || p[0].to() <= p[1].from()));
                prop_assert_eq!(free.first(), spans.first().copied());
            }
        }
    }
}
