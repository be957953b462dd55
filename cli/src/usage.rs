//! The error of arguments that are valid alone but not together.

use thiserror::Error;

/// Arguments that do not go together. The command ends with exit status 2, as for a single wrong argument.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub(crate) struct WrongUsage(pub(crate) String);
