//! Invitations: who is let in, until when, and as whom.

use std::{fmt, io};

use queens_model::{Name, Party};
use thiserror::Error;

use crate::pin::Pin;
use crate::role::Role;
use crate::token::{Token, TokenHash};

/// What is known of somebody who was invited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// What it is called by, and what its token names. From 1 on.
    pub number: u64,
    /// The invitation's random identity. A restored database may give its number out again, but never its identity.
    pub party: Party,
    /// What it is good for.
    pub role: Role,
    /// What people call it by.
    pub label: Option<Name>,
    /// When it was made, in milliseconds since 1970.
    pub made_ms: u64,
    /// When it ends, in milliseconds since 1970; `None` if by being revoked alone.
    pub expires_ms: Option<u64>,
    /// Whether an operator has ended it.
    pub revoked: bool,
    /// How many names workers may use that come with it. Nobody who comes with another invitation may use them.
    pub n_names: u32,
    /// What whoever was invited is known by.
    pub proof: Proof,
}

/// What somebody who was invited is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// By showing a token, of which this is kept.
    Token(TokenHash),
    /// By the key of a TLS certificate of their own, which never leaves them. Whoever signed it, and until when it is
    /// good, does not count: the invitation says that.
    Key(Pin),
}

/// Why what was shown lets nobody in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvitationError {
    /// There is no such token. It is not told what of it is wrong.
    #[error("this token is not known here")]
    Unknown,
    /// Nobody has this key.
    #[error(
        "nobody is invited with the key {0} of this TLS certificate ('queens-coordinator invite --certificate' does that)"
    )]
    UnknownKey(Pin),
    /// It was good once.
    #[error("the invitation was revoked")]
    Revoked,
    /// It was good once.
    #[error("the invitation has expired")]
    Expired,
}

/// Draws the identity of a new invitation.
///
/// # Errors
/// If the system has no random numbers.
pub fn random_party() -> io::Result<Party> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(Party::from_bytes(bytes))
}

impl fmt::Display for Invitation {
    /// Its name in logs and records: its number, and its label if it has one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.label {
            Some(label) => write!(f, "invitation {} ({label})", self.number),
            None => write!(f, "invitation {}", self.number),
        }
    }
}

impl Invitation {
    /// Lets in whoever has its token, or says why not.
    ///
    /// # Errors
    /// If it is another token, or this invitation has ended. Only who has the token learns that.
    pub fn check_token(&self, token: &Token, now_ms: u64) -> Result<(), InvitationError> {
        match &self.proof {
            Proof::Token(hash) if self.number == token.invitation() && hash.is_of(token) => {
                self.is_open(now_ms)
            }
            _ => Err(InvitationError::Unknown),
        }
    }

    /// Whether it has not ended.
    ///
    /// # Errors
    /// If it has.
    pub fn is_open(&self, now_ms: u64) -> Result<(), InvitationError> {
        match self.expires_ms {
            _ if self.revoked => Err(InvitationError::Revoked),
            Some(expires_ms) if expires_ms <= now_ms => Err(InvitationError::Expired),
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
        let revoked = Invitation { revoked: true, ..open.clone() };
        assert_eq!(revoked.check_token(&token, 0), Err(InvitationError::Revoked));
        let pin = format!("sha256:{}", "0".repeat(64)).parse().expect("a pin");
        let known_by_key = Invitation { proof: Proof::Key(pin), ..open };
        assert_eq!(known_by_key.check_token(&token, 0), Err(InvitationError::Unknown), "a token is no key");
    }
}
