//! The commands that talk to a coordinator.

use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use queens_json::{Job, Worker};
use queens_messages::{
    Contribution, CoordinatorStatus, Event, JobId, JobState, JobStatus, Name, Priority, WorkerStatus,
};
use queens_process::{cancel_on_signal, is_screen, stdout};
use queens_proto::convert::{InvalidMessage, store_error_of};
use queens_proto::pb;
use queens_proto::pb::jobs_client::JobsClient;
use queens_solver::{BoardSize, Kernel};
use queens_worker::remote::{is_grpc, root_cause};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tracing::warn;

use crate::args::{
    JobArgs, Output, PriorityArgs, RemoteArgs, SubmitArgs, WorkerArgs, WorkersArgs, WorkersCommand,
};
use crate::confirm::confirm_count;
use crate::contributions::contributions_table;
use crate::describe::{align_right, describe, line, speed, state, table, time_left};
use crate::output::{percent, print};
use crate::progress::{Progress, Showing};

/// How long to try to reach a coordinator, and how long to wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait before asking a coordinator again that has gone away.
const RETRY: Duration = Duration::from_millis(500);

/// How often to ask whether the coordinator can record anything, while a job is watched.
const LOOK: Duration = Duration::from_secs(1);

/// Entries of a list: more than any coordinator has.
const MOST_ENTRIES: usize = 1_000_000;

/// The least time between two lines of `queens watch`.
const LINE: Duration = Duration::from_secs(1);

/// What is done to all workers of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerAction {
    Drain,
    Block,
    Unblock,
}

impl WorkerAction {
    /// What has become of so many workers of a name.
    pub(crate) fn describe(self, n_workers: u64, name: &Name) -> String {
        let done = match self {
            Self::Drain => "sent home",
            Self::Block => "blocked",
            Self::Unblock => "not blocked",
        };
        match n_workers {
            0 => format!("workers named '{name}': {done}; there is none at present"),
            1 => format!("1 worker named '{name}': {done}"),
            _ => format!("{n_workers} workers named '{name}': {done}"),
        }
    }
}

/// A connection to a coordinator.
pub(crate) struct Remote {
    jobs: JobsClient<Channel>,
    url: String,
    /// What the job that was heard of last says of the coordinator's store.
    store_error: Mutex<Option<String>>,
}

impl Remote {
    /// Connects.
    pub(crate) async fn connect(endpoint: &Endpoint) -> anyhow::Result<Self> {
        let url = endpoint.uri().to_string();
        let connected = tokio::time::timeout(PATIENCE, endpoint.connect()).await;
        let channel = match connected {
            Ok(Ok(channel)) => channel,
            Ok(Err(error)) => return Err(unreachable(&url, &root_cause(&error))),
            Err(_) => return Err(unreachable(&url, "no answer")),
        };
        Ok(Self { jobs: JobsClient::new(channel), url, store_error: Mutex::default() })
    }

    /// Waits for an answer, but not for ever.
    async fn answer<T>(
        &self,
        call: impl Future<Output = Result<tonic::Response<T>, Status>>,
    ) -> anyhow::Result<T> {
        let answer = self.answer_in_time(call).await?;
        answer.ok_or_else(|| unreachable(&self.url, "no answer"))
    }

    /// The same for what changes something: nobody knows whether it does if no answer comes.
    async fn decide<T>(
        &self,
        call: impl Future<Output = Result<tonic::Response<T>, Status>>,
    ) -> anyhow::Result<T> {
        let answer = self.answer_in_time(call).await?;
        let silence =
            || anyhow!("no answer from the coordinator at {}: it may be done all the same", self.url);
        answer.ok_or_else(silence)
    }

    /// The answer; `None` if there is none in time.
    async fn answer_in_time<T>(
        &self,
        call: impl Future<Output = Result<tonic::Response<T>, Status>>,
    ) -> anyhow::Result<Option<T>> {
        match tokio::time::timeout(PATIENCE, call).await {
            Ok(Ok(response)) => Ok(Some(response.into_inner())),
            Ok(Err(status)) => Err(self.refused(&status)),
            Err(_) => Ok(None),
        }
    }

    /// What an answer that is none has to say: the coordinator's own words, or that it is none.
    fn refused(&self, status: &Status) -> anyhow::Error {
        match std::error::Error::source(status) {
            Some(cause) if is_io(cause) || is_silence(cause) => unreachable(&self.url, &root_cause(cause)),
            Some(cause) => {
                unreachable(&self.url, &format!("what answers is no coordinator, {}", root_cause(cause)))
            }
            None if !is_grpc(status) => unreachable(
                &self.url,
                "what answers there speaks HTTP and is no coordinator, or it is the address of its --http; \
                 --coordinator wants the one of its --listen",
            ),
            None if status.code() == Code::Unimplemented => {
                unreachable(&self.url, "it is no coordinator, or of an older version")
            }
            None => anyhow!("{}", status.message()),
        }
    }

