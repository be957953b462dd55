//! The values that coordinators, workers and operators exchange, and their JSON.
//!
//! Each value from outside is validated once, when it is constructed; its holder need not check it again. The wire
//! format is not part of this crate.

mod address;
mod audit_entry;
mod card_sensors;
mod checking;
mod date;
mod event;
mod fraction;
pub mod hex;
mod id;
mod job_text;
pub mod json;
mod message;
mod name;
mod notice;
mod numbers;
mod party;
mod party_totals;
pub mod plain;
mod priority;
mod proof;
mod recounting;
mod report_interval;
mod speed;
mod status;
mod submission_rules;
mod terms;
mod time_left;

pub use address::{CoordinatorUrl, InvalidCoordinatorUrl, InvalidListenAddress, ListenAddress};
pub use audit_entry::AuditEntry;
pub use card_sensors::CardSensors;
pub use date::{date, rfc3339};
pub use event::{Event, EventKind};
pub use fraction::{Fraction, InvalidFraction};
pub use id::{InvalidJobId, InvalidJobIdentity, JobId, JobIdentity, LeaseId, WorkerId};
pub use message::{
    Delta, Failure, HalvesSkill, Held, Hello, Lease, LeasedSpan, MOST_DELTAS, MOST_THREADS, Report,
    ToCoordinator, ToWorker,
};
pub use name::{InvalidName, Name};
pub use notice::{InvalidPageUrl, Notice, PageUrl};
pub use numbers::{
    TimeUnit, core_hours, done_at, duration, grouped, percent, plural, range, rough_time, two_digits,
};
pub use party::{InvalidParty, Party};
pub use party_totals::{OwnContribution, OwnJob, PartyTotals, Person};
pub use priority::{InvalidPriority, Priority};
pub use proof::{PassAgreement, Proof};
pub use recounting::{Recounting, VerdictStatus};
pub use report_interval::{InvalidReportInterval, ReportInterval};
pub use speed::{InvalidSpeed, MethodSpeeds, Speed};
pub use status::{
    Contribution, CoordinatorStatus, FleetSpeed, InHand, JobState, JobStatus, Progress, WorkerState,
    WorkerStatus,
};
pub use submission_rules::{default_method, default_recount, price_here, price_of_job, price_of_jobs};
pub use terms::{Arbiter, InvalidPartRange, InvalidShare, PartRange, Share, Submission, Terms};
pub use time_left::{InvalidTimeLeft, TimeLeft};
