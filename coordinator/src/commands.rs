//! What `queens-coordinator` does: serves, and lets people in.

pub(crate) mod audits;
pub(crate) mod certs;
pub(crate) mod door;
pub(crate) mod invite;
pub(crate) mod key;
pub(crate) mod limits;
mod ports;
pub(crate) mod restore;
pub(crate) mod serve;
mod standing_by;
pub(crate) mod store;
