//! Runs clusters of real processes on the loopback interface.

use std::borrow::BorrowMut;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use queens_solver::{BoardSize, published};
use serde_json::Value;

use crate::Port;
use crate::process::{Ended, Running, program, queens, run, wait_for, wait_until};
use crate::service::Service;
use crate::workers::worker;

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
    fn keeping(self, ports: Vec<Port>) -> Self {
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

    /// Waits until it ends by itself.
    ///
    /// # Panics
    /// Panics if it does not.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        self.service.wait()
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

    /// Waits until this text is in its log.
    ///
    /// # Panics
    /// Panics if that does not happen.
    #[track_caller]
    pub fn wait_for_log(&self, text: &str) {
        self.service.wait_for_log(text);
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

    /// Returns the answer of `queens` to these arguments, `--coordinator` and `--output json`.
    ///
    /// # Panics
    /// Panics if it fails.
    #[track_caller]
    #[must_use]
    pub fn json<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Value {
        run(self.queens_command(args).args(["--output", "json"])).answer()
    }

    /// Submits a job and returns its id.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    #[must_use]
    pub fn submit(&self, n: u8) -> String {
        self.submit_with(&[&n.to_string(), "--method", "search", "--yes"])
    }

    /// Submits a job by `queens submit` with these arguments, and returns its id.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    #[must_use]
    pub fn submit_with(&self, args: &[&str]) -> String {
        let answer = self.json([&["submit"], args].concat());
        answer["job"].as_str().expect("a job's id").to_owned()
    }

    /// Returns the answer of `queens status --output json` for a job.
    ///
    /// # Panics
    /// Panics if it fails.
    #[track_caller]
    #[must_use]
    pub fn status(&self, job: &str) -> Value {
        self.json(["status", job])
    }

    /// Returns the number of recorded subproblems of a job.
    ///
    /// # Panics
    /// Panics if `queens status` fails.
    #[track_caller]
    #[must_use]
    pub fn n_recorded(&self, job: &str) -> u128 {
        number(&self.status(job)["recorded"])
    }

    /// Waits until a job has records.
    ///
    /// # Panics
    /// Panics if that does not happen.
    #[track_caller]
    pub fn wait_for_records(&self, job: &str) {
        wait_for("records", || self.n_recorded(job) > 0);
    }

    /// Waits until a job is in this state.
    ///
    /// # Panics
    /// Panics if that does not happen.
    #[track_caller]
    pub fn wait_for_state(&self, job: &str, state: &str) -> Value {
        wait_until(state, || Some(self.status(job)).filter(|status| status["state"] == state))
    }

    /// Waits until a job is done, and returns its status.
    ///
    /// # Panics
    /// Panics if that does not happen.
    #[track_caller]
    pub fn done(&self, job: &str) -> Value {
        self.wait_for_state(job, "done")
    }

    /// Returns the connected workers, as `queens workers --output json` lists them.
    ///
    /// # Panics
    /// Panics if it fails.
    #[track_caller]
    #[must_use]
    pub fn workers(&self) -> Vec<Value> {
        self.json(["workers"]).as_array().expect("an array").clone()
    }

    /// Waits until this many workers are connected.
    ///
    /// # Panics
    /// Panics if they don't connect.
    #[track_caller]
    pub fn wait_for_workers(&self, n_workers: usize) {
        wait_for("workers", || self.workers().len() == n_workers);
    }
}

/// A board that takes any machine here some hours.
pub const LONG: u8 = 22;

/// Returns a number that JSON has in digits.
///
/// # Panics
/// Panics if it is none.
#[track_caller]
#[must_use]
pub fn number(value: &Value) -> u128 {
    value.as_str().and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("no number: {value}"))
}

/// Returns the recorded share of a job, from its status.
///
/// # Panics
/// Panics if the status has none.
#[track_caller]
#[must_use]
pub fn fraction(status: &Value) -> f64 {
    status["fraction"].as_f64().unwrap_or_else(|| panic!("no share: {status}"))
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

/// Returns a command that runs `queens-coordinator` on a data directory.
#[must_use]
pub fn coordinator_command(listen: &str, data_dir: &Path) -> Command {
    let mut command = program("queens-coordinator");
    command.args(["--listen", listen, "--data-dir"]).arg(data_dir);
    command
}
