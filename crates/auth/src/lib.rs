//! Authentication and authorisation: roles, tokens, TLS keys and pins.
//!
//! A *role* grants permissions. An *invitation* gives a principal a role and one of two credentials. One is a *token*,
//! a secret of 256 random bits; the coordinator stores only its salted hash. The other is the key of a TLS certificate.
//! Tokens travel over TLS. A client verifies the server by a CA certificate or by a *pin* of its key. The coordinator
//! stores invitations and authorises requests.

mod client;
mod credentials;
mod invitation;
mod join_code;
mod pem;
mod pin;
mod role;
mod secret;
mod server;
mod tls_reason;
mod token;
mod validity;

pub use client::{TooManyPins, Trust};
pub use credentials::{Credentials, CredentialsError};
pub use invitation::{Invitation, InvitationError, Proof, random_party};
pub use join_code::{InvalidJoinCode, JoinCode};
pub use pem::TlsError;
pub use pin::{InvalidPin, Pin};
pub use role::{InvalidRole, Permission, Role};
pub use secret::Secret;
pub use server::{Loaded, ServerFiles};
pub use tls_reason::tls_reason;
pub use token::{InvalidToken, Token, TokenHash};
pub use validity::end_of;
