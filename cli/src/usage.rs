//! Arguments that are right one by one, and wrong together.

use thiserror::Error;

/// What is wrong with the arguments. The command ends as with a single wrong argument: with exit status 2.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub(crate) struct WrongUsage(pub(crate) String);
