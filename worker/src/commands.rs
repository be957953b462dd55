//! The commands that talk to a running worker.

use queens_runtime::print;
use queens_worker::control::{Request, client};
use tokio::runtime::Builder;

use crate::args::{Command, Output};

/// Runs a command and prints the worker's answer.
///
/// # Errors
/// If no worker answers, or the answer can't be printed.
pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    let (request, worker, output) = match command {
        Command::Pause(worker) => (Request::Pause, worker, None),
        Command::Resume(worker) => (Request::Resume, worker, None),
        Command::Status { worker, output } => (Request::Status, worker, Some(output)),
        Command::Stop(worker) => (Request::Stop, worker, None),
    };
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let name = worker.name.map(|name| name.to_string());
    let status = runtime.block_on(client::request(request, name.as_deref()))?;
    match output {
        None => print(&format!("{}: {}", status.name, status.doing())),
        Some(Output::Text) => print(&status.lines()),
        Some(Output::Json) => print(&serde_json::to_string(&status)?),
    }
}
