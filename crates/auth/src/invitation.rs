//! Invitations: their role, proof of identity and expiry.

use std::{fmt, io};

use queens_model::{Name, Party};
use thiserror::Error;

use crate::pin::Pin;
use crate::role::Role;
use crate::secret::random_bytes;
use crate::token::{Token, TokenHash};

/// An invitation to use the coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// Its number, from 1 on, which its token contains.
    pub number: u64,
    /// The invitation's random identity. A restored database may give its number out again, but never its identity.
    pub party: Party,
    /// The role that it grants.
    pub role: Role,
    /// Its name for people.
    pub label: Option<Name>,
    /// When it was created, in milliseconds since 1970.
    pub made_ms: u64,
    /// When it expires, in milliseconds since 1970; `None` if only revocation ends it.
    pub expires_ms: Option<u64>,
    /// Whether an operator has revoked it.
    pub revoked: bool,
    /// How many worker names its principal may use. No other invitation may use those names.
    pub n_names: u32,
    /// How its principal authenticates.
    pub proof: Proof,
    /// The campaign by which its principal joined; `None` if an operator made it.
    pub campaign: Option<u64>,
    /// Whether it is refused until an operator approves it.
    pub waiting: bool,
}

/// How an invitation's principal authenticates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// By a token, stored as this hash.
    Token(TokenHash),
    /// By the key of the principal's own TLS certificate, which never leaves them. The certificate's issuer and expiry
    /// do not count: the invitation has its own.
    Key(Pin),
}

/// Why credentials are rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvitationError {
    /// No such token exists. The error does not reveal which part is wrong.
    #[error("this token is not known here")]
    Unknown,
    /// No invitation has this key.
    #[error(
        "no invitation has the key {0} of this TLS certificate: create one with 'queens-coordinator invite --certificate'"
    )]
    UnknownKey(Pin),
    /// The invitation was revoked.
    #[error("the invitation was revoked")]
    Revoked,
    /// The invitation has expired.
    #[error("the invitation has expired")]
    Expired,
    /// No operator has approved the invitation yet.
    #[error("your invitation waits until its operator approves it")]
    Waiting,
}

/// Draws the identity of a new invitation.
///
/// # Errors
/// If the system provides no random numbers.
pub fn random_party() -> io::Result<Party> {
    random_bytes().map(Party::from_bytes)
}

impl fmt::Display for Invitation {
    /// Writes the name for logs and records: the number, and the label if there is one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.label {
            Some(label) => write!(f, "invitation {} ({label})", self.number),
            None => write!(f, "invitation {}", self.number),
        }
    }
}

impl Invitation {
    /// Checks a token against this invitation.
    ///
    /// # Errors
    /// If it is another token, or this invitation has ended. Only the owner of the token learns the latter.
    pub fn check_token(&self, token: &Token, now_ms: u64) -> Result<(), InvitationError> {
        match &self.proof {
            Proof::Token(hash) if self.number == token.invitation() && hash.is_of(token) => {
                self.is_open(now_ms)
            }
            _ => Err(InvitationError::Unknown),
        }
    }

    /// Returns whether it is revoked or expired. One that waits for approval has not ended.
    #[must_use]
    pub fn has_ended(&self, now_ms: u64) -> bool {
        self.revoked || self.expires_ms.is_some_and(|expires_ms| expires_ms <= now_ms)
    }

    /// Checks that the invitation is approved and has not ended.
    ///
    /// # Errors
    /// If it is revoked, expired or not approved yet.
    pub fn is_open(&self, now_ms: u64) -> Result<(), InvitationError> {
        match self.expires_ms {
            _ if self.revoked => Err(InvitationError::Revoked),
            Some(expires_ms) if expires_ms <= now_ms => Err(InvitationError::Expired),
            _ if self.waiting => Err(InvitationError::Waiting),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_token_lets_in_and_only_as_long_as_it_lasts() {
        let token = Token::random(3).expect("random");
        let open = Invitation {
            number: 3,
            party: random_party().expect("random"),
            role: Role::Worker,
            label: None,
            made_ms: 0,
            expires_ms: Some(1000),
            revoked: false,
            n_names: 1,
            proof: Proof::Token(TokenHash::of(&token).expect("random")),
            campaign: None,
            waiting: false,
        };
        assert_eq!(open.check_token(&token, 999), Ok(()));
        assert_eq!(open.check_token(&token, 1000), Err(InvitationError::Expired));
        for other in [3, 4].map(|number| Token::random(number).expect("random")) {
            assert_eq!(
                open.check_token(&other, 1000),
                Err(InvitationError::Unknown),
                "strangers learn nothing"
            );
        }
        let waiting = Invitation { waiting: true, ..open.clone() };
        assert_eq!(waiting.check_token(&token, 999), Err(InvitationError::Waiting));
        assert_eq!(waiting.check_token(&token, 1000), Err(InvitationError::Expired));
        let revoked = Invitation { revoked: true, ..waiting };
        assert_eq!(revoked.check_token(&token, 0), Err(InvitationError::Revoked));
        let pin = format!("sha256:{}", "0".repeat(64)).parse().expect("a pin");
        let known_by_key = Invitation { proof: Proof::Key(pin), ..open };
        assert_eq!(known_by_key.check_token(&token, 0), Err(InvitationError::Unknown), "a token is no key");
    }
}
