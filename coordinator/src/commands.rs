//! What `queens-coordinator` does about who is let in: the arguments that say so, invitations, TLS certificates.

pub(crate) mod certs;
pub(crate) mod door;
pub(crate) mod invite;
pub(crate) mod key;
pub(crate) mod limits;
pub(crate) mod store;
