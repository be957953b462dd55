//! `queens jobs` and `queens status`: show a coordinator's jobs, or one of them.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use queens_model::json::Job;
use queens_model::{JobState, JobStatus, percent, plural};

use crate::connect::warn_if_nothing_is_recorded;
use crate::flags::{JobArgs, RemoteArgs};
use crate::present::job::describe;
use crate::present::table::table;

/// List a coordinator's jobs
#[derive(Debug, clap::Args)]
pub(crate) struct JobsArgs {
    /// List only jobs in this state; can be repeated or separated by commas [default: all]
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = states())]
    state: Vec<JobState>,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// The text for an empty list.
pub(crate) const NO_JOBS: &str = "no jobs; 'queens submit N' makes one";

fn states() -> impl TypedValueParser<Value = JobState> {
    PossibleValuesParser::new(JobState::ALL.map(JobState::name)).try_map(|name| {
        let named = JobState::ALL.into_iter().find(|state| state.name() == name);
        named.ok_or("expected a state of a job")
    })
}

/// Runs `queens jobs`.
///
/// Requests all jobs, because the coordinator has no filtered list. O(jobs).
pub(crate) async fn run(args: &JobsArgs) -> anyhow::Result<()> {
    let operator = args.remote.connect().await?;
    let mut jobs = operator.jobs().await?;
    let n_all = jobs.len();
    jobs.retain(|job| args.state.is_empty() || args.state.contains(&job.state));
    let store_error = operator.store_error().await?;
    let answer: Vec<Job> = jobs.iter().map(|job| Job::of(job, store_error.as_deref())).collect();
    args.remote.output().print(&answer, || {
        warn_if_nothing_is_recorded(store_error.as_deref());
        match jobs.is_empty() {
            true if n_all == 0 => NO_JOBS.to_owned(),
            true => none_of_these(&args.state, n_all),
            false => jobs_table(&jobs),
        }
    })
}

/// Runs `queens status`: shows one job.
pub(crate) async fn status(args: &JobArgs) -> anyhow::Result<()> {
    let operator = args.remote.connect().await?;
    let job = operator.job(args.job).await?;
    let store_error = operator.store_error().await?;
    args.remote.output().print(&Job::of(&job, store_error.as_deref()), || {
        warn_if_nothing_is_recorded(store_error.as_deref());
        describe(&job)
    })
}

/// Describes an empty list: "no job is running or paused; there are 3 others".
fn none_of_these(states: &[JobState], n_all: usize) -> String {
    let states: Vec<&str> = states.iter().map(|state| state.name()).collect();
    let verb = if n_all == 1 { "is" } else { "are" };
    format!("no job is {}; there {verb} {}", states.join(" or "), plural(n_all, "other"))
}

/// Returns a job's method, and whose second pass it is.
fn method(job: &JobStatus) -> String {
    let pass = job.terms.second_of.map(|first| format!(", second pass of {first}"));
    format!("{}{}", job.method, pass.unwrap_or_default())
}

/// Formats jobs as a table.
pub(crate) fn jobs_table(jobs: &[JobStatus]) -> String {
    let row = |job: &JobStatus| {
        let provisional = if job.is_provisional() { "provisional " } else { "" };
        [
            job.id.to_string(),
            job.n.to_string(),
            method(job),
            job.priority.to_string(),
            job.state_text(),
            percent(job.fraction()),
            format!("{provisional}{}", job.progress.solutions),
            job.time_left_text(),
            job.n_workers.to_string(),
        ]
    };
    let headings =
        [">JOB", ">N", "METHOD", ">PRIORITY", "STATE", ">DONE", ">SOLUTIONS SO FAR", ">LEFT", ">WORKERS"];
    table(headings, jobs.iter().map(row))
}
