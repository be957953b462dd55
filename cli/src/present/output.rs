//! Answers on stdout.

use anyhow::Context;
use clap::ValueEnum;
use queens_solver::Method;
use serde::{Serialize, Serializer};

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
    queens_runtime::print(lines).context("failed to write the answer")
}

/// Prints one of several answers to stdout. Returns whether its reader is still there for the next.
pub(crate) fn print_some(lines: &str) -> anyhow::Result<bool> {
    queens_runtime::print_some(lines).context("failed to write the answer")
}

/// A value as JSON in one line, its fields in the order of their names.
pub(crate) fn json_of(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_value(value)?.to_string())
}

/// A method in JSON: its name.
pub(crate) fn method_name<S: Serializer>(method: &Method, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(method.name())
}
