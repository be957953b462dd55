//! `queens count`: a coordinator and a worker in one process.

use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};

use anyhow::{Context, bail};
use queens_coordinator::store::Store;
use queens_coordinator::store::memory::MemoryStore;
use queens_coordinator::store::sqlite::SqliteStore;
use queens_coordinator::{Coordinator, Handle};
use queens_process::cancel_on_signal;
use queens_proto::{JobId, JobState, JobStatus, link};
use queens_solver::{BoardSize, fundamental, half_turn, published, quarter_turn};
use queens_worker::{Config, Worker};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::args::{CountArgs, Output};
use crate::progress::Progress;

/// The answer, in the form that scripts rely on.
#[derive(Debug, Serialize)]
struct Answer {
    n: u8,
    solutions: String,
    fundamental: String,
    nodes: String,
    seconds: f64,
    threads: usize,
    kernel: &'static str,
    published: Option<String>,
    agrees: bool,
}

/// Runs the command to its exit status.
pub(crate) fn run(args: &CountArgs) -> anyhow::Result<ExitCode> {
    let store: Box<dyn Store> = match &args.data_dir {
        Some(dir) => Box::new(SqliteStore::open(dir)?),
        None => Box::new(MemoryStore::default()),
    };
    let coordinator = Coordinator::start(store, args.threads)?;
    let symmetric = Symmetric::start(args.n)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let counted = runtime.block_on(count(args, &coordinator.handle()));
    coordinator.stop();
    let Some(job) = counted? else { return Ok(ExitCode::FAILURE) };
    let answer = answer(args, &job, symmetric)?;
    print(&answer, args.output)?;
    Ok(if answer.agrees { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Counts until the job is done, or `None` if that was interrupted, which has then been said.
async fn count(args: &CountArgs, coordinator: &Handle) -> anyhow::Result<Option<JobStatus>> {
    let stop = CancellationToken::new();
    cancel_on_signal(stop.clone()).context("failed to listen to signals")?;
    let id = find_or_submit(args, coordinator).await?;
    let done = coordinator.snapshots().borrow().job(id).filter(|job| job.state == JobState::Done).cloned();
    if done.is_some() {
        return Ok(done);
    }
    let mut worker = Worker::start(Config {
        name: "local".to_owned(),
        kernel: args.kernel.kernel(),
        n_threads: args.threads,
    })
    .context("failed to start counting threads")?;
    let (worker_end, coordinator_end) = link();
    let serve = coordinator.serve(coordinator_end);
    let drain = CancellationToken::new();
    let work = worker.serve(worker_end, &drain);
    let follow = async {
        let job = follow(args, coordinator, id, &stop).await;
        drain.cancel();
        job
    };
    let (served, _, job) = tokio::join!(serve, work, follow);
    worker.stop();
    served.context("the coordinator refused its own worker")?;
    let job = job?;
    if job.state != JobState::Done {
        // The last report came after the signal.
        let share = coordinator.snapshots().borrow().job(id).map_or(0.0, JobStatus::fraction) * 100.0;
        let hint = match &args.data_dir {
            Some(_) => "run the same command again to go on",
            None => "nothing is kept; with --data-dir DIR it could go on",
        };
        _ = writeln!(io::stderr(), "interrupted at {share:.1} % of the work: {hint}");
        return Ok(None);
    }
    Ok(Some(job))
}

/// The job that the data directory holds, or a new one.
async fn find_or_submit(args: &CountArgs, coordinator: &Handle) -> anyhow::Result<JobId> {
    let snapshot = coordinator.snapshots().borrow().clone();
    if let Some(other) = snapshot.jobs.iter().find(|job| job.n != args.n) {
        let dir = args.data_dir.as_deref().unwrap_or(Path::new(""));
        bail!(
            "data directory '{}' holds a count for n = {}, not {}: choose another directory",
            dir.display(),
            other.n,
            args.n
        );
    }
    match snapshot.jobs.iter().rfind(|job| job.state != JobState::Cancelled) {
        Some(job) => Ok(job.id),
        None => Ok(coordinator.submit(args.n).await?),
    }
}

/// Shows progress until the job is done or a signal comes; returns the job as it then stands.
async fn follow(
    args: &CountArgs,
    coordinator: &Handle,
    id: JobId,
    stop: &CancellationToken,
) -> anyhow::Result<JobStatus> {
    let mut progress = Progress::new(!args.no_progress);
    let mut snapshots = coordinator.snapshots();
    loop {
        let snapshot = snapshots.borrow_and_update().clone();
        let job = snapshot.job(id).context("the job has vanished")?.clone();
        progress.show(&job, snapshot.store_error.as_deref());
        let over = job.state == JobState::Done || stop.is_cancelled();
        if over {
            progress.clear();
            return Ok(job);
        }
        tokio::select! {
            changed = snapshots.changed() => changed.context("the coordinator has stopped")?,
            () = stop.cancelled() => {}
        }
    }
}

fn answer(args: &CountArgs, job: &JobStatus, symmetric: Symmetric) -> anyhow::Result<Answer> {
    let solutions = job.progress.solutions;
    let (half, quarter) = symmetric.finish()?;
    let fundamental = fundamental(args.n, solutions, half, quarter)
        .context("the number of solutions contradicts those of symmetric solutions")?;
    let published = published(args.n);
    Ok(Answer {
        n: args.n.get(),
        solutions: solutions.to_string(),
        fundamental: fundamental.to_string(),
        nodes: job.progress.nodes.to_string(),
        seconds: job.active.as_secs_f64(),
        threads: args.threads.get(),
        kernel: args.kernel.kernel().name(),
        published: published.map(|counts| counts.solutions.to_string()),
        agrees: published
            .is_none_or(|counts| (counts.solutions, counts.fundamental) == (solutions, fundamental)),
    })
}

fn print(answer: &Answer, output: Output) -> anyhow::Result<()> {
    let text = match output {
        Output::Json => serde_json::to_string(answer)?,
        Output::Text => text(answer),
    };
    match writeln!(io::stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("failed to write the answer"),
    }
}

fn text(answer: &Answer) -> String {
    let Answer { n, solutions, fundamental, nodes, seconds, threads, kernel, published, agrees } = answer;
    let published = match published {
        Some(_) if *agrees => "agrees with the published count".to_owned(),
        Some(published) => format!("CONTRADICTS the published count {published}"),
        None => "no count has been published to compare with".to_owned(),
    };
    let threads = if *threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
    format!(
        "Q({n}) = {solutions}, of which {fundamental} are fundamental\n{published}\n\
         {nodes} nodes in {seconds:.3} s on {threads}, {kernel} kernel"
    )
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
