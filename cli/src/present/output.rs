//! The formats of answers.

use clap::ValueEnum;
use queens_program::print;
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

impl Output {
    /// Prints an answer: the value as JSON in one line, or the text.
    pub(crate) fn print(self, value: &impl Serialize, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        print(&match self {
            Self::Text => text(),
            Self::Json => serde_json::to_string(value)?,
        })
    }
}

/// Serializes a method as its name.
pub(crate) fn method_name<S: Serializer>(method: &Method, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(method.name())
}
