//! Sets of subproblems, kept as spans.

use std::collections::BTreeMap;

use queens_solver::Span;

/// Disjoint spans in the order of their crosses and numbers, merged where they touch. Each method takes time
/// logarithmic in the number of spans, for each span that it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SpanSet(BTreeMap<(u32, u64), u64>);

impl SpanSet {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many spans there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The spans, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Span> {
        self.0.iter().filter_map(|(&(cross, from), &to)| Span::new(cross, from, to).ok())
    }

    /// Where the span ends that has this subproblem.
    pub(crate) fn end_of(&self, cross: u32, number: u64) -> Option<u64> {
        let (_, &to) = self.0.range((cross, 0)..=(cross, number)).next_back()?;
        (number < to).then_some(to)
    }

    /// Adds a span, none of which may be there already.
    pub(crate) fn insert(&mut self, span: Span) {
        let (cross, mut from, mut to) = (span.cross(), span.from(), span.to());
        if let Some((&(_, before), &end)) = self.0.range((cross, 0)..(cross, from)).next_back()
            && end == from
        {
            self.0.remove(&(cross, before));
            from = before;
        }
        if let Some(end) = self.0.remove(&(cross, to)) {
            to = end;
        }
        self.0.insert((cross, from), to);
    }

    /// Takes out what of `span` is there and returns it.
    pub(crate) fn take(&mut self, span: Span) -> Vec<Span> {
        let cross = span.cross();
        let first = match self.0.range((cross, 0)..=(cross, span.from())).next_back() {
            Some((&(_, from), &to)) if to > span.from() => from,
            _ => span.from(),
        };
        let touched: Vec<Span> = self
            .0
            .range((cross, first)..(cross, span.to()))
            .filter_map(|(&(cross, from), &to)| Span::new(cross, from, to).ok())
            .collect();
        let mut taken = Vec::with_capacity(touched.len());
        for free in touched {
            self.0.remove(&(cross, free.from()));
            let (before, rest) = free.split_at(span.from());
            let (inside, after) = rest.map_or((None, None), |rest| rest.split_at(span.to()));
            for outside in [before, after].into_iter().flatten() {
                self.0.insert((cross, outside.from()), outside.to());
            }
            taken.extend(inside);
        }
        taken
    }

    /// The first span.
    pub(crate) fn first(&self) -> Option<Span> {
        let (&(cross, from), &to) = self.0.first_key_value()?;
        Span::new(cross, from, to).ok()
    }

    /// What is in both.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let mut rest = self.clone();
        other.iter().flat_map(|span| rest.take(span)).collect()
    }

    /// What is here and not there.
    pub(crate) fn without(&self, other: &Self) -> Self {
        let mut rest = self.clone();
        other.iter().for_each(|span| _ = rest.take(span));
        rest
    }

    /// Takes out the last span.
    pub(crate) fn pop_last(&mut self) -> Option<Span> {
        let ((cross, from), to) = self.0.pop_last()?;
        Span::new(cross, from, to).ok()
    }
}

/// Parts that are there twice are taken once.
impl FromIterator<Span> for SpanSet {
    fn from_iter<T: IntoIterator<Item = Span>>(spans: T) -> Self {
        let mut set = Self::default();
        for span in spans {
            set.take(span);
            set.insert(span);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    type Model = BTreeSet<(u32, u64)>;

    fn numbers(span: Span) -> impl Iterator<Item = (u32, u64)> {
        (span.from()..span.to()).map(move |number| (span.cross(), number))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn behaves_like_a_set_of_subproblems(
            steps in prop::collection::vec((any::<bool>(), 0_u32..3, 0_u64..30, 1_u64..10), 0..60),
        ) {
            let mut free = SpanSet::default();
            let mut model = Model::new();
            for (insert, cross, from, len) in steps {
                let span = Span::new(cross, from, from + len).expect("not empty");
                let here: Model = numbers(span).filter(|number| model.contains(number)).collect();
                if insert && here.is_empty() {
                    free.insert(span);
                    model.extend(numbers(span));
                } else {
                    let taken: Model = free.take(span).into_iter().flat_map(numbers).collect();
                    prop_assert_eq!(&taken, &here);
                    model.retain(|number| !taken.contains(number));
                }
                let end = free.end_of(cross, from);
                prop_assert_eq!(end.is_some(), model.contains(&(cross, from)));
                prop_assert!(end.is_none_or(|end| !model.contains(&(cross, end))));
                let spans: Vec<Span> = free.iter().collect();
                prop_assert_eq!(&spans.iter().copied().flat_map(numbers).collect::<Model>(), &model);
                prop_assert!(spans.windows(2).all(|p| p[0].cross() < p[1].cross() || p[0].to() <= p[1].from()));
                prop_assert_eq!(free.first(), spans.first().copied());
            }
        }
    }
}
