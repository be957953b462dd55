//! The command line.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::{Parser, Subcommand, ValueEnum};
use queens_boards::Given;
use queens_messages::{JobId, Name, Priority};
use queens_process::{VERSION, default_threads, threads};
use queens_proto::client::endpoint;
use queens_solver::{BoardSize, KernelChoice};
use tonic::transport::Endpoint;

use crate::boards::{AnimateArgs, ListArgs, RenderArgs, SolveArgs, TableArgs};
use crate::progress::Showing;

/// Counts the ways to place n queens on an n×n board so that none attacks another.
#[derive(Debug, Parser)]
///
/// Messages go to stderr; the environment variable QUEENS_LOG chooses how much (warn, info, debug).
#[command(name = "queens", version = VERSION, arg_required_else_help = true, max_term_width = 100)]
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
    Top(TopArgs),

    /// Stop a job for now: its workers report what they have in hand and go on with other jobs
    Pause(JobArgs),

    /// Say who has counted a job: worker, kernel, spans, nodes, core-hours and share
    Contributions(JobArgs),

    /// Let a paused job go on, or try again what failed
    Resume(JobArgs),

    /// Say how urgent a job is: workers of less urgent ones go over to it at once
    Priority(PriorityArgs),

    /// Give a job up for good; its records stay in the database, but it can't be taken up again
    Cancel(JobArgs),

    /// List a coordinator's workers, or drain or block some
    Workers(Box<WorkersArgs>),

    Bench(BenchArgs),

    Estimate(EstimateArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct SubmitArgs {
    /// Size of the board, 0 to 32
    #[arg(value_name = "N", allow_negative_numbers = true)]
    pub(crate) n: BoardSize,

    /// How urgent the job is, from -1000 to 1000: higher first, and what is equal in the order of submission
    #[arg(
        long,
        env = "QUEENS_PRIORITY",
        value_name = "P",
        default_value = "0",
        allow_negative_numbers = true
    )]
    pub(crate) priority: Priority,

    /// Submit without asking what takes more than a year of core time
    #[arg(long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PriorityArgs {
    /// Id of the job, as 'queens submit' and 'queens jobs' print it
    #[arg(value_name = "JOB", value_parser = job, allow_negative_numbers = true)]
    pub(crate) job: JobId,

    /// From -1000 to 1000: higher first, and what is equal in the order of submission
    #[arg(value_name = "P", allow_negative_numbers = true)]
    pub(crate) priority: Priority,

    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct WorkersArgs {
    #[command(subcommand)]
    pub(crate) command: Option<WorkersCommand>,

    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkersCommand {
    /// Send all workers of a name home: they report what they have in hand, and their processes end
    Drain(WorkerArgs),

    /// Give no work to workers of a name, now and whenever they come back
    Block(WorkerArgs),

    /// Give work again to workers of a blocked name
    Unblock(WorkerArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArgs {
    /// Name of the workers, as 'queens workers' lists it; by default that of their machine
    #[arg(value_name = "NAME")]
    pub(crate) name: Name,

    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct JobArgs {
    /// Id of the job, as 'queens submit' and 'queens jobs' print it
    #[arg(value_name = "JOB", value_parser = job, allow_negative_numbers = true)]
    pub(crate) job: JobId,

    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TopArgs {
    /// URL of the coordinator
    #[arg(long, env = "QUEENS_COORDINATOR", value_name = "URL", value_parser = endpoint,
          default_value = "http://127.0.0.1:50051")]
    pub(crate) coordinator: Endpoint,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RemoteArgs {
    /// URL of the coordinator
    #[arg(long, env = "QUEENS_COORDINATOR", value_name = "URL", value_parser = endpoint,
          default_value = "http://127.0.0.1:50051")]
    pub(crate) coordinator: Endpoint,

    /// How to print the answer
    #[arg(long, env = "QUEENS_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Output,
}

fn job(text: &str) -> Result<JobId, String> {
    text.parse().map_err(|_| "expected a job's id, a whole number from 1".to_owned())
}

/// Count all placements of N queens, and the fundamental ones (up to rotation and reflection)
///
/// The answer goes to stdout, progress and messages to stderr. Exit status: 0 counted, 1 failed, interrupted or in
/// contradiction to the published count, 2 wrong usage.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct CountArgs {
    /// Size of the board, 0 to 32
    #[arg(value_name = "N", allow_negative_numbers = true)]
    pub(crate) n: BoardSize,

    /// Count only the solutions with queens on these squares, each row:column counted from 0, such as "0:1,3:2"; not
    /// together with --coordinator or --data-dir [default: none]
    #[arg(long, value_name = "R:C,…", allow_hyphen_values = true, conflicts_with_all = ["coordinator", "data_dir"])]
    pub(crate) given: Option<Given>,

    /// Count through the cluster of this coordinator instead of in this process, which then only waits: Ctrl-C stops
    /// waiting, the job goes on; not together with --threads, --kernel or --data-dir [default: none]
    #[arg(long, env = "QUEENS_COORDINATOR", value_name = "URL", value_parser = endpoint,
          conflicts_with_all = ["threads", "kernel", "data_dir"])]
    pub(crate) coordinator: Option<Endpoint>,

    /// Count in this process, even if QUEENS_COORDINATOR names a coordinator
    #[arg(long, conflicts_with = "coordinator")]
    pub(crate) local: bool,

    /// Counting threads; by default one for each processor
    #[arg(long, env = "QUEENS_THREADS", value_name = "T", value_parser = threads,
          default_value_t = default_threads(), allow_negative_numbers = true)]
    pub(crate) threads: NonZeroUsize,

    /// What to count with: 'auto' for the fastest kernel of this processor, or one by name: avx512, avx2, portable
    #[arg(long, env = "QUEENS_KERNEL", value_name = "KERNEL", default_value = "auto")]
    pub(crate) kernel: KernelChoice,

    /// Directory to keep what is counted in: interrupted and run again, the count goes on where it was
    /// [default: none, nothing is kept]
    #[arg(long, env = "QUEENS_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,

    /// How to print the answer
    #[arg(long, env = "QUEENS_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Output,

    /// Begin without asking what takes more than a year of core time
    #[arg(long)]
    pub(crate) yes: bool,

    /// How to show progress on stderr [default: bar on a terminal, else plain]
    #[arg(long, env = "QUEENS_PROGRESS", value_name = "HOW")]
    pub(crate) progress: Option<Showing>,

    /// The same as --progress none
    #[arg(long, env = "QUEENS_NO_PROGRESS", value_parser = FalseyValueParser::new(), hide = true)]
    pub(crate) no_progress: bool,
}

