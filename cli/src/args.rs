//! The command line as a whole. The arguments of a command stand in its file, those of several in `flags`.

use clap::{Parser, Subcommand};
use queens_process::{VERSION, version_in_full};
use queens_solver::Kernel;

use crate::commands::animate::AnimateArgs;
use crate::commands::audit::AuditArgs;
use crate::commands::bench::BenchArgs;
use crate::commands::check::CheckArgs;
use crate::commands::completions::CompletionsArgs;
use crate::commands::count::CountArgs;
use crate::commands::doctor::DoctorArgs;
use crate::commands::estimate::EstimateArgs;
use crate::commands::export::ExportArgs;
use crate::commands::list::ListArgs;
use crate::commands::merge::MergeArgs;
use crate::commands::priority::PriorityArgs;
use crate::commands::render::RenderArgs;
use crate::commands::solve::SolveArgs;
use crate::commands::submit::SubmitArgs;
use crate::commands::table::TableArgs;
use crate::commands::verify_more::VerifyMoreArgs;
use crate::commands::workers::WorkersArgs;
use crate::flags::{CoordinatorArgs, JobArgs, RemoteArgs};

/// Counts the ways to place n queens on an n×n board so that none attacks another.
#[derive(Debug, Parser)]
///
/// Messages go to stderr; the environment variable QUEENS_LOG chooses how much (warn, info, debug).
#[command(name = "queens", version = VERSION, long_version = version_in_full(&Kernel::list()), arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Count(CountArgs),

    Solve(SolveArgs),

    List(ListArgs),

    Render(RenderArgs),

    Animate(AnimateArgs),

    Table(TableArgs),

    /// Submit a job to a coordinator and print its id
    Submit(SubmitArgs),

    /// List a coordinator's jobs
    Jobs(RemoteArgs),

    /// Show one job
    Status(JobArgs),

    /// Follow one job until it is over: a line for news, at most each second; on a terminal, a bar
    ///
    /// Exit status 0 if the job is done, 1 if it ends otherwise.
    Watch(JobArgs),

    /// Show jobs, workers and what happens on the whole terminal, and pause, drain or block by keys
    Top(CoordinatorArgs),

    /// Stop a job for now: its workers report what they have in hand and go on with other jobs
    Pause(JobArgs),

    /// Say what was decided about spans of a job of which there were different counts
    Verdicts(JobArgs),

    /// Say who has counted a job: worker, kernel, spans, work, core-hours and share
    Contributions(JobArgs),

    /// Let a paused job go on, or try again what failed
    Resume(JobArgs),

    /// Say how urgent a job is: workers of less urgent ones go over to it at once
    Priority(PriorityArgs),

    /// Have more of a job counted again, also of one that is done
    VerifyMore(VerifyMoreArgs),

    /// Give a job up for good; its records stay in the database, but it can't be taken up again
    Cancel(JobArgs),

    /// List a coordinator's workers, or drain or block some
    Workers(Box<WorkersArgs>),

    /// Say who has decided what, and who tried to get in: the latest first, for operators
    Audit(AuditArgs),

    Export(ExportArgs),

    Check(CheckArgs),

    Merge(MergeArgs),

    Bench(BenchArgs),

    Estimate(EstimateArgs),

    Doctor(DoctorArgs),

    Completions(CompletionsArgs),
}
