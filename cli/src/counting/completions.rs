//! `queens count --given`: counts the solutions with given queens, and prints the number.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::Context;
use queens_solver::boards::{CompletionsError, Given, completions};
use queens_solver::{BoardSize, Kernel, Method};
use serde_json::json;

use crate::flags::wrong_usage;
use queens_model::plural;
use queens_program::Output;

/// Runs the count.
pub(crate) fn count_completions(
    n: BoardSize,
    given: &Given,
    kernel: Kernel,
    n_threads: NonZeroUsize,
    output: Output,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let never = AtomicBool::new(false);
    let found = match completions(n, given, kernel, n_threads, &never) {
        Ok(found) => found.context("the count has stopped")?,
        Err(CompletionsError::Given(invalid)) => return Err(wrong_usage(invalid.to_string())),
        Err(error) => return Err(error.into()),
    };
    let seconds = began.elapsed().as_secs_f64();
    let (solutions, work) = (found.solutions, found.nodes);
    let answer = json!({
        "n": n.get(),
        "method": Method::Search.name(),
        "given": given.to_string(),
        "solutions": solutions.to_string(),
        "work": work.to_string(),
        "seconds": (seconds * 1000.0).round() / 1000.0,
        "threads": n_threads.get(),
        "kernel": kernel.name(),
    });
    output.print(&answer, || {
        format!(
            "{} of n = {n} with queens on {given}\n{} in {seconds:.3} s on {}, {kernel} kernel",
            plural(solutions, "solution"),
            plural(work, "node"),
            plural(n_threads.get(), "thread"),
        )
    })
}
