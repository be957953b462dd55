//! The part of a job that nobody holds and that is not recorded.

use std::collections::BTreeMap;

use queens_solver::Span;

/// Disjoint spans in the order of their crosses and numbers, merged where they touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FreeSpans(BTreeMap<(u32, u64), u64>);

impl FreeSpans {
    /// Whether there is nothing to hand out.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a span, none of which may be free already.
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

    /// Takes out what of `span` is free and returns it.
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

    /// The first free span.
    pub(crate) fn first(&self) -> Option<Span> {
        let (&(cross, from), &to) = self.0.first_key_value()?;
        Span::new(cross, from, to).ok()
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
            let mut free = FreeSpans::default();
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
                let spans: Vec<Span> =
                    free.0.iter().map(|(&(c, from), &to)| Span::new(c, from, to).expect("not empty")).collect();
                prop_assert_eq!(&spans.iter().copied().flat_map(numbers).collect::<Model>(), &model);
                prop_assert!(spans.windows(2).all(|p| p[0].cross() < p[1].cross() || p[0].to() <= p[1].from()));
                prop_assert_eq!(free.first(), spans.first().copied());
            }
        }
    }
}
