//! `queens count`: counts in this process or in a cluster, and prints the answer.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use queens_counting::default_threads;
use queens_model::price_of_job;
use queens_program::{CONNECTION, CredentialsArgs, OutputArgs, stdout, stop_on_signal, threads_beside_cards};
use queens_proto::client::{Routes, endpoint};
use queens_solver::Method;
use queens_solver::boards::Given;
use queens_store::sqlite::DATABASE;
use tonic::transport::Endpoint;

use crate::confirm::confirm_price;
use crate::counting::cluster;
use crate::counting::completions::count_completions;
use crate::counting::counted::Symmetric;
use crate::counting::local::LocalCount;
use crate::flags::{BoardArgs, GpuArgs, JobPriorityArgs, KernelArgs, wrong_usage};
use crate::method::{MethodArgs, price_here};
use crate::present::answer::CountAnswer;
use crate::present::progress::Showing;

/// Count all placements of N queens, and the fundamental ones
///
/// Solutions that are rotations or reflections of each other make one fundamental solution. The answer goes to stdout,
/// progress and messages to stderr. Exit status: 0 counted; 1 failed, or in contradiction to the published count; 2 wrong
/// usage; 130 after Ctrl-C.
#[derive(Debug, clap::Args)]
pub(crate) struct CountArgs {
    #[command(flatten)]
    board: BoardArgs,

    /// Count only the solutions with queens on these squares, each row:column counted from 0, such as "0:1,3:2"; not
    /// with --coordinator or --data-dir [default: none]
    #[arg(long, value_name = "R:C,…", allow_hyphen_values = true, conflicts_with_all = ["coordinator", "data_dir"])]
    given: Option<Given>,

    /// Counting threads; 0 leaves all counting to the cards of --gpu [default: one for each processor that no card
    /// needs]
    #[arg(long, env = "QUEENS_THREADS", value_name = "T", value_parser = threads_beside_cards,
          allow_negative_numbers = true)]
    threads: Option<usize>,

    #[command(flatten)]
    method: MethodArgs,

    #[command(flatten)]
    kernel: KernelArgs,

    #[command(flatten)]
    gpu: GpuArgs,

    /// Directory that keeps the counts: run again after an interruption, the count continues from there [default: none,
    /// nothing is kept]
    #[arg(long, env = "QUEENS_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    /// Don't ask, even if the count takes more than a year of core time
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    priority: JobPriorityArgs,

    /// How to show progress on stderr [default: bar on a terminal, else plain]
    #[arg(long, env = "QUEENS_PROGRESS", value_name = "HOW")]
    progress: Option<Showing>,

    /// Count in the cluster of this coordinator instead of in this process, which then only waits: Ctrl-C stops
    /// waiting, and the job goes on. For several coordinators of one database, the URLs of all, repeated or separated
    /// by commas; not with --threads, --kernel, --gpu or --data-dir [default: none]
    #[arg(long, help_heading = CONNECTION, env = "QUEENS_COORDINATOR", value_name = "URL", value_parser = endpoint, value_delimiter = ',',
          conflicts_with_all = ["threads", "kernel", "gpu", "data_dir"])]
    coordinator: Vec<Endpoint>,

    #[command(flatten)]
    credentials: CredentialsArgs,

    /// Count in this process, even if QUEENS_COORDINATOR names a coordinator
    #[arg(long, help_heading = CONNECTION, conflicts_with = "coordinator")]
    local: bool,
}

/// Runs the command and returns its exit status.
pub(crate) async fn run(args: &CountArgs) -> anyhow::Result<ExitCode> {
    let (n, output, n_threads) = (args.board.n, args.output.output, args.threads);
    let is_remote = !args.coordinator.is_empty();
    let cards = args.gpu.cards(n, args.method.choice())?;
    if n_threads == Some(0) && cards.is_empty() {
        return Err(wrong_usage("--threads 0 leaves nothing that counts: --gpu names no card"));
    }
    let method = if cards.is_empty() { args.method.choice() } else { Method::Halves.into() };
    if let Some(given) = &args.given {
        if !cards.is_empty() {
            return Err(wrong_usage("given queens are counted by the processor only"));
        }
        let n_threads = n_threads.and_then(NonZeroUsize::new).unwrap_or_else(default_threads);
        if method.named() == Some(Method::Halves) {
            return Err(wrong_usage("given queens are counted by search only"));
        }
        count_completions(n, given, args.kernel.kernel(), n_threads, output)?;
        return Ok(ExitCode::SUCCESS);
    }
    // The user confirmed the count in this directory when it began.
    let begun = args.data_dir.as_ref().is_some_and(|dir| dir.join(DATABASE).exists());
    let kernel = args.kernel.kernel();
    let price = match is_remote {
        true => price_of_job(n, method.in_cluster(n)),
        false => price_here(n, method.method(n, kernel), kernel),
    };
    if !confirm_price(price, args.yes || begun)? {
        return Ok(ExitCode::FAILURE);
    }
    // Fail now rather than after hours.
    stdout()?;
    let stop = stop_on_signal()?;
    let symmetric = Symmetric::start(n)?;
    let showing = args.progress.unwrap_or_else(Showing::automatic);
    let counted = if is_remote {
        let routes = Routes::new(args.coordinator.clone(), args.credentials.credentials()?)?;
        cluster::count(n, method, args.priority.priority, routes, showing, &stop).await?
    } else {
        let data_dir = args.data_dir.clone();
        LocalCount { n, method, kernel, n_threads, cards, data_dir, showing }.run(&stop).await?
    };
    let Some(counted) = counted else { return Ok(ExitCode::FAILURE) };
    let symmetric = tokio::select! {
        symmetric = tokio::task::spawn_blocking(move || symmetric.finish()) => symmetric??,
        () = stop.cancelled() => bail!("interrupted in the search for symmetric solutions"),
    };
    let answer = CountAnswer::new(n, counted, symmetric)?;
    output.print(&answer, || answer.text())?;
    Ok(if answer.agrees { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
