//! `queens contributions`: shows the contributors of a job.

use std::process::ExitCode;

use queens_model::json::Contribution;

use crate::flags::JobArgs;
use crate::present::contributions::contributions_table;
use crate::present::output::{Output, json_of, print};

/// Runs the command and returns its exit status.
pub(crate) async fn run(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let contributions = args.remote.connect().await?.contributions(args.job).await?;
    match args.remote.output() {
        Output::Json => print(&json_of(&Contribution::all(&contributions))?)?,
        Output::Text if contributions.is_empty() => {
            print(&format!("nothing is recorded of job {}", args.job))?;
        }
        Output::Text => contributions_table(&contributions).print()?,
    }
    Ok(ExitCode::SUCCESS)
}
