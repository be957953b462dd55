//! Makes the plans that a certificate must follow, from n and the methods.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use queens_solver::{BoardSize, Method, Plan};

use crate::refusal::Refusal;

/// The plans for one board, each made on demand.
pub(crate) struct Plans<'a> {
    n: BoardSize,
    n_threads: NonZeroUsize,
    stop: &'a AtomicBool,
    made: Vec<(Kind, Plan)>,
}

/// The properties that determine a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    pub(crate) method: Method,
    /// Whether it is a second pass by the method of the first.
    pub(crate) is_second: bool,
}

impl<'a> Plans<'a> {
    pub(crate) fn of(n: BoardSize, n_threads: NonZeroUsize, stop: &'a AtomicBool) -> Self {
        Self { n, n_threads, stop, made: Vec::new() }
    }

    /// Makes a plan, unless it exists.
    pub(crate) fn make(&mut self, kind: Kind) -> Result<(), Refusal> {
        if self.get(kind).is_none() {
            let make = if kind.is_second { Plan::second } else { Plan::new };
            let plan = make(self.n, kind.method, self.n_threads, self.stop);
            self.made.push((kind, plan.ok_or(Refusal::Interrupted)?));
        }
        Ok(())
    }

    /// Returns a plan, if it exists.
    pub(crate) fn get(&self, kind: Kind) -> Option<&Plan> {
        self.made.iter().find(|(made, _)| *made == kind).map(|(_, plan)| plan)
    }
}
