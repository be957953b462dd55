//! Answers on stdout.

use anyhow::Context;
use clap::ValueEnum;

/// How to print an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people
    Text,
    /// One JSON object; counts are strings, as they outgrow doubles
    Json,
}

/// Prints an answer to stdout.
pub(crate) fn print(lines: &str) -> anyhow::Result<()> {
    queens_process::print(lines).context("failed to write the answer")
}
