//! Authentication, permissions, quotas and the audit log.
//!
//! Three words name who uses a coordinator. A *caller* ([`Caller`]) sends a request: from an address, with or without
//! an invitation. An *invitation* has a role, and the hash of a token or key that proves it. A *party* is the lasting
//! identity of an invitation: records and names belong to the party, since a restored store may give the invitation's
//! number to somebody else.
//!
//! The [`InvitationStore`] keeps invitations, the worker names bound to them, and the audit log. It is a file of its
//! own, or tables on a database server (`backend`).
//! A thread behind `invitation_cache` reads and writes it for a running coordinator. It also sees the changes of
//! `queens-coordinator invite` and `revoke`, and of other coordinators.
//! [`Authenticator`] authenticates and authorises each gRPC or HTTP request (`middleware`). The servers' tables of
//! operations say what each needs ([`Requirement`]). An admitted request has a [`Caller`], which ends with its
//! invitation. People who have the join link of a [`Campaign`] make invitations for themselves (`join`).

mod audit_log;
mod authenticator;
mod caller;
mod campaign;
mod dump;
mod invitation_backend;
mod invitation_cache;
mod invitation_store;
mod invitation_store_error;
mod join;
mod join_requests;
mod known_invitations;
mod login_sessions;
mod middleware;
mod postgres_backend;
mod quota;
mod requirement;
mod rows;
mod throttle;
mod worker_names;

pub(crate) use self::authenticator::{Authenticator, COOKIE};
pub(crate) use self::caller::{Caller, REVOKED};
pub(crate) use self::campaign::{Campaign, CampaignKey, CampaignTerms};
pub(crate) use self::dump::{Dump, has_invitations};
pub use self::invitation_store::{InvitationStore, NewInvitation, PublishedAddress};
pub(crate) use self::invitation_store_error::{InvitationStoreError, TransactionError};
pub(crate) use self::join::JoinRefusal;
pub(crate) use self::login_sessions::LOGIN_LIFETIME;
pub(crate) use self::middleware::Protocol;
pub(crate) use self::quota::QuotaLimits;
pub(crate) use self::requirement::Requirement;
