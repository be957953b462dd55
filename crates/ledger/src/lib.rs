//! The ledger of n-queens jobs, without any I/O: no network, no disk, no clock, no threads.
//!
//! [`Ledger`] decides. [`store`] has the trait for keeping its decisions. [`Core`] is a whole coordinator without its
//! connections.

mod by_method;
mod clock;
mod core;
mod effects;
mod event;
mod handlers;
pub mod intervals;
mod jobs;
mod lease_load;
mod leases;
mod ledger;
mod pace;
mod queries;
mod ranges;
mod report_interval_rule;
mod run;
mod schedule;
mod sessions;
mod spans;

mod status;
pub mod store;
mod work;
mod workers;

pub use core::{Batch, Core, Durable, Sealed};
pub use effects::{Comparison, Effects, Judgement, WantedPlan};
pub use event::{JobChange, LedgerEvent, Verification, WorkerChange};
pub use handlers::operators::{JobRefusal, UnknownWorker};
pub use handlers::reports::SpanOutcome;
pub use handlers::submissions::{MOST_OPEN_JOBS, NoSecondPass, SubmissionRefusal, TooManyJobs};
pub use handlers::worker_refusal::{MOST_THREADS_IN_ALL, WorkerRefusal};
pub use jobs::restore::RestoreError;
pub use leases::ended_leases::REMEMBERED;
pub use ledger::Ledger;
pub use report_interval_rule::Reporting;
pub use run::Run;
pub use sessions::Session;
pub use status::PartStatus;
