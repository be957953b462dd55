//! The handle: the interface to a running coordinator, and the open sessions of workers, which gRPC and counting in
//! this process use alike.

use std::sync::Arc;
use std::time::Duration;

use queens_ledger::{
    Core, JobChange, JobRefusal, Sealed, Session, SubmissionRefusal, UnknownWorker, WorkerChange,
    WorkerRefusal,
};
use queens_model::{
    Contribution, CoordinatorStatus, Hello, JobId, Name, Party, Person, Submission, ToCoordinator, ToWorker,
    VerdictStatus,
};
use queens_store::seed;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::audit_action::AuditAction;
use crate::command::{Command, WaitingAnswer};
use crate::exports::{NoExport, Pieces};
use crate::history::SharedHistory;
use crate::loop_monitor::LoopMonitor;
use crate::metrics::Metrics;
use crate::party_totals::TotalsReader;
use crate::people::{People, Ranking};
use crate::record_queries::{QueryError, RecordQueries};
use crate::snapshot::{Details, Snapshot};
use crate::snapshot_publisher::DETAILS_AGE;
use crate::status;

/// The maximum wait for the details of a job that nobody has viewed recently.
const DETAILS_TIMEOUT: Duration = Duration::from_secs(3);

/// The coordinator has stopped, and answers no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the coordinator has stopped")]
pub struct Stopped;

/// A handle to communicate with a running coordinator; cheap to clone.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) snapshots: watch::Receiver<Arc<Snapshot>>,
    /// The timing of the event loop.
    pub loop_monitor: LoopMonitor,
    /// Its counters, and the registry of all metrics.
    pub metrics: Arc<Metrics>,
    /// The history in memory.
    pub history: SharedHistory,
    pub(crate) queries: Arc<RecordQueries>,
    pub(crate) totals: Arc<TotalsReader>,
    pub(crate) ranking: Arc<Ranking>,
    /// The kind of its store.
    pub(crate) store: &'static str,
}

impl Handle {
    /// Submits a job; it is durable when its id is returned.
    ///
    /// # Errors
    /// If the coordinator has stopped; inside, if the job is refused.
    pub async fn submit(&self, asked: Submission) -> Result<Result<JobId, SubmissionRefusal>, Stopped> {
        let what = format!("submit n = {} by {}, priority {}", asked.n, asked.method, asked.priority);
        self.decide(what, move |core| core.submit(&asked, seed::draw())).await
    }

    /// Changes the scheduling of a job; the change is durable when this returns.
    ///
    /// # Errors
    /// If the coordinator has stopped; inside, if there is no such job or it is over.
    pub async fn change_job(&self, job: JobId, change: JobChange) -> Result<Result<(), JobRefusal>, Stopped> {
        let what = match change {
            JobChange::Pause => format!("pause job {job}"),
            JobChange::Resume => format!("resume job {job}"),
            JobChange::Priority(priority) => format!("give job {job} priority {priority}"),
            JobChange::Verify(_) => format!("have more of job {job} counted again"),
            JobChange::EndVerification => format!("end the verification of job {job}"),
            JobChange::Cancel => format!("cancel job {job}"),
        };
        self.decide(what, move |core| core.change_job(job, change)).await
    }

    /// Drains, blocks or unblocks all workers of a name, and returns their number. Blocks are durable then.
    ///
    /// # Errors
    /// If the coordinator has stopped; inside, if there is no such worker.
    pub async fn change_workers(
        &self,
        name: Name,
        change: WorkerChange,
    ) -> Result<Result<usize, UnknownWorker>, Stopped> {
        let what = match change {
            WorkerChange::Drain => format!("drain workers named '{name}'"),
            WorkerChange::Block => format!("block workers named '{name}'"),
            WorkerChange::Unblock => format!("unblock workers named '{name}'"),
        };
        self.decide(what, move |core| core.change_workers(&name, change)).await
    }

