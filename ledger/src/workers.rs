//! Workers: who is there, how fast each is, what each holds, and who may be given more.

pub(crate) mod failures;
pub(crate) mod hand;
pub(crate) mod readiness;
pub(crate) mod register;
pub(crate) mod speed;
pub(crate) mod worker;
