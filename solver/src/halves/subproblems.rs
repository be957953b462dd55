//! The subproblems of a part, and how they are counted.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::halves::join::Joined;
use crate::halves::parts::HalvesPart;
use crate::halves::portable::{self, Lists};
use crate::halves::unit::units;
use crate::halves::vectored::Vectored;
use crate::kernel::Kernel;
use crate::span::Count;

/// The numbered subproblems of one part, with the lists of the last that was counted.
#[derive(Clone, Debug)]
pub(crate) struct JoinedHalves {
    part: HalvesPart,
    lists: Lists,
    vectored: Vectored,
}

impl JoinedHalves {
    pub(crate) fn new(part: HalvesPart) -> Self {
        Self { part, lists: Lists::default(), vectored: Vectored::default() }
    }

    pub(crate) const fn part(&self) -> &HalvesPart {
        &self.part
    }

    /// Counts the subproblems with these numbers; there is nothing to count past the last.
    ///
    /// Returns `None` if `stop` was set before the end. Then nothing was counted.
    ///
    /// # Panics
    /// If the counts outgrow 64 bits, which takes centuries.
    pub(crate) fn count(&mut self, numbers: Range<u64>, kernel: Kernel, stop: &AtomicBool) -> Option<Count> {
        let numbers = numbers.start..numbers.end.min(self.part.n_subproblems());
        let mut sum = Count::default();
        let middle = self.part.middle();
        let by_vectors = self.vectored.serves(kernel, middle);
        for number in numbers {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let subproblem = self.part.subproblem(number);
            let count = if subproblem.factor == 0 {
                Count::default()
            } else if by_vectors {
                let Joined { solutions, pairs } = self.vectored.count(&subproblem, stop)?;
                let nodes = units(middle.n(), pairs);
                Count { solutions: u64::from(subproblem.factor) * solutions, nodes }
            } else {
                portable::count(middle, &subproblem, &mut self.lists, stop)?
            };
            sum = sum.checked_add(count).expect("a call counts for seconds");
        }
        Some(sum)
    }
}
