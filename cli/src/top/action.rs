//! Operators' actions in `queens top`.

use clap::Parser;
use queens_model::{JobId, Name};
use queens_proto::client::{JobChange, Operator, WorkersChange};
use queens_proto::pb::Empty;

use crate::commands::change_job::{MoreArgs, PriorityValue, describe_change};
use crate::commands::submit::{JobsToSubmitArgs, list};
use crate::commands::workers::describe;

/// An action of an operator. Those with values are typed as in a shell: "submit 20 --priority 5".
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true, disable_help_subcommand = true)]
pub(crate) enum OperatorAction {
    Submit(JobsToSubmitArgs),
    Priority {
        job: JobId,
        #[command(flatten)]
        value: PriorityValue,
    },
    VerifyMore {
        job: JobId,
        #[command(flatten)]
        more: MoreArgs,
    },
    #[command(skip)]
    Pause(JobId),
    #[command(skip)]
    Resume(JobId),
    #[command(skip)]
    Cancel(JobId),
    #[command(skip)]
    Workers(WorkersChange, Name),
}

impl OperatorAction {
    /// Parses a typed action. An expensive job needs `--yes`, as for `queens submit` without a terminal.
    pub(super) fn typed(text: &str) -> anyhow::Result<Self> {
        let action = Self::try_parse_from(text.split_whitespace()).map_err(|error| {
            let first = error.to_string().lines().next().unwrap_or_default().to_owned();
            anyhow::Error::msg(first.trim_start_matches("error: ").to_owned())
        })?;
        if let Self::Submit(args) = &action {
            args.check()?;
            if let Some(price) = args.unconfirmed_price() {
                anyhow::bail!("{price}; if you mean it, add --yes");
            }
        }
        Ok(action)
    }

    /// Carries out the action; returns a message on the result.
    pub(crate) async fn carry_out(&self, operator: &Operator) -> anyhow::Result<String> {
        let (job, change) = match self {
            Self::Submit(args) => {
                let submitted = args.submit(operator, |_, _| Ok(())).await?;
                return Ok(format!("submitted {}", list(&submitted)));
            }
            Self::Workers(action, name) => {
                let n_workers = operator.change_workers(name, *action).await?;
                return Ok(describe(*action, n_workers, name));
            }
            Self::VerifyMore { job, more } => {
                return Ok(describe_change(&more.carry_out(operator, *job).await?));
            }
            Self::Pause(job) => (job, JobChange::Pause(Empty {})),
            Self::Resume(job) => (job, JobChange::Resume(Empty {})),
            Self::Cancel(job) => (job, JobChange::Cancel(Empty {})),
            Self::Priority { job, value } => (job, JobChange::Priority(value.priority.get())),
        };
        Ok(describe_change(&operator.change_job(*job, change).await?))
    }

    /// Returns the question that the user must confirm.
    pub(super) fn question(&self) -> String {
        match self {
            Self::Pause(job) => format!("Pause job {job}?"),
            Self::Resume(job) => format!("Resume job {job}?"),
            Self::Cancel(job) => format!("Cancel job {job} for good?"),
            Self::Workers(action, name) => {
                let verb = match action {
                    WorkersChange::Drain(_) => "Drain",
                    WorkersChange::Block(_) => "Block",
                    WorkersChange::Unblock(_) => "Unblock",
                };
                format!("{verb} all workers named '{name}'?")
            }
            // The user has typed it.
            Self::Submit(_) | Self::Priority { .. } | Self::VerifyMore { .. } => String::new(),
        }
    }
}
