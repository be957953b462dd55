//! The ways in which `queens count` counts: in this process, in a cluster, or from given queens.

pub(crate) mod cluster;
pub(crate) mod completions;
pub(crate) mod counted;
pub(crate) mod local;
