//! The commands of `queens-worker`: to join a campaign, and to talk to a worker that runs.

use clap::{Args, Subcommand};
use queens_model::Name;
use queens_program::{OutputArgs, print};
use queens_worker::control::{Request, client};
use tokio::runtime::Builder;

use crate::join::JoinArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Join a campaign by its link: get an invitation, keep it, and start to count
    ///
    /// Asks the coordinator for an invitation of your own, and keeps it with the coordinator's address and the pin of
    /// its key in your configuration directory, where only you can read it. From then on 'queens-worker' alone counts.
    /// The invitation is yours: use it on all of your machines, each with a name of its own.
    Join(JoinArgs),
    #[command(flatten)]
    Control(Control),
    /// Let the system start your worker when you log in, and start it now
    ///
    /// Writes a unit of your own systemd, on macOS an agent of launchd, on Windows a scheduled task. It counts by the
    /// options that 'queens-worker join' has kept. Overwrites no file that is not of this command.
    Install {
        /// Show the file and write nothing
        #[arg(long)]
        print: bool,
    },
    /// Stop what 'install' has started, and remove its file
    Uninstall,
}

/// Talks to a running worker of the same user on this machine.
#[derive(Debug, Subcommand)]
pub(crate) enum Control {
    /// Make your worker give its leases back and count nothing until 'resume'
    Pause(WorkerToControl),
    /// Let your worker count again
    Resume(WorkerToControl),
    /// Show what your worker does, or why it does not count
    Status {
        #[command(flatten)]
        worker: WorkerToControl,

        #[command(flatten)]
        output: OutputArgs,
    },
    /// Make your worker report its counts and end, as Ctrl-C does
    Stop(WorkerToControl),
}

/// Which of this user's running workers to control.
#[derive(Debug, Args)]
pub(crate) struct WorkerToControl {
    /// Name of the worker [default: the only one of yours that runs]
    #[arg(long, env = "QUEENS_NAME", value_name = "NAME")]
    pub(crate) name: Option<Name>,
}

/// Sends a request to the running worker, and prints its answer.
///
/// # Errors
/// If no worker answers, or the answer can't be printed.
pub(crate) fn control(command: Control) -> anyhow::Result<()> {
    let (request, worker, output) = match command {
        Control::Pause(worker) => (Request::Pause, worker, None),
        Control::Resume(worker) => (Request::Resume, worker, None),
        Control::Status { worker, output } => (Request::Status, worker, Some(output.output)),
        Control::Stop(worker) => (Request::Stop, worker, None),
    };
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let name = worker.name.map(|name| name.to_string());
    let status = runtime.block_on(client::request(request, name.as_deref()))?;
    match output {
        None => print(&format!("{}: {}", status.name, status.doing())),
        Some(output) => output.print(&status, || status.lines()),
    }
}
