//! What `queens count` does: in this process, through a cluster, or from given queens.

pub(crate) mod cluster;
pub(crate) mod completions;
pub(crate) mod counted;
pub(crate) mod local;
pub(crate) mod symmetric;
