//! The ledger of n-queens jobs, without any I/O: no network, no disk, no clock, no threads.
//!
//! [`Ledger`] decides; [`store`] is what it asks of whoever keeps its decisions; [`Core`] is a whole coordinator but
//! for what connects it to the world.

mod attendance;
mod book;
mod by_method;
mod changes;
mod clock;
mod core;
mod effects;
mod events;
pub mod intervals;
mod jobs;
mod later;
mod leases;
mod ledger;
mod load;
mod note;
mod pace;
mod ranges;
mod records;
mod reporting;
mod run;
mod schedule;
mod spans;
mod status;
pub mod store;
mod work;
mod workers;

pub use attendance::Session;
pub use core::{Batch, Core, Due, Durable, Sealed};
pub use effects::{Comparison, Effects, Finding, Loss, WantedPlan};
pub use events::operators::{JobChange, JobRefusal, UnknownWorker, Verification, WorkerChange};
pub use events::refusal::{MOST_THREADS_IN_ALL, WorkerRefusal};
pub use events::reports::SpanOutcome;
pub use events::submissions::{MOST_OPEN_JOBS, NoSecondPass, SubmissionRefusal, TooManyJobs};
pub use jobs::restore::RestoreError;
pub use leases::former::REMEMBERED;
pub use ledger::Ledger;
pub use note::Note;
pub use reporting::Reporting;
pub use run::Run;
pub use status::CrossStatus;
