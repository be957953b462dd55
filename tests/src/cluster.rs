//! Runs clusters of real processes on the loopback interface.

use std::borrow::BorrowMut;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use queens_solver::{BoardSize, Kernel, published};
use serde_json::Value;

use crate::process::{Ended, Running, clean, program, queens, run, wait_for, wait_until};
use crate::service::Service;
use crate::{Port, TempDir};

/// A running coordinator in a new directory. It ends before the directory goes.
#[derive(Debug)]
pub struct Scenario {
    /// Its data directory.
    pub data_dir: PathBuf,
    /// The coordinator.
    pub coordinator: Coordinator,
    /// Holds the data directory, and what else a test puts there.
    pub scratch: TempDir,
}

impl Scenario {
    /// Starts a coordinator.
    ///
    /// # Panics
    /// Panics if it does not log that it listens.
    #[track_caller]
    #[must_use]
    pub fn start() -> Self {
        Self::of(Coordinator::start)
    }

    /// Starts a coordinator that also serves HTTP.
    ///
    /// # Panics
    /// Panics if it does not log that it listens.
    #[track_caller]
    #[must_use]
    pub fn with_http() -> Self {
        Self::of(Coordinator::start_with_http)
    }

    /// Starts a coordinator with these arguments.
    ///
    /// # Panics
    /// Panics if it does not log that it listens.
    #[track_caller]
    #[must_use]
    pub fn with<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Self {
        Self::of(|data_dir| {
            Coordinator::start_command(coordinator_command("127.0.0.1:0", data_dir).args(args), data_dir)
        })
    }

    #[track_caller]
    fn of(start: impl FnOnce(&Path) -> Coordinator) -> Self {
        let scratch = TempDir::new();
        let data_dir = scratch.path().join("data");
        Self { coordinator: start(&data_dir), data_dir, scratch }
    }
}

/// A running `queens-coordinator`.
#[derive(Debug)]
pub struct Coordinator {
    service: Service,
    address: String,
    data_dir: PathBuf,
    /// Its reserved ports: first the workers' port.
    ports: Vec<Port>,
}

impl Coordinator {
    /// Starts a coordinator on a data directory. It keeps its port across restarts.
    ///
    /// # Panics
    /// Panics if it does not log that it listens.
    #[track_caller]
    #[must_use]
    pub fn start(data_dir: &Path) -> Self {
        Self::start_on(Port::draw(), data_dir)
    }

    /// Starts a coordinator on a reserved port.
    ///
    /// # Panics
    /// Panics if it does not log that it listens.
    #[track_caller]
    #[must_use]
    pub fn start_on(port: Port, data_dir: &Path) -> Self {
        let address = port.address();
        Self::start_listening(&address, data_dir).keeping(vec![port])
    }

    /// Starts a coordinator that listens on this address.
    ///
    /// # Panics
    /// Panics if it does not log that it listens.
    #[track_caller]
    #[must_use]
    pub fn start_listening(listen: &str, data_dir: &Path) -> Self {
        Self::start_command(coordinator_command(listen, data_dir), data_dir)
    }

    /// Starts a coordinator by a command that names this data directory.
    ///
    /// # Panics
    /// Panics if it does not log that it listens.
    #[track_caller]
    #[must_use]
    pub fn start_command(command: impl BorrowMut<Command>, data_dir: &Path) -> Self {
        // Beside the data directory, in which only the program may create files.
        let mut service = Service::start(command, &data_dir.with_extension("log"));
        let address = service.logged("listening address=");
        Self { service, address, data_dir: data_dir.to_owned(), ports: vec![] }
    }

    /// Starts a coordinator on a data directory that also serves HTTP, on free ports.
    ///
    /// # Panics
    /// Panics if it does not log that it listens.
    #[track_caller]
    #[must_use]
    pub fn start_with_http(data_dir: &Path) -> Self {
        Self::start_with_http_on(vec![Port::draw(), Port::draw()], data_dir)
    }

    /// Starts a coordinator that also serves HTTP, on reserved ports.
    ///
    /// # Panics
    /// Panics if it does not log that it listens.
    #[track_caller]
    #[must_use]
    pub fn start_with_http_on(ports: Vec<Port>, data_dir: &Path) -> Self {
        let mut command = coordinator_command(&ports[0].address(), data_dir);
        command.args(["--http", &ports[1].address()]);
        Self::start_command(command, data_dir).keeping(ports)
    }

    /// Returns host and port of its HTTP server.
    ///
    /// # Panics
    /// Panics if it does not.
    #[track_caller]
    #[must_use]
    pub fn http(&self) -> String {
        let log = self.log();
        let url = log.split_once("dashboard url=\"http").and_then(|(_, rest)| rest.split_once("://"));
        let address = url.and_then(|(_, rest)| rest.split_once('/'));
        address.expect("it was started with --http").0.to_owned()
    }

    /// Returns its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns host and port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns its reserved ports: the workers' port, then the port of the pages if it has one.
    #[must_use]
    pub fn ports(&self) -> Vec<Port> {
        self.ports.clone()
    }

    /// Makes it hold these ports.
    #[must_use]
    pub fn keeping(self, ports: Vec<Port>) -> Self {
        Self { ports, ..self }
    }

