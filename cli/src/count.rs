//! `queens count`: the answer, wherever it is counted.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};

use anyhow::{Context, bail};
use queens_coordinator::store::sqlite::{CountedBy, DATABASE};
use queens_messages::{JobState, JobStatus, Priority};
use queens_process::{cancel_on_signal, say, stdout};
use queens_solver::{BoardSize, Kernel, fundamental, half_turn, published, quarter_turn};
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;

use crate::args::{CountArgs, Output};
use crate::boards::{GivenArgs, count_completions};
use crate::confirm::confirm_count;
use crate::describe::describe_failure;
use crate::local;
use crate::output::{self, date, plural};
use crate::progress::Progress;
use crate::remote::Remote;

/// The answer, in the form that scripts rely on.
#[derive(Debug, Serialize)]
struct Answer {
    n: u8,
    solutions: String,
    fundamental: String,
    nodes: String,
    seconds: f64,
    threads: usize,
    kernel: String,
    published: Option<String>,
    agrees: bool,
    /// The nodes that this run has counted; those of a data directory may have been counted before.
    counted_now: String,
    /// When the count was begun, perhaps by another run.
    begun: String,
    /// Who counted what a data directory holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    counted_by: Vec<Counter>,
}

/// Who counted a part, and with what.
#[derive(Debug, Serialize)]
struct Counter {
    worker: String,
    build: String,
    kernel: String,
    nodes: String,
    core_seconds: f64,
}