    /// Submits a job.
    pub(crate) async fn submit(&self, n: BoardSize, priority: Priority) -> anyhow::Result<JobId> {
        let request = pb::SubmitRequest { n: n.get().into(), priority: priority.get() };
        Ok(JobId(self.decide(self.jobs.clone().submit(request)).await?.job))
    }

    async fn cancel(&self, job: JobId) -> anyhow::Result<()> {
        self.decide(self.jobs.clone().cancel(pb::CancelRequest { job: job.0 })).await?;
        Ok(())
    }

    pub(crate) async fn pause(&self, job: JobId) -> anyhow::Result<()> {
        self.decide(self.jobs.clone().pause(pb::PauseRequest { job: job.0 })).await?;
        Ok(())
    }

    pub(crate) async fn resume(&self, job: JobId) -> anyhow::Result<()> {
        self.decide(self.jobs.clone().resume(pb::ResumeRequest { job: job.0 })).await?;
        Ok(())
    }

    /// Does something to all workers of a name; returns how many there are.
    pub(crate) async fn change_workers(&self, action: WorkerAction, name: &Name) -> anyhow::Result<u64> {
        let request = pb::WorkersRequest { name: name.to_string() };
        let mut jobs = self.jobs.clone();
        let answer = match action {
            WorkerAction::Drain => self.decide(jobs.drain_workers(request)).await,
            WorkerAction::Block => self.decide(jobs.block_workers(request)).await,
            WorkerAction::Unblock => self.decide(jobs.unblock_workers(request)).await,
        };
        Ok(answer?.workers)
    }

    pub(crate) async fn jobs(&self) -> anyhow::Result<Vec<JobStatus>> {
        let (mut jobs, mut page) = (Vec::new(), String::new());
        loop {
            let answer = self.answer(self.jobs.clone().list(pb::ListRequest { page })).await?;
            let n_before = jobs.len();
            for job in answer.jobs {
                jobs.push(self.hear(job)?);
            }
            page = answer.next_page;
            if page.is_empty() {
                return Ok(jobs);
            }
            bounded(jobs.len(), jobs.len() - n_before)?;
        }
    }

    async fn job(&self, job: JobId) -> anyhow::Result<JobStatus> {
        Ok(self.hear(self.answer(self.jobs.clone().get(pb::GetRequest { job: job.0 })).await?)?)
    }

    /// A job as it was told.
    fn hear(&self, job: pb::Job) -> Result<JobStatus, InvalidMessage> {
        *self.store_error.lock().unwrap_or_else(PoisonError::into_inner) = store_error_of(&job);
        JobStatus::try_from(job)
    }

    /// How the coordinator itself stands; `None` if it is of an older version, which can't tell.
    pub(crate) async fn coordinator(&self) -> anyhow::Result<Option<CoordinatorStatus>> {
        let mut jobs = self.jobs.clone();
        let asked = async {
            match jobs.get_coordinator(pb::GetCoordinatorRequest {}).await {
                Ok(answer) => Ok(tonic::Response::new(Some(CoordinatorStatus::from(answer.into_inner())))),
                Err(status) if status.code() == Code::Unimplemented => Ok(tonic::Response::new(None)),
                Err(status) => Err(status),
            }
        };
        self.answer(asked).await
    }

    /// Why the coordinator records nothing at present, if so. One of an older version says it with each job.
    pub(crate) async fn store_error(&self) -> anyhow::Result<Option<String>> {
        Ok(match self.coordinator().await? {
            Some(coordinator) => coordinator.store_error,
            None => self.heard_store_error(),
        })
    }

    /// What a coordinator of an older version said of its store with the last job.
    pub(crate) fn heard_store_error(&self) -> Option<String> {
        self.store_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) async fn workers(&self) -> anyhow::Result<Vec<WorkerStatus>> {
        Ok(self.workers_and_blocked().await?.0)
    }

