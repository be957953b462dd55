//! How jobs and workers are shown.

use comfy_table::{CellAlignment, Table, presets};
use queens_proto::{JobState, JobStatus, WorkerStatus};
use queens_solver::{Published, published};
use serde_json::{Value, json};

use crate::output::{duration, range};

/// One line of `queens watch`.
pub(crate) fn line(job: &JobStatus) -> String {
    let JobStatus { id, n, n_workers, .. } = job;
    let (state, solutions) = (state(job), job.progress.solutions);
    let share = job.fraction() * 100.0;
    let so_far = format!("job {id}  n = {n}  {state}  {share:.1} %  {solutions} solutions");
    match job.state {
        JobState::Done => format!("{so_far}  {}", comparison(job)),
        JobState::Failed => format!("{so_far}  {}", describe_failure(job)),
        JobState::Cancelled => so_far,
        _ => format!("{so_far}  workers: {n_workers}  left: {}", time_left(job)),
    }
}

/// How far the plan of a job is that has none.
fn plan(job: &JobStatus) -> String {
    match job.n_plans_before {
        None => "the plan is not made yet".to_owned(),
        Some(1) => "waiting to be planned (1 other plan before it)".to_owned(),
        Some(n_before) => format!("waiting to be planned ({n_before} other plans before it)"),
    }
}

/// The state, and what else keeps a job from its end.
pub(crate) fn state(job: &JobStatus) -> String {
    let state = job.state.name();
    if let Some(n_before) = job.n_plans_before {
        return format!("{state}, {n_before} before it");
    }
    match job.n_failed {
        0 => state.to_owned(),
        1 => format!("{state}, 1 span failed"),
        n_failed => format!("{state}, {n_failed} spans failed"),
    }
}

/// What failed of a job, and why.
pub(crate) fn describe_failure(job: &JobStatus) -> String {
    let JobStatus { n_failed, n_given_up, failure, .. } = job;
    let spans = if *n_failed == 1 { "span" } else { "spans" };
    let given_up = match n_given_up {
        0 => String::new(),
        _ => format!(", {n_given_up} of them on three workers"),
    };
    let reason = failure.as_deref().map(|reason| format!("; last, {reason}")).unwrap_or_default();
    format!("{n_failed} {spans} failed{given_up}{reason}")
}

/// How a count that is done lies to the published one.
pub(crate) fn comparison(job: &JobStatus) -> String {
    match published(job.n) {
        None => "no count has been published to compare with".to_owned(),
        Some(counts) if counts.solutions == job.progress.solutions => {
            format!("agrees with the published count ({} fundamental)", counts.fundamental)
        }
        Some(counts) => format!("CONTRADICTS the published count {}", counts.solutions),
    }
}

/// The published counts of a job that is done.
fn published_of(job: &JobStatus) -> Option<Published> {
    if job.state == JobState::Done { published(job.n) } else { None }
}

/// What `queens status` shows.
pub(crate) fn describe(job: &JobStatus) -> String {
    let progress = &job.progress;
    let found = if job.state == JobState::Done { "solutions" } else { "found so far" };
    let disputed = match job.n_disputed {
        0 => String::new(),
        disputed => format!("\ndisputed      {disputed} spans: a second count differs from the recorded one"),
    };
    let failed = match job.n_failed {
        0 => String::new(),
        _ => {
            format!("\nfailed        {}; 'queens resume {}' has all try again", describe_failure(job), job.id)
        }
    };
    let compared = match job.state {
        JobState::Done => format!("\n              {}", comparison(job)),
        _ => String::new(),
    };
    let share = match progress.n_subproblems {
        0 if job.state != JobState::Done => plan(job),
        all => format!("{:.2} % ({} of {all} subproblems)", job.fraction() * 100.0, progress.n_recorded),
    };
    format!(
        "job           {}\nn             {}\nstate         {}\npriority      {}\n{found:<13} {}{compared}\nwork done     {share}\n\
         counted for   {}\nleft          {}\nworkers       {}{failed}{disputed}",
        job.id,
        job.n,
        job.state.name(),
        job.priority,
        progress.solutions,
        duration(job.active.as_secs_f64()),
        time_left(job),
        job.n_workers,
    )
}

/// A job, in the form that scripts rely on.
pub(crate) fn job_json(job: &JobStatus) -> Value {
    let published = published_of(job);
    json!({
        "job": job.id.to_string(),
        "n": job.n.get(),
        "state": job.state.name(),
        "priority": job.priority.get(),
        "solutions": job.progress.solutions.to_string(),
        "nodes": job.progress.nodes.to_string(),
        "fraction": job.fraction(),
        "subproblems": job.progress.n_subproblems.to_string(),
        "recorded": job.progress.n_recorded.to_string(),
        "seconds": job.active.as_secs_f64(),
        "seconds_left": job.seconds_left,
        "seconds_left_low": job.seconds_left_low,
        "seconds_left_high": job.seconds_left_high,
        "workers": job.n_workers,
        "verified": job.n_verified,
        "disputed": job.n_disputed,
        "failed": job.n_failed,
        "given_up": job.n_given_up,
        "failure": job.failure,
        "store_error": job.store_error,
        "plans_before": job.n_plans_before,
        "published": published.map(|counts| counts.solutions.to_string()),
        "agrees": published.map(|counts| counts.solutions == job.progress.solutions),
    })
}

/// A worker, in the form that scripts rely on.
pub(crate) fn worker_json(worker: &WorkerStatus) -> Value {
    json!({
        "worker": worker.id.to_string(),
        "name": worker.name.as_str(),
        "state": worker.state.name(),
        "build": worker.build.as_str(),
        "kernel": worker.kernel.as_str(),
        "threads": worker.n_threads,
        "connected": worker.connected,
        "seconds_silent": worker.silent.as_secs_f64(),
        "nodes_per_second": worker.rate,
        "leases": worker.n_leases,
        "recorded": worker.n_recorded,
        "failure": worker.failure,
        "counting": worker.counting.map(|(job, span)| {
            json!({ "job": job.to_string(), "cross": span.cross(), "from": span.from(), "to": span.to() })
        }),
    })
}

/// The time a job should still take, as a range, as far as that is known.
pub(crate) fn time_left(job: &JobStatus) -> String {
    match range_left(job) {
        _ if job.state.is_over() => "-".to_owned(),
        Some(range) => range,
        None => "unknown".to_owned(),
    }
}

/// The range of the time a job should still take: "4 to 6 min".
pub(crate) fn range_left(job: &JobStatus) -> Option<String> {
    Some(range(job.seconds_left_low?, job.seconds_left_high?))
}

/// A table without lines.
pub(crate) fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

pub(crate) fn align_right(table: &mut Table, columns: &[usize]) {
    for &column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
