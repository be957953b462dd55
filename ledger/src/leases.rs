//! Leases: their tokens, those that are held, and what may still be reported of those that have ended.

pub(crate) mod former;
pub(crate) mod live;
pub(crate) mod register;
pub(crate) mod sums;
pub(crate) mod tokens;
