//! The command line as a whole. The arguments of a command stand in its file, those of several in `flags`.

use clap::{Parser, Subcommand};
use queens_runtime::help::{Examples, Group, Program};
use queens_runtime::{VERSION, version_in_full};
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
use crate::commands::jobs::JobsArgs;
use crate::commands::list::ListArgs;
use crate::commands::merge::MergeArgs;
use crate::commands::priority::PriorityArgs;
use crate::commands::render::RenderArgs;
use crate::commands::solve::SolveArgs;
use crate::commands::submit::SubmitArgs;
use crate::commands::table::TableArgs;
use crate::commands::verify_more::VerifyMoreArgs;
use crate::commands::workers::WorkersArgs;
use crate::examples::EXAMPLES;
use crate::flags::{CoordinatorArgs, JobArgs};

/// Counts the ways to place n queens on an n×n board so that none attacks another.
///
/// Messages go to stderr; the environment variable QUEENS_LOG chooses how much (warn, info, debug).
#[derive(Debug, Parser)]
#[command(name = "queens", version = VERSION, long_version = version_in_full(&Kernel::list()), arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands by who needs them, as the help lists them.
const GROUPS: [Group; 6] = [
    ("Count", &["count", "estimate", "bench", "table"]),
    ("Boards", &["solve", "list", "render", "animate"]),
    ("Jobs", &["submit", "jobs", "status", "watch", "contributions", "cancel"]),
    ("Operators", &["top", "workers", "pause", "resume", "priority", "verify-more", "verdicts", "audit"]),
    ("Proofs", &["export", "check", "merge"]),
    ("More", &["doctor", "completions", "help"]),
];

impl Program for Args {
    const GROUPS: &'static [Group] = &GROUPS;
    const EXAMPLES: &'static [Examples] = &EXAMPLES;
}

/// In the order of the groups, as man pages list them.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Count(CountArgs),

    Estimate(EstimateArgs),

    Bench(BenchArgs),

    Table(TableArgs),

    Solve(SolveArgs),

    List(ListArgs),

    Render(RenderArgs),

    Animate(AnimateArgs),

    Submit(SubmitArgs),

    Jobs(JobsArgs),

    /// Show one job
    Status(JobArgs),

    /// Follow one job until it is over
    ///
    /// A line for news, at most each second; on a terminal, a bar. Exit status 0 if the job is done, 1 if it ends
    /// otherwise.
    Watch(JobArgs),

    /// Say who has counted a job, and how much of it
    ///
    /// Worker, kernel, spans, work, core-hours and share.
    Contributions(JobArgs),

    /// Give a job up for good
    ///
    /// Its records stay in the database, but it can't be taken up again.
    Cancel(JobArgs),

    /// Show jobs and workers on the whole terminal, and act by keys
    ///
    /// It shows what happens as well; keys pause jobs, and drain or block workers.
    Top(CoordinatorArgs),

    /// List a coordinator's workers, or drain or block some
    Workers(Box<WorkersArgs>),

    /// Stop a job for now
    ///
    /// Its workers report what they have in hand and go on with other jobs.
    Pause(JobArgs),

    /// Let a paused job go on, or try again what failed
    Resume(JobArgs),

    /// Say how urgent a job is
    ///
    /// Workers of less urgent ones go over to it at once.
    Priority(PriorityArgs),

    /// Have more of a job counted again, also of one that is done
    VerifyMore(VerifyMoreArgs),

    /// Say what was decided about spans whose counts differed
    Verdicts(JobArgs),

    /// Say who has decided what, and who tried to get in
    ///
    /// The latest first, for operators.
    Audit(AuditArgs),

    Export(ExportArgs),

    Check(CheckArgs),

    Merge(MergeArgs),

    Doctor(DoctorArgs),

    Completions(CompletionsArgs),
}

#[cfg(test)]
mod tests {
    use queens_runtime::help::faults;

    use super::*;

    #[test]
    fn each_command_is_in_a_group_and_has_examples_that_it_takes() {
        assert_eq!(faults::<Args>(), [""; 0]);
    }
}
