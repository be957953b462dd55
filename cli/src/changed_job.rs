//! What has become of a job that was changed.

use std::process::ExitCode;

use queens_messages::JobId;
use queens_proto::client::Operator;

use crate::present::job::job_json;
use crate::present::output::{Output, print};

/// Says how a job stands after it was changed.
pub(crate) async fn show_change(operator: &Operator, job: JobId, output: Output) -> anyhow::Result<ExitCode> {
    let job = operator.job(job).await?;
    print(&match output {
        Output::Json => job_json(&job, operator.store_error().await?.as_deref()).to_string(),
        Output::Text if job.state.is_over() => format!("job {} is {}", job.id, job.state.name()),
        Output::Text => format!("job {} is {}, priority {}", job.id, job.state.name(), job.priority),
    })?;
    Ok(ExitCode::SUCCESS)
}
