//! Shows a job after a change.

use std::process::ExitCode;

use queens_model::JobId;
use queens_model::json::Job;
use queens_proto::client::Operator;

use crate::present::output::{Output, json_of, print};

/// Prints a job's state after a change.
pub(crate) async fn show_change(operator: &Operator, job: JobId, output: Output) -> anyhow::Result<ExitCode> {
    let job = operator.job(job).await?;
    print(&match output {
        Output::Json => json_of(&Job::of(&job, operator.store_error().await?.as_deref()))?,
        Output::Text => format!("job {} is {}, priority {}", job.id, job.state.name(), job.priority),
    })?;
    Ok(ExitCode::SUCCESS)
}
