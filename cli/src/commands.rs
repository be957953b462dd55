//! Declares the modules of the commands. `args.rs` lists the commands, and `main.rs` runs them.

pub(crate) mod animate;
pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod change_job;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod contributions;
pub(crate) mod count;
pub(crate) mod doctor;
pub(crate) mod estimate;
pub(crate) mod export;
pub(crate) mod gpus;
pub(crate) mod jobs;
pub(crate) mod list;
pub(crate) mod merge;
pub(crate) mod render;
pub(crate) mod solve;
pub(crate) mod submit;
pub(crate) mod table;
pub(crate) mod top;
pub(crate) mod verdicts;
pub(crate) mod watch;
pub(crate) mod workers;