/// Runs the command to its exit status.
pub(crate) async fn run(args: &CountArgs) -> anyhow::Result<ExitCode> {
    if let Some(given) = &args.given {
        let (kernel, n_threads) = (args.kernel.kernel(), args.threads);
        return count_completions(&GivenArgs { n: args.n, given, kernel, n_threads, output: args.output });
    }
    // What a directory holds was meant when it was begun.
    let begun = args.data_dir.as_ref().is_some_and(|dir| dir.join(DATABASE).exists());
    let kernel = if args.coordinator.is_some() { Kernel::Avx512 } else { args.kernel.kernel() };
    if let Err(code) = confirm_count(args.n, kernel, args.yes || begun) {
        return Ok(code);
    }
    // Better said now than after hours.
    stdout().context("failed to write the answer")?;
    let stop = CancellationToken::new();
    cancel_on_signal(stop.clone()).context("failed to listen to signals")?;
    let symmetric = Symmetric::start(args.n)?;
    let counted = match &args.coordinator {
        None => local::count(args, &stop).await?,
        Some(endpoint) => count_remotely(args, endpoint, &stop).await?,
    };
    let Some(counted) = counted else { return Ok(ExitCode::FAILURE) };
    let symmetric = tokio::select! {
        symmetric = tokio::task::spawn_blocking(move || symmetric.finish()) => symmetric??,
        () = stop.cancelled() => bail!("interrupted in the search for symmetric solutions"),
    };
    let answer = answer(args.n, counted, symmetric)?;
    output::print(&match args.output {
        Output::Json => serde_json::to_string(&answer)?,
        Output::Text => text(&answer),
    })?;
    Ok(if answer.agrees { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A job that is done, and with what it was counted.
pub(crate) struct Counted {
    pub(crate) job: JobStatus,
    pub(crate) n_threads: usize,
    pub(crate) kernel: String,
    /// The nodes that were counted since this run began.
    pub(crate) counted_now: u128,
    /// Who counted what is kept.
    pub(crate) counted_by: Vec<CountedBy>,
}

/// Counts through a cluster, or `None` if waiting for it was interrupted, which has then been said.
async fn count_remotely(
    args: &CountArgs,
    endpoint: &Endpoint,
    stop: &CancellationToken,
) -> anyhow::Result<Option<Counted>> {
    let remote = Remote::connect(endpoint).await?;
    let id = remote.submit(args.n, Priority::default()).await?;
    let mut progress = Progress::new(args.showing());
    let job = tokio::select! {
        job = remote.watch(id, |job, store_error| progress.show(job, store_error)) => job,
        () = stop.cancelled() => {
            progress.clear();
            let url = endpoint.uri();
            say(&format!(
                "job {id} goes on: 'queens watch {id} --coordinator {url}' follows it, \
                 'queens cancel {id} --coordinator {url}' gives it up"
            ));
            return Ok(None);
        }
    };
    progress.clear();
    let job = job?;
    if job.state == JobState::Failed {
        bail!("job {id} has failed: {}", describe_failure(&job));
    }
    anyhow::ensure!(job.state == JobState::Done, "job {id} was {}", job.state.name());
    let workers = remote.workers().await?;
    let n_threads = workers.iter().map(|worker| worker.n_threads as usize).sum();
    let kernels: BTreeSet<&str> = workers.iter().map(|worker| worker.kernel.as_str()).collect();
    let kernel = kernels.into_iter().collect::<Vec<_>>().join("+");
    let counted_now = job.progress.nodes;
    Ok(Some(Counted { job, n_threads, kernel, counted_now, counted_by: Vec::new() }))
}

fn answer(n: BoardSize, counted: Counted, symmetric: (u64, u64)) -> anyhow::Result<Answer> {
    let Counted { job, n_threads, kernel, counted_now, counted_by } = counted;
    let solutions = job.progress.solutions;
    let (half, quarter) = symmetric;
    let fundamental = fundamental(n, solutions, half, quarter)
        .context("the number of solutions contradicts those of symmetric solutions")?;
    let published = published(n);
    Ok(Answer {
        n: n.get(),
        solutions: solutions.to_string(),
        fundamental: fundamental.to_string(),
        nodes: job.progress.nodes.to_string(),
        // Whole milliseconds, which is what is kept.
        seconds: job.active.as_millis() as f64 / 1000.0,
        threads: n_threads,
        kernel,
        published: published.map(|counts| counts.solutions.to_string()),
        agrees: published
            .is_none_or(|counts| (counts.solutions, counts.fundamental) == (solutions, fundamental)),
        counted_now: counted_now.to_string(),
        begun: date(job.created_ms / 1000),
        counted_by: counted_by.iter().map(Counter::new).collect(),
    })
}

impl Counter {
    fn new(by: &CountedBy) -> Self {
        Self {
            worker: by.source.name.to_string(),
            build: by.source.build.to_string(),
            kernel: by.source.kernel.to_string(),
            nodes: by.nodes.to_string(),
            core_seconds: by.core_time.as_secs_f64(),
        }
    }
}

fn text(answer: &Answer) -> String {
    let Answer { n, solutions, fundamental, nodes, published, agrees, .. } = answer;
    let published = match published {
        Some(_) if *agrees => "agrees with the published count".to_owned(),
        Some(published) => format!("CONTRADICTS the published count {published}"),
        None => "no count has been published to compare with".to_owned(),
    };
    format!(
        "Q({n}) = {}, {fundamental} of them fundamental\n{published}\n{}{}",
        plural(solutions, "solution"),
        plural(nodes, "node"),
        how_counted(answer)
    )
}

/// What follows the number of nodes: how long it took and what counted, as far as that was measured.
fn how_counted(answer: &Answer) -> String {
    let Answer { seconds, threads, kernel, nodes, counted_now, begun, .. } = answer;
    if counted_now == nodes && *threads > 0 {
        return format!(" in {seconds:.3} s on {}, {kernel} kernel", plural(threads, "thread"));
    }
    let now = match counted_now.as_str() {
        "0" => "nothing was counted now".to_owned(),
        now => format!("{now} of them counted now"),
    };
    // A data directory may have been a cluster's.
    const MOST_NAMED: usize = 3;
    let by = |by: &Counter| format!("{} ({} kernel, version {})", by.worker, by.kernel, by.build);
    let mut sources: Vec<String> = answer.counted_by.iter().take(MOST_NAMED).map(by).collect();
    match answer.counted_by.len().saturating_sub(MOST_NAMED) {
        0 => {}
        n_others => sources.push(format!("and {}", plural(n_others, "other"))),
    }
    let by = if sources.is_empty() { String::new() } else { format!(" by {}", sources.join(", ")) };
    format!(", counted in {seconds:.3} s{by}\nbegun {begun}; {now}")
}

/// The search for symmetric solutions, which a thread does beside the counting: it is small, but not nothing.
struct Symmetric(JoinHandle<Option<(u64, u64)>>);

impl Symmetric {
    fn start(n: BoardSize) -> anyhow::Result<Self> {
        // If the count is interrupted, the process ends and this with it.
        static NEVER: AtomicBool = AtomicBool::new(false);
        let search = move || Some((half_turn(n, &NEVER)?, quarter_turn(n, &NEVER)?));
        let thread = thread::Builder::new().name("symmetric".to_owned()).spawn(search);
        Ok(Self(thread.context("failed to start a thread")?))
    }

    fn finish(self) -> anyhow::Result<(u64, u64)> {
        self.0.join().ok().flatten().context("the search for symmetric solutions did not end")
    }
}