    /// All workers, and all names that are blocked.
    pub(crate) async fn workers_and_blocked(&self) -> anyhow::Result<(Vec<WorkerStatus>, Vec<Name>)> {
        let (mut workers, mut blocked, mut page) = (Vec::new(), Vec::new(), String::new());
        loop {
            let answer = self.answer(self.jobs.clone().list_workers(pb::ListWorkersRequest { page })).await?;
            let n_before = workers.len() + blocked.len();
            for worker in answer.workers {
                workers.push(WorkerStatus::try_from(worker)?);
            }
            blocked.extend(answer.blocked.iter().map(|name| Name::of_any(name)));
            page = answer.next_page;
            if page.is_empty() {
                return Ok((workers, blocked));
            }
            let n_entries = workers.len() + blocked.len();
            bounded(n_entries, n_entries - n_before)?;
        }
    }

    /// Who has counted a job, those with the most nodes first.
    async fn contributions(&self, job: JobId) -> anyhow::Result<Vec<Contribution>> {
        let request = pb::GetRequest { job: job.0 };
        let answer = self.answer(self.jobs.clone().list_contributions(request)).await?;
        Ok(answer.contributions.into_iter().map(Contribution::try_from).collect::<Result<_, _>>()?)
    }

    /// What has happened lately, the oldest first.
    pub(crate) async fn events(&self) -> anyhow::Result<Vec<Event>> {
        let answer = self.answer(self.jobs.clone().list_events(pb::ListEventsRequest {})).await?;
        Ok(answer.events.into_iter().map(Event::try_from).collect::<Result<_, _>>()?)
    }

