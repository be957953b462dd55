//! Wrong usage that only several arguments taken together show.

use thiserror::Error;

/// What is wrong with the arguments: the command ends like one with a single wrong argument.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub(crate) struct WrongUsage(pub(crate) String);
