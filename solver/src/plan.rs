//! The plan of a job: what is counted, in which pieces, and how much work each piece is.

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

/// What is to be counted for one n by one method, and in which pieces.
///
/// It depends on n, the method and the pass alone: made again, it is the same plan.
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

/// Stored choices that can't belong to a plan of this n.
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
    /// A plan of the search takes milliseconds up to n = 17, a tenth of a core-second at 26, some core-seconds at 28, a
    /// core-minute at 31 and less than a core-hour at 32, nearly all of it to count the subproblems; one of halves
    /// about a core-second at most. Returns `None` if `stop` is set before the end, or if a thread can't be started.
    #[must_use]
    pub fn new(n: BoardSize, method: Method, n_threads: NonZeroUsize, stop: &AtomicBool) -> Option<Self> {
        Self::with_progress(n, method, Pass::First, n_threads, stop, &PlanProgress::default())
    }

    /// The plan for counting the same a second time, each cross on another image than [`new`](Self::new) has it on, and
    /// not on the left-right mirror of that, whose tree is the same. Halves have no images: of them there is one plan.
    #[must_use]
    pub fn second(n: BoardSize, method: Method, n_threads: NonZeroUsize, stop: &AtomicBool) -> Option<Self> {
        Self::with_progress(n, method, Pass::Second, n_threads, stop, &PlanProgress::default())
    }

    /// The plan of either pass. `progress` tells all the time how far it is.
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

    /// The plan that made these choices, in the order of its parts.
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

    /// The size of the board.
    #[must_use]
    pub const fn n(&self) -> BoardSize {
        self.n
    }

    /// How the board is counted.
    #[must_use]
    pub const fn method(&self) -> Method {
        self.method
    }

    /// Rows that the search places below a cross to make a prefix.
    #[must_use]
    pub const fn depth(&self) -> u8 {
        depth(self.n)
    }

    /// The parts, in [counting order](parts_in_counting_order).
    #[must_use]
    pub fn parts(&self) -> &[PlannedPart] {
        &self.parts
    }

    /// The part with this number, if there is one.
    #[must_use]
    pub fn part(&self, number: u32) -> Option<&PlannedPart> {
        self.parts.get(usize::try_from(number).ok()?)
    }

    /// The estimated work of the whole job.
    #[must_use]
    pub fn work(&self) -> u128 {
        self.parts.iter().map(|part| part.choice.work).sum()
    }
}

impl PlannedPart {
    /// What it is: a cross, as it stands for its orbit, or halves.
    #[must_use]
    pub const fn part(&self) -> &Part {
        &self.part
    }

    /// How many solutions each one stands for that is counted in it.
    #[must_use]
    pub const fn weight(&self) -> u8 {
        self.part.weight()
    }

    /// What planning decided about it.
    #[must_use]
    pub const fn choice(&self) -> &Choice {
        &self.choice
    }

    /// The queens that all of its subproblems have, on the image that is counted.
    #[must_use]
    pub fn queens(&self) -> Vec<Square> {
        self.part.queens(self.choice.image)
    }

    /// Its subproblems.
    #[must_use]
    pub fn subproblems(&self) -> Subproblems {
        self.part.subproblems(self.choice.image)
    }
}