    /// Calls `show` with the job, and why nothing is recorded if so, now and at every change, until the job is over. If
    /// the coordinator goes away, the job does not: says so once and waits for it to come back.
    pub(crate) async fn watch(
        &self,
        job: JobId,
        mut show: impl FnMut(&JobStatus, Option<&str>),
    ) -> anyhow::Result<JobStatus> {
        let mut lost = false;
        loop {
            match self.watch_once(job, &mut show, &mut lost).await {
                Ok(Some(status)) => return Ok(status),
                Err(status) if is_final(&status) => return Err(self.refused(&status)),
                Ok(None) | Err(_) if lost => {}
                Ok(None) | Err(_) => {
                    warn!("lost the coordinator at {}; waiting for it to come back", self.url);
                    lost = true;
                }
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Watches over one connection: the job if it is over, `None` if the coordinator ended the stream before.
    async fn watch_once(
        &self,
        job: JobId,
        show: &mut impl FnMut(&JobStatus, Option<&str>),
        lost: &mut bool,
    ) -> Result<Option<JobStatus>, Status> {
        let mut changes = self.jobs.clone().watch(pb::GetRequest { job: job.0 }).await?.into_inner();
        let (mut job, mut store_error) = (None, self.store_error().await.unwrap_or_default());
        let mut look_again = tokio::time::interval(LOOK);
        look_again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        look_again.reset();
        loop {
            tokio::select! {
                change = changes.message() => {
                    let Some(change) = change? else { return Ok(None) };
                    *lost = false;
                    let heard = self.hear(change);
                    job = Some(heard.map_err(|invalid| Status::data_loss(invalid.to_string()))?);
                }
                _ = look_again.tick() => {
                    // Whether it is there, the stream of the job says.
                    store_error = self.store_error().await.unwrap_or(store_error);
                }
            }
            let Some(job) = &job else { continue };
            show(job, store_error.as_deref());
            if job.state.is_over() {
                return Ok(Some(job.clone()));
            }
        }
    }
}

/// Refuses a list that has come to so many entries, some of them on its last page, and goes on, if it can have no end.
fn bounded(n_entries: usize, n_last: usize) -> anyhow::Result<()> {
    if n_last == 0 {
        bail!("the coordinator sent nonsense: a list goes on after a page with nothing on it");
    }
    if n_entries > MOST_ENTRIES {
        bail!("the coordinator's list has more than {MOST_ENTRIES} entries");
    }
    Ok(())
}

/// Whether it comes from the network itself.
fn is_io(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|error| error.is::<std::io::Error>())
}

/// Whether the other end has not answered for too long on a connection that was there.
fn is_silence(error: &(dyn std::error::Error + 'static)) -> bool {
    root_cause(error).contains("timed out")
}

/// Whether asking again can't help.
fn is_final(status: &Status) -> bool {
    !is_grpc(status)
        || matches!(
            status.code(),
            Code::NotFound
                | Code::InvalidArgument
                | Code::Unimplemented
                | Code::DataLoss
                | Code::PermissionDenied
        )
}

fn unreachable(url: &str, reason: &str) -> anyhow::Error {
    anyhow!(
        "failed to reach the coordinator at {url}: {reason} (is it running there? --coordinator says where to look)"
    )
}

/// `queens submit`
pub(crate) async fn submit(args: &SubmitArgs) -> anyhow::Result<ExitCode> {
    if let Err(code) = confirm_count(args.n, Kernel::Avx512, args.yes) {
        return Ok(code);
    }
    let job = Remote::connect(&args.remote.coordinator).await?.submit(args.n, args.priority).await?;
    print(&match args.remote.output {
        Output::Text => job.to_string(),
        Output::Json => json!({ "job": job.to_string() }).to_string(),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// `queens jobs`
pub(crate) async fn jobs(args: &RemoteArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::connect(&args.coordinator).await?;
    let jobs = remote.jobs().await?;
    let store_error = remote.store_error().await?;
    if args.output == Output::Text {
        warn_if_nothing_is_recorded(store_error.as_deref());
    }
    print(&match args.output {
        Output::Json => {
            json_of(&jobs.iter().map(|job| Job::of(job, store_error.as_deref())).collect::<Vec<_>>())?
        }
        Output::Text if jobs.is_empty() => "no jobs; 'queens submit N' makes one".to_owned(),
        Output::Text => {
            let mut table =
                table(["JOB", "N", "PRIORITY", "STATE", "DONE", "SOLUTIONS SO FAR", "LEFT", "WORKERS"]);
            for job in &jobs {
                table.add_row([
                    job.id.to_string(),
                    job.n.to_string(),
                    job.priority.to_string(),
                    state(job),
                    percent(job.fraction()),
                    job.progress.solutions.to_string(),
                    time_left(job),
                    job.n_workers.to_string(),
                ]);
            }
            align_right(&mut table, &[0, 1, 2, 4, 5, 6, 7]);
            table.trim_fmt()
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// `queens workers`
pub(crate) async fn workers(args: &WorkersArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        None => list_workers(&args.remote).await?,
        Some(WorkersCommand::Drain(args)) => change_workers(args, WorkerAction::Drain).await?,
        Some(WorkersCommand::Block(args)) => change_workers(args, WorkerAction::Block).await?,
        Some(WorkersCommand::Unblock(args)) => change_workers(args, WorkerAction::Unblock).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Changes all workers of a name and says what became of them.
async fn change_workers(args: &WorkerArgs, action: WorkerAction) -> anyhow::Result<()> {
    let name = &args.name;
    let remote = Remote::connect(&args.remote.coordinator).await?;
    let n_workers = remote.change_workers(action, name).await?;
    print(&match args.remote.output {
        Output::Json => json!({ "name": name.as_str(), "workers": n_workers }).to_string(),
        Output::Text => action.describe(n_workers, name),
    })
}

async fn list_workers(args: &RemoteArgs) -> anyhow::Result<()> {
    let (mut workers, blocked) = Remote::connect(&args.coordinator).await?.workers_and_blocked().await?;
    workers.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
    let is_absent = |name: &&Name| workers.iter().all(|worker| worker.name != **name);
    let absent: Vec<&Name> = blocked.iter().filter(is_absent).collect();
    print(&match args.output {
        Output::Json => {
            let absent = absent
                .iter()
                .map(|name| json!({ "name": name.as_str(), "state": "blocked", "connected": false }));
            let workers = workers.iter().map(|worker| serde_json::to_value(Worker::from(worker)));
            let workers: Vec<Value> = workers.chain(absent.map(Ok)).collect::<Result<_, _>>()?;
            json_of(&workers)?
        }
        Output::Text if workers.is_empty() && absent.is_empty() => {
            format!("no workers; 'queens-worker --coordinator {}' makes one", args.coordinator.uri())
        }
        Output::Text => {
            let mut table = table([
                "NAME",
                "STATE",
                "KERNEL",
                "THREADS",
                "M NODES/S",
                "LEASES",
                "COUNTING",
                "RECORDED",
                "HEARD OF",
                "BUILD",
            ]);
            for worker in &workers {
                if let Some(failure) = &worker.failure {
                    warn!("worker {} failed: {failure}", worker.name);
                }
                let counting = worker.counting.map(|(job, span)| format!("job {job} cross {}", span.cross()));
                let heard = format!("{:.0} s ago", worker.silent.as_secs_f64());
                table.add_row([
                    worker.name.to_string(),
                    worker.state.name().to_owned(),
                    worker.kernel.to_string(),
                    worker.n_threads.to_string(),
                    speed(worker.rate),
                    worker.n_leases.to_string(),
                    counting.unwrap_or_default(),
                    worker.n_recorded.to_string(),
                    if worker.connected { heard } else { format!("{heard}, connection lost") },
                    worker.build.to_string(),
                ]);
            }
            for name in absent {
                table.add_row([name.as_str(), "blocked", "", "", "", "", "", "", "not connected", ""]);
            }
            align_right(&mut table, &[3, 4, 5, 7]);
            table.trim_fmt()
        }
    })
}

/// `queens status`
pub(crate) async fn status(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::connect(&args.remote.coordinator).await?;
    let job = remote.job(args.job).await?;
    let store_error = remote.store_error().await?;
    print(&match args.remote.output {
        Output::Json => json_of(&Job::of(&job, store_error.as_deref()))?,
        Output::Text => {
            warn_if_nothing_is_recorded(store_error.as_deref());
            describe(&job)
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// `queens contributions`
pub(crate) async fn contributions(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let contributions = Remote::connect(&args.remote.coordinator).await?.contributions(args.job).await?;
    print(&match args.remote.output {
        Output::Json => json_of(&queens_json::Contribution::all(&contributions))?,
        Output::Text if contributions.is_empty() => format!("nothing is recorded of job {}", args.job),
        Output::Text => contributions_table(&contributions),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// `queens cancel`
pub(crate) async fn cancel(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::connect(&args.remote.coordinator).await?;
    remote.cancel(args.job).await?;
    let job = remote.job(args.job).await?;
    if job.state == JobState::Done {
        bail!("job {} is done: there is nothing to give up", job.id);
    }
    show_change(&remote, &args.remote, args.job).await
}

/// `queens pause`
pub(crate) async fn pause(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::connect(&args.remote.coordinator).await?;
    remote.pause(args.job).await?;
    show_change(&remote, &args.remote, args.job).await
}

/// `queens resume`
pub(crate) async fn resume(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::connect(&args.remote.coordinator).await?;
    remote.resume(args.job).await?;
    show_change(&remote, &args.remote, args.job).await
}

/// `queens priority`
pub(crate) async fn priority(args: &PriorityArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::connect(&args.remote.coordinator).await?;
    let request = pb::SetPriorityRequest { job: args.job.0, priority: args.priority.get() };
    remote.answer(remote.jobs.clone().set_priority(request)).await?;
    show_change(&remote, &args.remote, args.job).await
}

/// Says how a job stands after it was changed.
async fn show_change(remote: &Remote, args: &RemoteArgs, job: JobId) -> anyhow::Result<ExitCode> {
    let job = remote.job(job).await?;
    print(&match args.output {
        Output::Json => json_of(&Job::of(&job, remote.store_error().await?.as_deref()))?,
        Output::Text if job.state.is_over() => format!("job {} is {}", job.id, job.state.name()),
        Output::Text => format!("job {} is {}, priority {}", job.id, job.state.name(), job.priority),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A value as JSON in one line, its fields in the order of their names.
fn json_of(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_value(value)?.to_string())
}

/// Nothing else that is shown means much while a coordinator can't write.
fn warn_if_nothing_is_recorded(store_error: Option<&str>) {
    if let Some(reason) = store_error {
        warn!("the coordinator records nothing at present: {reason}");
    }
}

/// `queens watch`: exit status 0 when the job is done, 1 if it ends otherwise.
pub(crate) async fn watch(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let stop = CancellationToken::new();
    cancel_on_signal(stop.clone()).context("failed to listen to signals")?;
    let remote = Remote::connect(&args.remote.coordinator).await?;
    let bar_instead = is_screen(&stdout()?) && args.remote.output == Output::Text;
    let mut progress = Progress::new(if bar_instead { Showing::Bar } else { Showing::None });
    let (mut failed, mut printed) = (None, None);
    let watching = remote.watch(args.job, |job, store_error| {
        progress.show(job, store_error);
        if bar_instead && !job.state.is_over() {
            return;
        }
        // A line says something new, and at most once a second.
        let news = (state(job), job.progress.n_recorded, job.n_workers);
        let is_old = printed
            .as_ref()
            .is_some_and(|(before, at): &(_, Instant)| *before == news || at.elapsed() < LINE);
        if is_old && !job.state.is_over() {
            return;
        }
        printed = Some((news, Instant::now()));
        progress.clear();
        let line = match args.remote.output {
            Output::Json => json_of(&Job::of(job, store_error)),
            Output::Text => Ok(line(job)),
        };
        if let Err(error) = line.and_then(|line| print(&line)) {
            failed.get_or_insert(error);
        }
    });
    let job = tokio::select! {
        job = watching => job?,
        () = stop.cancelled() => {
            progress.clear();
            return Ok(ExitCode::FAILURE);
        }
    };
    match failed {
        Some(error) => Err(error),
        None if job.state == JobState::Done => Ok(ExitCode::SUCCESS),
        None => Ok(ExitCode::FAILURE),
    }
}
