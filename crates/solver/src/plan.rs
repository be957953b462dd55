//! The plan of a job: its parts, their subproblems and their estimated work.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use thiserror::Error;

use crate::board::{BoardSize, Square};
use crate::choice::{Choice, Pass, PlanProgress};
use crate::halves;
use crate::method::Method;
use crate::part::{Part, crosses_in_counting_order, halves_in_counting_order, parts_in_counting_order};
use crate::search_plan;
use crate::subproblems::{Subproblems, depth};

/// The parts of one n by one method.
///
/// It depends on n, the method and the pass alone, so that making it again gives the same plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    n: BoardSize,
    method: Method,
    parts: Vec<PlannedPart>,
}

/// One part of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedPart {
    part: Part,
    choice: Choice,
}

/// The error of stored choices that can't belong to a plan of this n.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a plan for n = {n} by {method} has {expected} parts, not {found}")]
pub struct WrongParts {
    n: BoardSize,
    method: Method,
    expected: usize,
    found: usize,
}

impl Plan {
    /// Makes the plan for boards of size `n` with `n_threads` threads.
    ///
    /// A plan of the search takes milliseconds up to n = 17, a tenth of a core-second at 26 and some core-seconds at
    /// 28. At 31 it takes a core-minute and at 32 less than a core-hour, nearly all to count subproblems. A plan of
    /// half boards takes about a core-second at most. `None` if `stop` is set before the end, or if a thread can't be
    /// started.
    #[must_use]
    pub fn new(n: BoardSize, method: Method, n_threads: NonZeroUsize, stop: &AtomicBool) -> Option<Self> {
        Self::with_progress(n, method, Pass::First, n_threads, stop, &PlanProgress::default())
    }

    /// Makes the plan for a second count, with each cross on another image than in [`new`](Self::new). It avoids the
    /// left-right mirror of that image, whose tree is the same. Half boards have no images, and only one plan.
    #[must_use]
    pub fn second(n: BoardSize, method: Method, n_threads: NonZeroUsize, stop: &AtomicBool) -> Option<Self> {
        Self::with_progress(n, method, Pass::Second, n_threads, stop, &PlanProgress::default())
    }

    /// Makes the plan of either pass, and keeps `progress` up to date.
    #[must_use]
    pub fn with_progress(
        n: BoardSize,
        method: Method,
        pass: Pass,
        n_threads: NonZeroUsize,
        stop: &AtomicBool,
        progress: &PlanProgress,
    ) -> Option<Self> {
        let parts = parts_in_counting_order(n, method);
        progress.begin(parts.len());
        let choices = match method {
            Method::Search => {
                search_plan::choices(n, &crosses_in_counting_order(n), pass, n_threads, stop, progress)?
            }
            Method::Halves => halves::choices(n, &halves_in_counting_order(n), n_threads, stop, progress)?,
        };
        let planned = parts.into_iter().zip(choices).map(|(part, choice)| PlannedPart { part, choice });
        Some(Self { n, method, parts: planned.collect() })
    }

    /// Restores the plan that made these choices, in the order of its parts.
    ///
    /// # Errors
    /// If their number is not that of the parts of `n`.
    pub fn from_choices(n: BoardSize, method: Method, choices: &[Choice]) -> Result<Self, WrongParts> {
        let parts = parts_in_counting_order(n, method);
        if parts.len() != choices.len() {
            return Err(WrongParts { n, method, expected: parts.len(), found: choices.len() });
        }
        let planned = parts.into_iter().zip(choices);
        let planned = planned.map(|(part, &choice)| PlannedPart { part, choice });
        Ok(Self { n, method, parts: planned.collect() })
    }

    /// Returns the size of the board.
    #[must_use]
    pub const fn n(&self) -> BoardSize {
        self.n
    }

    /// Returns the counting method.
    #[must_use]
    pub const fn method(&self) -> Method {
        self.method
    }

    /// Returns the number of rows that the search places below a cross to make a prefix.
    #[must_use]
    pub const fn depth(&self) -> u8 {
        depth(self.n)
    }

    /// Returns the parts, in [counting order](parts_in_counting_order).
    #[must_use]
    pub fn parts(&self) -> &[PlannedPart] {
        &self.parts
    }

    /// Returns the part with this number, if it exists.
    #[must_use]
    pub fn part(&self, number: u32) -> Option<&PlannedPart> {
        self.parts.get(usize::try_from(number).ok()?)
    }

    /// Returns the estimated work of the whole job.
    #[must_use]
    pub fn work(&self) -> u128 {
        self.parts.iter().map(|part| part.choice.work).sum()
    }
}

impl PlannedPart {
    /// Returns the part: a cross, which stands for its orbit, or half boards.
    #[must_use]
    pub const fn part(&self) -> &Part {
        &self.part
    }

    /// Returns the number of solutions that each counted one stands for.
    #[must_use]
    pub const fn weight(&self) -> u8 {
        self.part.weight()
    }

    /// Returns its planned image, numbering and work.
    #[must_use]
    pub const fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Returns the queens that all its subproblems share, on the counted image.
    #[must_use]
    pub fn queens(&self) -> Vec<Square> {
        self.part.queens(self.choice.image)
    }

    /// Returns its subproblems.
    #[must_use]
    pub fn subproblems(&self) -> Subproblems {
        self.part.subproblems(self.choice.image)
    }
}
