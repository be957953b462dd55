//! Who may do what, and how the two ends of a connection know each other.
//!
//! A *role* says what somebody may do. Whoever is *invited* has a *token*, a secret of 256 random bits, of which the
//! coordinator keeps a salted hash alone, or is known by the key of a TLS certificate. Tokens travel by TLS; how a server shows who it is, and whom a client takes
//! for it, is here as well: a TLS certificate that an authority vouches for, or whose key is *pinned*. What is kept of
//! all this, and where requests are let in or refused, is the coordinator's.

mod client;
mod credentials;
mod hex;
mod invitation;
mod pem;
mod pin;
mod private;
mod regular_file;
mod role;
mod secret;
mod server;
mod token;
mod validity;

pub use client::{TooManyPins, Trust};
pub use credentials::{Credentials, CredentialsError};
pub use invitation::{Invitation, InvitationError, Proof, random_party};
pub use pem::TlsError;
pub use pin::{InvalidPin, Pin};
pub use private::new_private_file;
pub use regular_file::{check_regular_file, open_regular_file};
pub use role::{InvalidRole, Permission, Role};
pub use secret::{InvalidSecret, Secret};
pub use server::{Loaded, ServerFiles};
pub use token::{InvalidToken, Token, TokenHash};
pub use validity::end_of;