    /// Sends a decision, and records the action and its outcome for the audit log.
    async fn decide<T: Send + 'static, E: ToString + Send + 'static>(
        &self,
        what: String,
        decide: impl FnOnce(&mut Core) -> Sealed<Result<T, E>> + Send + 'static,
    ) -> Result<Result<T, E>, Stopped> {
        let audit_action = AuditAction::current();
        audit_action.record_action(what);
        let sent = self.ask(decide).await;
        if sent.is_err() {
            audit_action.record_outcome(&sent);
        }
        // If the coordinator stops meanwhile, the command may be carried out: then the outcome is unknown.
        let answer = sent?.await.map_err(|_| Stopped)?;
        audit_action.record_outcome(&answer);
        Ok(answer)
    }

    /// Sends a decision. Its answer comes after its writes are durable.
    async fn ask<T: Send + 'static>(
        &self,
        decide: impl FnOnce(&mut Core) -> Sealed<T> + Send + 'static,
    ) -> Result<oneshot::Receiver<T>, Stopped> {
        let (reply, answer) = oneshot::channel();
        let decide = move |core: &mut Core| -> WaitingAnswer {
            let sealed = decide(core);
            Box::new(move |durable| _ = reply.send(sealed.open(durable)))
        };
        self.send(Command::Decide(Box::new(decide))).await?;
        Ok(answer)
    }

    /// Returns a receiver of snapshots, with the present one.
    #[must_use]
    pub fn snapshots(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshots.clone()
    }

    /// Returns the present snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshots.borrow().clone()
    }

    /// Returns the coordinator's own status.
    #[must_use]
    pub fn status(&self) -> CoordinatorStatus {
        status::of_coordinator(&self.snapshot(), self.store, &self.loop_monitor)
    }

    /// Returns whether the coordinator has stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.commands.is_closed()
    }

    /// Returns the details of a job. They are about a second old if somebody has viewed them recently; otherwise this
    /// waits until they are made. `None` if there is no such job, it has no plan yet, or the wait is too long.
    pub async fn details(&self, job: JobId) -> Option<Arc<Details>> {
        let mut snapshots = self.snapshots();
        let known = |snapshot: &Snapshot| snapshot.details.get(&job).cloned();
        if snapshots.borrow().job(job)?.progress.n_subproblems == 0 {
            return None;
        }
        let details = known(&snapshots.borrow());
        if details.as_ref().is_none_or(|details| details.made.elapsed() >= DETAILS_AGE) {
            // A full queue means much work; the next request tries again.
            _ = self.commands.try_send(Command::MakeDetails { job });
        }
        if details.is_some() {
            return details;
        }
        let made = snapshots.wait_for(|snapshot| snapshot.details.contains_key(&job));
        let made = tokio::time::timeout(DETAILS_TIMEOUT, made).await;
        known(&*made.ok()?.ok()?)
    }

    /// Returns verdicts on spans of a job with different counts, in the order of the spans: at most 1000, after the
    /// first `offset`.
    ///
    /// # Errors
    /// See [`contributions`](Self::contributions).
    pub async fn verdicts(&self, job: JobId, offset: usize) -> Result<Vec<VerdictStatus>, QueryError> {
        self.queries.verdicts(job, offset).await
    }

    /// Returns the contributions to a job, most work first. They are some seconds old, or older if reading takes long.
    /// Empty if the coordinator keeps no records.
    ///
    /// # Errors
    /// If the records can't be read, or not now.
    pub async fn contributions(&self, job: JobId) -> Result<Arc<[Contribution]>, QueryError> {
        self.queries.of_job(job).await
    }

    /// Returns the contributions to a part of a job.
    ///
    /// # Errors
    /// See [`contributions`](Self::contributions).
    pub async fn contributions_to(&self, job: JobId, part: u32) -> Result<Vec<Contribution>, QueryError> {
        self.queries.of_part(job, part).await
    }

    /// Returns the ranking of these people. Ranking and sums are some seconds old each; the sums are older if reading
    /// takes long. `persons` is called only for a new ranking.
    ///
    /// # Errors
    /// If the records are being read for the first time since the start.
    pub async fn people(&self, persons: impl FnOnce() -> Vec<Person>) -> Result<Arc<People>, QueryError> {
        let totals = self.totals.totals(&self.snapshot()).await.ok_or(QueryError::Busy)?;
        Ok(self.ranking.of(totals, persons))
    }

    /// Returns the days on which the thread time of a party has changed, ascending, in days since 1970, with the time
    /// at the end of each. At most 400.
    #[must_use]
    pub fn days_of(&self, party: Party) -> Vec<(u32, Duration)> {
        self.history.days.lock().of(party)
    }

    /// Streams a certificate of a finished job. With `record_action`, the job counts as exported after everything is
    /// sent: no later finding changes its records.
    pub fn export(&self, job: JobId, record_action: bool) -> Result<Pieces, NoExport> {
        let audit_action = if record_action { AuditAction::current() } else { AuditAction::default() };
        audit_action.record_action(format!("export job {job}"));
        let (handle, of_end) = (self.clone(), audit_action.clone());
        let begun = self.queries.export(job, async move |made| {
            if made.is_ok() && record_action {
                // If the coordinator is stopping, the job is exported another time.
                let Ok(answer) = handle.ask(move |core| core.exported(job)).await else { return };
                if answer.await.is_err() {
                    return;
                }
            }
            of_end.record_outcome(made);
        });
        if begun.is_err() {
            audit_action.record_outcome(&begun);
        }
        begun
    }

    /// Opens a session of a worker, and returns it with its messages to the worker. `party` is the authenticated party;
    /// without authentication, each name is a party.
    ///
    /// # Errors
    /// If the coordinator has stopped; inside, if the worker is refused.
    pub async fn open(
        &self,
        hello: Hello,
        party: Option<Party>,
    ) -> Result<Result<(OpenSession, mpsc::Receiver<ToWorker>), WorkerRefusal>, Stopped> {
        let (to_worker, messages) = mpsc::channel(MOST_WAITING);
        let (reply, answer) = oneshot::channel();
        let party = party.unwrap_or_else(|| Party::of_name(&hello.name));
        self.send(Command::Connect { hello, party, to_worker, reply }).await?;
        let opened = answer.await.map_err(|_| Stopped)?;
        self.loop_monitor.note_contact();
        let (commands, loop_monitor) = (self.commands.clone(), self.loop_monitor.clone());
        Ok(opened.map(|session| (OpenSession { session, commands, loop_monitor }, messages)))
    }

    async fn send(&self, command: Command) -> Result<(), Stopped> {
        self.commands.send(command).await.map_err(|_| Stopped)
    }
}

/// The most messages that wait for a worker: two leases for each thread of a very large machine.
const MOST_WAITING: usize = 8192;

/// A worker's open session. If the coordinator stops or closes it, its messages to the worker end.
#[derive(Debug)]
pub struct OpenSession {
    session: Session,
    commands: mpsc::Sender<Command>,
    loop_monitor: LoopMonitor,
}

impl OpenSession {
    /// Passes a message of the worker to the event loop, and waits until that has taken it. The last message to the
    /// worker answers a goodbye.
    ///
    /// # Errors
    /// If the worker is refused.
    pub async fn pass(&self, message: ToCoordinator) -> Result<(), WorkerRefusal> {
        let (session, came, (reply, answer)) = (self.session, Instant::now(), oneshot::channel());
        // Without an answer, the coordinator has stopped.
        if self.commands.send(Command::Message { session, message, came, reply }).await.is_ok() {
            answer.await.unwrap_or(Ok(()))?;
        }
        self.loop_monitor.note_contact();
        Ok(())
    }

    /// Ends the session, unless the worker has said goodbye. It may come back.
    pub async fn disconnect(self) {
        self.commands.send(Command::Disconnect { session: self.session }).await.unwrap_or(());
    }
}
