//! The commands of `queens`. Each command's arguments are in its own file, shared ones in `flags`.

use clap::{Parser, Subcommand};
use queens_platform::{VERSION, version_in_full};
use queens_program::help::{Group, Program};
use queens_solver::Kernel;

use crate::commands::animate::AnimateArgs;
use crate::commands::audit::AuditArgs;
use crate::commands::bench::BenchArgs;
use crate::commands::change_job::{CancelArgs, PriorityArgs, VerifyMoreArgs};
use crate::commands::check::CheckArgs;
use crate::commands::completions::CompletionsArgs;
use crate::commands::count::CountArgs;
use crate::commands::doctor::DoctorArgs;
use crate::commands::estimate::EstimateArgs;
use crate::commands::export::ExportArgs;
use crate::commands::gpus::GpusArgs;
use crate::commands::jobs::JobsArgs;
use crate::commands::list::ListArgs;
use crate::commands::merge::MergeArgs;
use crate::commands::render::RenderArgs;
use crate::commands::solve::SolveArgs;
use crate::commands::submit::SubmitArgs;
use crate::commands::table::TableArgs;
use crate::commands::top::TopArgs;
use crate::commands::workers::WorkersArgs;
use crate::examples::EXAMPLES;
use crate::flags::JobArgs;

/// Counts the ways to place n queens on an n×n board so that none attacks another.
///
/// Messages go to stderr; the environment variable QUEENS_LOG sets their level (warn, info, debug). Ctrl-C ends a
/// command with exit status 130, SIGTERM with 143.
#[derive(Debug, Parser)]
#[command(name = "queens", version = VERSION, long_version = version_in_full(&Kernel::list()), arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands in groups, in the order of the help.
const GROUPS: [Group; 6] = [
    ("Count", &["count", "estimate", "bench", "gpus", "table"]),
    ("Boards", &["solve", "list", "render", "animate"]),
    ("Jobs", &["submit", "jobs", "status", "watch", "contributions", "cancel"]),
    ("Operators", &["top", "workers", "pause", "resume", "priority", "verify-more", "verdicts", "audit"]),
    ("Proofs", &["export", "check", "merge"]),
    ("More", &["doctor", "completions", "help"]),
];

impl Program for Args {
    const GROUPS: &'static [Group] = &GROUPS;
    const EXAMPLES: &'static str = EXAMPLES;
}

/// The commands, in the order of the groups, which man pages keep.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Count(CountArgs),

    Estimate(EstimateArgs),

    Bench(BenchArgs),

    Gpus(GpusArgs),

    Table(TableArgs),

    Solve(SolveArgs),

    List(ListArgs),

    Render(RenderArgs),

    Animate(AnimateArgs),

    Submit(SubmitArgs),

    Jobs(JobsArgs),

    /// Show one job
    Status(JobArgs),

    /// Follow a job until it ends
    ///
    /// Prints a line for each state, and at most one a minute; on a terminal, a bar. The exit status is 0 if the job is
    /// done, 1 if it ends otherwise.
    Watch(JobArgs),

    /// Show the contributors of a job, and the share of each
    ///
    /// Worker, kernel, spans, work, core-hours and share.
    Contributions(JobArgs),

    Cancel(CancelArgs),

    Top(TopArgs),

    /// List a coordinator's workers; drain or block some
    Workers(Box<WorkersArgs>),

    /// Pause a job
    ///
    /// Its workers report their work in progress and switch to other jobs.
    Pause(JobArgs),

    /// Resume a paused job, or retry a failed one
    Resume(JobArgs),

    /// Set a job's priority
    ///
    /// Workers on jobs of lower priority switch to it at once.
    Priority(PriorityArgs),

    /// Have more of a job recounted, even if it is done; or end that
    VerifyMore(VerifyMoreArgs),

    /// Show the verdicts on spans whose counts differed
    Verdicts(JobArgs),

    /// Show the audit log: operators' actions and refused requests
    ///
    /// The latest entries come first. Only operators may read it.
    Audit(AuditArgs),

    Export(ExportArgs),

    Check(CheckArgs),

    Merge(MergeArgs),

    Doctor(DoctorArgs),

    Completions(CompletionsArgs),
}

#[cfg(test)]
mod tests {
    use queens_program::tests::faults;

    use super::*;

    #[test]
    fn each_command_is_in_a_group_and_has_examples_that_it_takes() {
        assert_eq!(faults::<Args>(), [""; 0]);
    }
}
