//! Operators' actions in `queens top`.

use queens_model::{JobId, Name, Priority, Share, Submission, WorkerStatus};
use queens_proto::client::{JobChange, Operator, WorkersChange};
use queens_proto::pb::Empty;
use queens_solver::BoardSize;

use crate::commands::workers::describe;
use crate::counting::cluster::submit;
use crate::method::MethodChoice;
use crate::terms::TermsArgs;

/// An action of an operator.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OperatorAction {
    Submit {
        n: BoardSize,
        method: MethodChoice,
        priority: Priority,
        recount: Option<Share>,
        recount_by: Option<Name>,
    },
    Pause(JobId),
    Resume(JobId),
    Cancel(JobId),
    Priority(JobId, Priority),
    Workers(WorkersChange, Name),
}

impl OperatorAction {
    /// Carries out the action; returns a message on the result.
    pub(super) async fn carry_out(&self, operator: &Operator) -> anyhow::Result<String> {
        Ok(match self {
            Self::Submit { n, method, priority, recount, recount_by } => {
                let asked = TermsArgs::default().submission(*n, method.in_cluster(*n), *priority);
                let job =
                    submit(operator, Submission { recount: *recount, ..asked }, recount_by.as_ref()).await?;
                format!("job {job} is submitted")
            }
            Self::Pause(job) => {
                operator.change_job(*job, JobChange::Pause(Empty {})).await?;
                format!("job {job} is paused")
            }
            Self::Resume(job) => {
                operator.change_job(*job, JobChange::Resume(Empty {})).await?;
                format!("job {job} goes on")
            }
            Self::Cancel(job) => {
                operator.change_job(*job, JobChange::Cancel(Empty {})).await?;
                format!("job {job} is given up")
            }
            Self::Priority(job, priority) => {
                operator.change_job(*job, JobChange::Priority(priority.get())).await?;
                format!("job {job} has priority {priority}")
            }
            Self::Workers(action, name) => {
                let n_workers = operator.change_workers(name, *action).await?;
                describe(*action, n_workers, name)
            }
        })
    }

    /// Returns the question that the operator must confirm. O(W) for an action on workers.
    pub(super) fn question(&self, workers: &[WorkerStatus]) -> String {
        match self {
            Self::Submit { n, priority, .. } => format!("Submit n = {n}, priority {priority}?"),
            Self::Pause(job) => format!("Pause job {job}?"),
            Self::Resume(job) => format!("Let job {job} go on?"),
            Self::Cancel(job) => format!("Give up job {job} for good?"),
            Self::Priority(job, priority) => format!("Give job {job} priority {priority}?"),
            Self::Workers(action, name) => workers_question(*action, name, workers),
        }
    }
}

fn workers_question(action: WorkersChange, name: &Name, workers: &[WorkerStatus]) -> String {
    let n_workers = workers.iter().filter(|worker| worker.name == *name).count();
    let workers = if n_workers == 1 { "the worker".to_owned() } else { format!("all {n_workers} workers") };
    let what = match action {
        WorkersChange::Drain(_) => "Send home",
        WorkersChange::Block(_) => "Block",
        WorkersChange::Unblock(_) => "Unblock",
    };
    format!("{what} {workers} named '{name}'?")
}
