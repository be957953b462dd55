//! The plans that a certificate has to follow, made again from n and the methods.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use queens_solver::{BoardSize, Choice, Method, Plan, Symmetry};

use crate::refusal::Refusal;

/// The plans for one board, each made when it is needed.
pub(crate) struct Plans<'a> {
    n: BoardSize,
    n_threads: NonZeroUsize,
    stop: &'a AtomicBool,
    made: Vec<(Kind, Plan)>,
}

/// Which plan is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) method: Method,
    /// Whether it is that of a second pass by the method of the first.
    pub(crate) is_second: bool,
}

impl<'a> Plans<'a> {
    pub(crate) fn of(n: BoardSize, n_threads: NonZeroUsize, stop: &'a AtomicBool) -> Self {
        Self { n, n_threads, stop, made: Vec::new() }
    }

    /// Makes a plan, unless it is made.
    pub(crate) fn make(&mut self, kind: Kind) -> Result<(), Refusal> {
        if self.get(kind).is_none() {
            let first = Plan::new(self.n, kind.method, self.n_threads, self.stop);
            let first = first.ok_or(Refusal::Interrupted)?;
            let plan = if kind.is_second { second(&first) } else { Some(first) };
            let what = format!("the method {} has no second pass of its own", kind.method);
            self.made.push((kind, plan.ok_or_else(|| Refusal::at("header", what))?));
        }
        Ok(())
    }

    /// A plan that is made.
    pub(crate) fn get(&self, kind: Kind) -> Option<&Plan> {
        self.made.iter().find(|(made, _)| *made == kind).map(|(_, plan)| plan)
    }
}

/// The plan of a second pass by the same method: each cross on another image, which is no mirror of the first.
fn second(first: &Plan) -> Option<Plan> {
    if first.method() != Method::Search {
        return None;
    }
    let images = Symmetry::UP_TO_MIRROR;
    let choices: Vec<Choice> = first
        .parts()
        .iter()
        .map(|planned| {
            let Choice { image, work, .. } = *planned.choice();
            let place = images.iter().position(|&other| other == image).unwrap_or_default();
            let image = images[(place + 1) % images.len()];
            Choice { image, n_subproblems: planned.part().subproblems(image).n_subproblems(), work }
        })
        .collect();
    Plan::from_choices(first.n(), first.method(), &choices).ok()
}
