//! `queens workers`: lists a coordinator's workers, and drains or blocks them.

use queens_model::json::Worker;
use queens_model::{Name, WorkerState, WorkerStatus};
use queens_proto::client::WorkersChange;
use queens_proto::pb::Empty;
use serde_json::{Value, json};
use tracing::warn;

use crate::flags::RemoteArgs;
use crate::present::table::table;
use crate::present::work::speeds;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct WorkersArgs {
    #[command(subcommand)]
    command: Option<WorkersCommand>,

    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, clap::Subcommand)]
enum WorkersCommand {
    /// Drain all workers of a name: they report their work in progress, and their processes end
    Drain(WorkerArgs),

    /// Give no work to workers of a name, now and after each reconnection
    Block(WorkerArgs),

    /// Give work to workers of a blocked name again
    Unblock(WorkerArgs),
}

#[derive(Debug, clap::Args)]
struct WorkerArgs {
    /// Name of the workers, as 'queens workers' lists it; by default, the name of their machine
    #[arg(value_name = "NAME")]
    name: Name,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Runs the command.
pub(crate) async fn run(args: &WorkersArgs) -> anyhow::Result<()> {
    match &args.command {
        None => list_workers(&args.remote).await,
        Some(WorkersCommand::Drain(args)) => change_workers(args, WorkersChange::Drain(Empty {})).await,
        Some(WorkersCommand::Block(args)) => change_workers(args, WorkersChange::Block(Empty {})).await,
        Some(WorkersCommand::Unblock(args)) => change_workers(args, WorkersChange::Unblock(Empty {})).await,
    }
}

/// Changes all workers of a name and prints the result.
async fn change_workers(args: &WorkerArgs, change: WorkersChange) -> anyhow::Result<()> {
    let name = &args.name;
    let operator = args.remote.connect().await?;
    let n_workers = operator.change_workers(name, change).await?;
    let answer = json!({ "name": name.as_str(), "workers": n_workers });
    args.remote.output().print(&answer, || describe(change, n_workers, name))
}

/// Describes the result of a change for this many workers of a name.
pub(crate) fn describe(change: WorkersChange, n_workers: u64, name: &Name) -> String {
    let done = match change {
        WorkersChange::Drain(_) => "draining",
        WorkersChange::Block(_) => "blocked",
        WorkersChange::Unblock(_) => "not blocked",
    };
    match n_workers {
        0 => format!("workers named '{name}': {done}; there is none at present"),
        1 => format!("1 worker named '{name}': {done}"),
        _ => format!("{n_workers} workers named '{name}': {done}"),
    }
}

async fn list_workers(args: &RemoteArgs) -> anyhow::Result<()> {
    let (mut workers, mut absent) = args.connect().await?.workers_and_blocked().await?;
    order(&mut workers, &mut absent);
    let blocked =
        absent.iter().map(|name| json!({ "name": name.as_str(), "state": "blocked", "connected": false }));
    let answer = workers.iter().map(|worker| serde_json::to_value(Worker::from(worker)));
    let answer: Vec<Value> = answer.chain(blocked.map(Ok)).collect::<Result<_, _>>()?;
    args.output().print(&answer, || {
        if answer.is_empty() {
            return format!("no workers; {}", args.coordinator.how_to_add_a_worker());
        }
        for worker in &workers {
            if let Some(failure) = &worker.failure {
                let what = if worker.state == WorkerState::Blocked { "is blocked" } else { "failed" };
                warn!("worker {} {what}: {failure}", worker.name);
            }
        }
        workers_table(&workers, &absent)
    })
}

/// Sorts workers by their names, and keeps of the blocked names those without a worker.
pub(crate) fn order(workers: &mut [WorkerStatus], blocked: &mut Vec<Name>) {
    workers.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
    blocked.retain(|name| workers.binary_search_by(|worker| worker.name.cmp(name)).is_err());
}

/// Formats the workers that are or were recently connected, and the blocked names without a worker.
pub(crate) fn workers_table(workers: &[WorkerStatus], absent: &[Name]) -> String {
    let row = |worker: &WorkerStatus| {
        let counting = worker.counting.map(|it| format!("job {} part {}", it.job, it.span.part()));
        let heard = format!("{:.0} s ago", worker.silent.as_secs_f64());
        [
            worker.name.to_string(),
            worker.state.name().to_owned(),
            worker.kernel.to_string(),
            worker.n_threads.to_string(),
            speeds(worker.speed),
            worker.n_leases.to_string(),
            counting.unwrap_or_default(),
            worker.n_recorded.to_string(),
            worker.sensors.to_string(),
            if worker.connected { heard } else { format!("{heard}, connection lost") },
            worker.build.to_string(),
        ]
    };
    let absent = absent.iter().map(|name| {
        [name.as_str(), "blocked", "", "", "", "", "", "", "", "not connected", ""].map(str::to_owned)
    });
    let headings = [
        "NAME",
        "STATE",
        "KERNEL",
        ">THREADS",
        ">SPEED",
        ">LEASES",
        "COUNTING",
        ">RECORDED",
        "?SENSORS",
        "HEARD OF",
        "BUILD",
    ];
    table(headings, workers.iter().map(row).chain(absent))
}

#[cfg(test)]
mod tests {
    use queens_model::CardSensors;

    use super::*;
    use crate::top::tests::worker;

    #[test]
    fn sensors_are_listed_if_a_worker_has_a_card() {
        let mut workers = [worker(1, "anna"), worker(2, "anna-cuda:0")];
        let listed = |workers: &[WorkerStatus]| workers_table(workers, &[]);
        assert!(!listed(&workers).contains("SENSORS"));
        workers[1].sensors = CardSensors::new(Some(46), Some(72), Some(1980));
        let lines = listed(&workers);
        assert!(lines.contains("SENSORS") && lines.contains("  46 °C, 72 W, 1980 MHz  "), "{lines}");
    }
}