    /// Returns its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.service.id()
    }

    /// Kills it with SIGKILL and starts another coordinator on the same data directory and port.
    ///
    /// # Panics
    /// Panics if it has ended before, or the other does not start.
    #[track_caller]
    #[must_use]
    pub fn kill_and_restart(self) -> Self {
        let data_dir = self.data_dir.clone();
        self.kill_and_restart_on(&data_dir)
    }

    /// Kills it with SIGKILL and starts another coordinator on the same port and another data directory.
    ///
    /// # Panics
    /// Panics if it has ended before, or the other does not start.
    #[track_caller]
    #[must_use]
    pub fn kill_and_restart_on(self, data_dir: &Path) -> Self {
        self.service.kill();
        Self::start_listening(&self.address, data_dir).keeping(self.ports)
    }

    /// Kills it with SIGKILL.
    ///
    /// # Panics
    /// Panics if it has ended before.
    #[track_caller]
    pub fn kill(self) {
        self.service.kill();
    }

    /// Stops it with SIGTERM.
    ///
    /// # Panics
    /// Panics if it does not exit successfully.
    #[track_caller]
    pub fn stop(self) {
        self.service.stop();
    }

    /// Sends it a signal: `"STOP"` or `"CONT"`.
    ///
    /// # Panics
    /// Panics if it has ended.
    #[track_caller]
    pub fn signal(&mut self, name: &str) {
        self.service.signal(name);
    }

    /// Returns its log since its start.
    ///
    /// # Panics
    /// Panics if the log can't be read.
    #[must_use]
    pub fn log(&self) -> String {
        self.service.log()
    }

    /// Starts a [`worker`] that connects to it.
    #[track_caller]
    #[must_use]
    pub fn worker(&self, name: &str) -> Running {
        worker(&self.url(), name)
    }

    /// Runs `queens` with these arguments and `--coordinator`.
    #[track_caller]
    pub fn queens<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ended {
        run(self.queens_command(args))
    }

    /// Returns a command that runs `queens` with these arguments and `--coordinator`.
    #[must_use]
    pub fn queens_command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = queens(args);
        command.args(["--coordinator", &self.url()]);
        command
    }

    /// Submits a job and returns its id.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    #[must_use]
    pub fn submit(&self, n: u8) -> String {
        let answer = self
            .queens(["submit", &n.to_string(), "--method", "search", "--yes", "--output", "json"])
            .answer();
        answer["job"].as_str().expect("a job's id").to_owned()
    }

    /// Returns the answer of `queens status --output json` for a job.
    ///
    /// # Panics
    /// Panics if it fails.
    #[track_caller]
    #[must_use]
    pub fn status(&self, job: &str) -> Value {
        self.queens(["status", job, "--output", "json"]).answer()
    }

    /// Waits until a job is done, and returns its status.
    ///
    /// # Panics
    /// Panics if that does not happen.
    #[track_caller]
    pub fn done(&self, job: &str) -> Value {
        wait_until("the end of a job", || Some(self.status(job)).filter(|status| status["state"] == "done"))
    }

    /// Waits until this many workers are connected.
    ///
    /// # Panics
    /// Panics if they don't connect.
    #[track_caller]
    pub fn wait_for_workers(&self, n_workers: usize) {
        wait_for("workers", || {
            let workers = self.queens(["workers", "--output", "json"]).answer();
            workers.as_array().expect("an array").len() == n_workers
        });
    }
}

/// Returns the published number of solutions, in digits.
///
/// # Panics
/// Panics if none is published.
#[must_use]
pub fn solutions(n: u8) -> String {
    let n = BoardSize::new(n).expect("a board size");
    published(n).expect("published").solutions.to_string()
}

/// Starts a worker with one thread and the slowest kernel, which counts for 3 % of the time: so there is time for
/// faults on a small board. Tests wait most of the time, and share the processors.
#[track_caller]
#[must_use]
pub fn worker(url: &str, name: &str) -> Running {
    let mut command = worker_command(url, name, Kernel::Portable);
    command.args(SLOWLY);
    start(&command)
}

/// Makes a worker count for a small part of the time.
pub const SLOWLY: [&str; 2] = ["--cpu", "3"];

/// Starts a worker that counts at full speed on one thread, to finish a job.
#[track_caller]
#[must_use]
pub fn fast_worker(url: &str) -> Running {
    worker_with(url, "fast", Kernel::best())
}

/// Starts a worker with one thread and this kernel. It has a low priority where processors are short: most tests let it
/// count while they wait for something else.
#[track_caller]
#[must_use]
pub fn worker_with(url: &str, name: &str, kernel: Kernel) -> Running {
    start(&worker_command(url, name, kernel))
}

#[track_caller]
fn start(worker: &Command) -> Running {
    Running::start_redirected(
        clean(Command::new("nice"))
            .args(["-n", "5"])
            .arg(worker.get_program())
            .args(worker.get_args())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null()),
    )
}

/// Returns a command that runs `queens-worker` with one thread and this kernel.
#[must_use]
pub fn worker_command(url: &str, name: &str, kernel: Kernel) -> Command {
    let mut command = program("queens-worker");
    command.args(["--coordinator", url, "--name", name, "--threads", "1", "--kernel", kernel.name()]);
    command
}

/// Returns a command that runs `queens-coordinator` on a data directory.
#[must_use]
pub fn coordinator_command(listen: &str, data_dir: &Path) -> Command {
    let mut command = program("queens-coordinator");
    command.args(["--listen", listen, "--data-dir"]).arg(data_dir);
    command
}
