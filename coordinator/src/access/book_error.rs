//! Why something is not in the book.

use std::path::{Path, PathBuf};

use queens_messages::Name;
use thiserror::Error;

/// How many invitations there may be, ended or not.
pub(super) const MOST_INVITATIONS: i64 = 100_000;

/// Why something is not in the book.
#[derive(Debug, Error)]
pub enum BookError {
    /// It can't be read or written.
    #[error("cannot use '{}': {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Somebody else may use the name.
    #[error("the name '{name}' belongs to invitation {invitation}: names are different people")]
    Taken {
        /// The name.
        name: Name,
        /// Whose it is.
        invitation: u64,
    },
    /// The invitation has as many names as it may have.
    #[error("invitation {invitation} is not for a worker named '{name}': its names are {names}")]
    NoNameLeft {
        /// The name.
        name: Name,
        /// Whose token was shown.
        invitation: u64,
        /// Those that are bound to it.
        names: String,
    },
    /// Somebody is invited with this key.
    #[error("the key of this TLS certificate is that of invitation {0}: revoke it first")]
    KeyInUse(u64),
    /// There is no such invitation.
    #[error("there is no invitation {0}: 'queens-coordinator invitations' lists them")]
    Unknown(u64),
    /// There is no room.
    #[error("there are {MOST_INVITATIONS} invitations, and no more can be kept")]
    Full,
}

impl BookError {
    pub(super) fn unusable(path: &Path, reason: impl ToString) -> Self {
        Self::Unusable { path: path.to_owned(), reason: reason.to_string() }
    }
}
