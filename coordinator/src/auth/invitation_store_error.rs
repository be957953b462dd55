//! Why something is not in the book.

use std::path::PathBuf;

use queens_model::Name;
use thiserror::Error;

use queens_store::sql::fault::Fault;

/// How many invitations there may be, ended or not.
pub(super) const MOST_INVITATIONS: i64 = 100_000;

/// What is said where nobody has made a book.
pub(super) const NOBODY_THERE: &str = "no coordinator that keeps invitations has been started on it; 'queens-coordinator \
     invite --new' invites before that";

/// Why something is not in the book.
#[derive(Debug, Error)]
pub enum InvitationStoreError {
    /// It can't be read or written.
    #[error("cannot use {place}: {reason}")]
    Unusable {
        /// The file, or the database.
        place: String,
        /// Why.
        reason: String,
    },
    /// No coordinator has made it.
    #[error("cannot use '{}': {NOBODY_THERE}", .0.display())]
    Absent(PathBuf),
    /// The database can't be reached at present, or does not answer.
    #[error("cannot use {place} at present: {reason}")]
    Away {
        /// The database.
        place: String,
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
    /// The invitation is not there any more.
    #[error("the invitation is gone: it was removed, or invitations were put back to an earlier state")]
    InvitationGone,
    /// Other people are invited where invitations are moved to.
    #[error(
        "there are invitations in the {0} already: what is moved needs a place of its own; remove what is there if a move \
         has left it"
    )]
    Occupied(String),
    /// There is no room.
    #[error("there are {MOST_INVITATIONS} invitations, and no more can be kept")]
    Full,
}

/// Why a transaction is taken back.
#[derive(Debug)]
pub(crate) enum TransactionError {
    /// What was asked for may not be.
    Refused(InvitationStoreError),
    /// It could not be carried out.
    Failed(Fault),
}

impl From<InvitationStoreError> for TransactionError {
    fn from(error: InvitationStoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<Fault> for TransactionError {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}