impl CountArgs {
    /// How to show progress.
    pub(crate) fn showing(&self) -> Showing {
        if self.no_progress { Showing::None } else { self.progress.unwrap_or_else(Showing::automatic) }
    }
}

/// Measure how fast a kernel counts a fixed sample of a board, and check what it counted
///
/// The sample is the same each time: from n = 19 on, of each of its crosses a part of about a million nodes. Solutions
/// are weighted: a solution of a cross that stands for eight counts eight times. Exit status 1 if the counts are wrong.
#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// Size of the board, 0 to 32
    #[arg(long, value_name = "N", default_value = "18", allow_negative_numbers = true)]
    pub(crate) n: BoardSize,

    /// How many of the board's crosses to count; all of them if there are fewer
    #[arg(long, value_name = "S", value_parser = sample, default_value = "512", allow_negative_numbers = true)]
    pub(crate) sample: NonZeroUsize,

    /// Counting threads
    #[arg(long, env = "QUEENS_THREADS", value_name = "T", value_parser = threads,
          default_value = "1", allow_negative_numbers = true)]
    pub(crate) threads: NonZeroUsize,

    /// What to count with: 'auto' for the fastest kernel of this processor, or one by name: avx512, avx2, portable
    #[arg(long, env = "QUEENS_KERNEL", value_name = "KERNEL", default_value = "auto")]
    pub(crate) kernel: KernelChoice,

    /// How to print the answer
    #[arg(long, env = "QUEENS_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Output,
}

/// Estimate how long counting N queens would take, within seconds
///
/// Samples of the board are counted with this machine's kernel. Expect the truth in the range 19 times out of 20, for
/// cores like these that are as busy as they are now.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct EstimateArgs {
    /// Size of the board, 0 to 32
    #[arg(value_name = "N", allow_negative_numbers = true)]
    pub(crate) n: BoardSize,

    /// Cores that would count; by default those of this machine
    #[arg(long, value_name = "C", value_parser = cores,
          default_value_t = default_cores(), allow_negative_numbers = true)]
    pub(crate) cores: NonZeroU64,

    /// Threads to count samples with; by default one for each processor
    #[arg(long, env = "QUEENS_THREADS", value_name = "T", value_parser = threads,
          default_value_t = default_threads(), allow_negative_numbers = true)]
    pub(crate) threads: NonZeroUsize,

    /// What to count with: 'auto' for the fastest kernel of this processor, or one by name: avx512, avx2, portable
    #[arg(long, env = "QUEENS_KERNEL", value_name = "KERNEL", default_value = "auto")]
    pub(crate) kernel: KernelChoice,

    /// How to print the answer
    #[arg(long, env = "QUEENS_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Output,
}

fn sample(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "expected a number of crosses, from 1".to_owned())
}

fn cores(text: &str) -> Result<NonZeroU64, String> {
    text.parse().map_err(|_| "expected a number of cores, from 1".to_owned())
}

fn default_cores() -> NonZeroU64 {
    NonZeroU64::try_from(default_threads()).unwrap_or(NonZeroU64::MIN)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people
    Text,
    /// One JSON object; counts are strings, as they outgrow doubles
    Json,
}
