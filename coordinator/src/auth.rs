//! Who is let in, and to what.
//!
//! The [`InvitationStore`] keeps invitations, the names bound to them, and decisions, in a file of its own or in tables on a server
//! (`shelf`); a thread, the `keeper`, reads and writes it for a running coordinator, also what `queens-coordinator invite`
//! and `revoke`, or other coordinators, change beside it. [`Authenticator`] says of each request, by gRPC or HTTP, whether its sender may make it: `permits` is the one
//! table of what each takes. What is decided, and what becomes of it, is recorded. Whoever is let in has a `AuthContext`, which ends with its invitation.

mod audit_entry;
mod audit_guard;
mod audit_log;
mod audited_body;
mod auth_context;
mod authenticator;
mod backend;
pub(crate) mod dump;
mod invitation_cache;
mod invitation_store;
pub(crate) mod invitation_store_error;
mod login_sessions;
mod login_throttle;
mod message_budget;
mod permissions;
mod postgres_backend;
mod quota;
mod rows;
mod schema;
mod worker_names;

pub(crate) use self::auth_context::{AuthContext, REVOKED};
pub use self::authenticator::Authenticator;
pub(crate) use self::authenticator::{AuthError, COOKIE};
pub(crate) use self::invitation_cache::NameError;
pub use self::invitation_store::{InvitationStore, NewInvitation, PublishedAddress};
pub use self::invitation_store_error::InvitationStoreError;
pub(crate) use self::login_sessions::LONGEST as SESSION;
#[cfg(test)]
pub(crate) use self::permissions::requests;
pub use self::quota::QuotaLimits;
