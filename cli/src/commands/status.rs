//! `queens status`: shows one job.

use queens_model::json::Job;

use crate::connect::warn_if_nothing_is_recorded;
use crate::flags::JobArgs;
use crate::present::job::describe;

/// Runs the command.
pub(crate) async fn run(args: &JobArgs) -> anyhow::Result<()> {
    let operator = args.remote.connect().await?;
    let job = operator.job(args.job).await?;
    let store_error = operator.store_error().await?;
    args.remote.output().print(&Job::of(&job, store_error.as_deref()), || {
        warn_if_nothing_is_recorded(store_error.as_deref());
        describe(&job)
    })
}
