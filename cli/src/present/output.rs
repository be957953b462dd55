//! The formats of answers.

use clap::ValueEnum;
use queens_solver::Method;
use serde::{Serialize, Serializer};

/// The format of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people
    Text,
    /// One JSON object; counts are strings, because they exceed doubles
    Json,
}

/// Formats a value as JSON in one line, with its fields in the order of their names.
pub(crate) fn json_of(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_value(value)?.to_string())
}

/// Serializes a method as its name.
pub(crate) fn method_name<S: Serializer>(method: &Method, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(method.name())
}
