//! The subproblems of a part in the halves method, and how they are counted.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::halves::parts::{HalvesPart, Subproblem};
use crate::halves::specification::{self, Lists};
use crate::halves::unit::units;
use crate::halves::vectored::Vectored;
use crate::kernel::Kernel;
use crate::span::Count;

/// The numbered subproblems of one part, with the lists of the last counted one.
#[derive(Clone, Debug)]
pub(crate) struct JoinedHalves {
    pub(crate) part: HalvesPart,
    lists: Lists,
    vectored: Vectored,
}

impl JoinedHalves {
    pub(crate) fn new(part: HalvesPart) -> Self {
        Self { part, lists: Lists::default(), vectored: Vectored::default() }
    }

    /// Counts the subproblems with these numbers. Numbers past the last hold nothing.
    ///
    /// Returns `None` if `stop` was set before the end. Then nothing was counted.
    ///
    /// # Panics
    /// If the counts outgrow 64 bits, which takes centuries.
    pub(crate) fn count(&mut self, numbers: Range<u64>, kernel: Kernel, stop: &AtomicBool) -> Option<Count> {
        let numbers = numbers.start..numbers.end.min(self.part.n_subproblems());
        let mut sum = Count::default();
        let middle = self.part.middle;
        for number in numbers {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let subproblem = self.part.subproblem(number);
            let count = if subproblem.factor == 0 {
                Count::default()
            } else if let Some(counted) = self.count_by_vectors(&subproblem, kernel, stop) {
                counted?
            } else {
                specification::count(middle, &subproblem, &mut self.lists, stop)?
            };
            sum = sum.checked_add(count).expect("a call counts for seconds");
        }
        Some(sum)
    }

    /// Counts a subproblem by the fast join, if the board has one.
    fn count_by_vectors(
        &mut self,
        subproblem: &Subproblem,
        kernel: Kernel,
        stop: &AtomicBool,
    ) -> Option<Option<Count>> {
        let middle = self.part.middle;
        if !self.vectored.serves(kernel, middle) {
            return None;
        }
        let joined = self.vectored.count(subproblem, stop);
        Some(joined.map(|joined| Count {
            solutions: u64::from(subproblem.factor) * joined.solutions,
            work: units(middle.n, joined.pairs),
        }))
    }

    /// Counts these subproblems by the specification.
    #[cfg(test)]
    pub(crate) fn specified(&mut self, numbers: Range<u64>) -> Count {
        let never = AtomicBool::new(false);
        let counts = numbers.map(|number| {
            let subproblem = self.part.subproblem(number);
            specification::count(self.part.middle, &subproblem, &mut self.lists, &never).unwrap_or_default()
        });
        counts.fold(Count::default(), |sum, count| sum.checked_add(count).expect("small counts"))
    }
}
