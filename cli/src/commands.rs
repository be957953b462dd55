//! The commands, a file for each: its arguments, and what it does.

pub(crate) mod animate;
pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod cancel;
pub(crate) mod check;
pub(crate) mod contributions;
pub(crate) mod count;
pub(crate) mod estimate;
pub(crate) mod export;
pub(crate) mod jobs;
pub(crate) mod list;
pub(crate) mod merge;
pub(crate) mod pause;
pub(crate) mod priority;
pub(crate) mod render;
pub(crate) mod resume;
pub(crate) mod solve;
pub(crate) mod status;
pub(crate) mod submit;
pub(crate) mod table;
pub(crate) mod top;
pub(crate) mod verdicts;
pub(crate) mod verify_more;
pub(crate) mod watch;
pub(crate) mod workers;
