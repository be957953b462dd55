//! Errors of the invitation store.

use std::path::PathBuf;

use queens_model::Name;
use queens_store::sql::fault::Fault;
use thiserror::Error;

/// Maximal invitations, open or ended.
pub(super) const MOST_INVITATIONS: i64 = 100_000;

/// Maximal campaigns, open or closed.
pub(super) const MOST_CAMPAIGNS: i64 = 1000;

/// The message if no invitation store was created.
pub(super) const NOBODY_THERE: &str = "no coordinator that keeps invitations has been started on it; 'queens-coordinator \
     invite --new' invites before that";

/// Why an operation on the invitation store fails.
#[derive(Debug, Error)]
pub enum InvitationStoreError {
    #[error("cannot use {place}: {reason}")]
    Unusable { place: String, reason: String },
    #[error("cannot use '{}': {NOBODY_THERE}", .0.display())]
    Absent(PathBuf),
    #[error("cannot use {place} at present: {reason}")]
    Away { place: String, reason: String },
    #[error("the name '{name}' belongs to invitation {invitation}: names are different people")]
    Taken { name: Name, invitation: u64 },
    #[error("invitation {invitation} is not for a worker named '{name}': its names are {names}")]
    NoNameLeft { name: Name, invitation: u64, names: String },
    #[error("the key of this TLS certificate is that of invitation {0}: revoke it first")]
    KeyInUse(u64),
    #[error("there is no invitation {0}: 'queens-coordinator invitations' lists them")]
    Unknown(u64),
    #[error("there is no such campaign: 'queens-coordinator campaign list' lists them")]
    UnknownCampaign,
    #[error("there are {MOST_CAMPAIGNS} campaigns, and no more can be kept")]
    TooManyCampaigns,
    #[error("the invitation is gone: it was removed, or invitations were put back to an earlier state")]
    InvitationGone,
    #[error(
        "there are invitations in the {0} already: what is moved needs a place of its own; remove what is there if a move \
         has left it"
    )]
    Occupied(String),
    #[error("there are {MOST_INVITATIONS} invitations, and no more can be kept")]
    Full,
}

/// Why a transaction is rolled back.
#[derive(Debug)]
pub(crate) enum TransactionError {
    /// The request is not allowed.
    Refused(InvitationStoreError),
    /// The database failed.
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
