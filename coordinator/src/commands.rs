//! The commands of `queens-coordinator`.

pub(crate) mod auth_setup;
pub(crate) mod backup;
pub(crate) mod campaign;
pub(crate) mod invite;
mod listeners;
pub(crate) mod migrate_store;
pub(crate) mod serve;
pub(crate) mod signing_key;
mod stand_by;
pub(crate) mod store;
pub(crate) mod tls_certificates;
