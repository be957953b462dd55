//! Runs clusters of containers from `docker-compose.yml`, with names and ports of their own.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::Once;

use rustix::process::geteuid;
use serde_json::Value;

use crate::binary::cargo;
use crate::cleanup::Undo;
use crate::port::Port;
use crate::process::{Ended, clean, is_installed, run, wait_for};
use crate::{REPOSITORY, TempDir, skipped, skipped_without_root};

const NO_ENGINE: &str = "no Docker engine answers";

/// A way to call Docker Compose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compose {
    /// `docker compose`
    Plugin,
    /// `docker-compose`
    Standalone,
}

impl Compose {
    /// Returns the ways that work here. Records the test as skipped if there is none.
    #[must_use]
    pub fn installed(what: &str) -> Vec<Self> {
        match Self::find() {
            Ok(installed) => return installed,
            // Only root may use its socket.
            Err(NO_ENGINE) if is_installed("docker") && !geteuid().is_root() => {
                skipped_without_root(&format!("{what}, as {NO_ENGINE}"));
            }
            Err(reason) => skipped(&format!("{what}, as {reason}")),
        }
        vec![]
    }

    fn find() -> Result<Vec<Self>, &'static str> {
        let works = |mut command: Command| {
            let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            silent.status().is_ok_and(|status| status.success())
        };
        let mut engine = Command::new("docker");
        engine.args(["version", "--format", "{{.Server.Version}}"]);
        if !works(engine) {
            return Err(NO_ENGINE);
        }
        let can_be_called = |compose: &Self| {
            let mut command = compose.command();
            command.arg("version");
            works(command)
        };
        let installed: Vec<Self> =
            [Self::Plugin, Self::Standalone].into_iter().filter(can_be_called).collect();
        if installed.is_empty() {
            return Err("there is no Docker Compose");
        }
        if !static_path("queens").exists() {
            return Err("the programs for its image are made by 'cargo static'");
        }
        Ok(installed)
    }

    fn command(self) -> Command {
        match self {
            Self::Plugin => {
                let mut command = Command::new("docker");
                command.arg("compose");
                command
            }
            Self::Standalone => Command::new("docker-compose"),
        }
    }
}

impl fmt::Display for Compose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plugin => "docker compose",
            Self::Standalone => "docker-compose",
        })
    }
}

/// A Docker Compose project. Dropping it removes everything that it created.
#[derive(Debug)]
pub struct Project {
    compose: Compose,
    name: String,
    port: Port,
    http_port: Port,
    prometheus_port: Port,
    grafana_port: Port,
    file: &'static str,
    // Removes the containers, then their image.
    undo: Vec<Undo>,
}

impl Project {
    /// Prepares the inputs of the image of `docker-compose.yml`. It starts nothing yet.
    ///
    /// # Panics
    /// Panics if the programs can't be built.
    #[must_use]
    pub fn new(compose: Compose) -> Self {
        Self::of_file(compose, "docker-compose.yml")
    }

    /// Prepares a project that uses another file beside that one.
    ///
    /// # Panics
    /// Panics if the programs can't be built.
    #[must_use]
    pub fn of_file(compose: Compose, file: &'static str) -> Self {
        _ = static_binary("queens");
        let [port, http_port, prometheus_port, grafana_port] = [(); 4].map(|()| Port::draw());
        // Several projects may run at the same time.
        let name = format!("queens-test-{}-{}", process::id(), port.number());
        let mut project =
            Self { compose, name, port, http_port, prometheus_port, grafana_port, file, undo: vec![] };
        project.undo = vec![Undo::by(|| project.down()), Undo::by(|| project.remove_images())];
        project
    }

    /// Returns its name, which is also its image's.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the port of its coordinator on this machine.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Returns the port of its coordinator's pages on this machine.
    #[must_use]
    pub fn http_port(&self) -> u16 {
        self.http_port.number()
    }

    /// Returns the port of its Prometheus on this machine.
    #[must_use]
    pub fn prometheus_port(&self) -> u16 {
        self.prometheus_port.number()
    }

    /// Returns a Docker Compose command with these arguments.
    #[must_use]
    pub fn compose<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = self.within(self.compose.command());
        // The slowest kernel leaves time for faults.
        command.env("QUEENS_KERNEL", "portable").args(args);
        command
    }

    /// Runs a document's commands in Bash, where `docker compose` is this project's Docker Compose. Returns the
    /// addresses that they opened with `xdg-open`.
    ///
    /// # Panics
    /// Panics if a command fails.
    #[track_caller]
    pub fn follow(&self, commands: &str) -> Vec<String> {
        let scratch = TempDir::new();
        let opened = scratch.join("opened");
        let mut script =
            format!("set -euo pipefail\nxdg-open() {{ echo \"$1\" >>'{}'; }}\n", opened.display());
        if self.compose == Compose::Standalone {
            script += "docker() { [ \"$1\" = compose ]; shift; docker-compose \"$@\"; }\n";
        }
        let mut bash = self.within(Command::new("bash"));
        bash.arg("-c").arg(script + commands).stdin(Stdio::null());
        successful(bash);
        fs::read_to_string(opened).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Builds an image of the Prometheus installed here, with the published image's defaults, for the profile
    /// `monitoring`: nothing can be pulled where the tests run. It also replaces Grafana's image, and exits there
    /// because it has no configuration.
    ///
    /// # Panics
    /// Panics if it can't be built.
    pub fn build_prometheus(&self) {
        let context = TempDir::new();
        let find = "cp -L --parents $(command -v prometheus) $(ldd $(command -v prometheus) | grep -o '/[^ ]*') \"$1\"";
        let mut copy = Command::new("bash");
        copy.args(["-ec", find, "bash"]).arg(context.path());
        successful(copy);
        let dockerfile = "FROM scratch AS data\nWORKDIR /data/prometheus\nFROM scratch\n\
                          COPY --from=data --chown=65534:65534 /data/ /\nCOPY . /\nUSER 65534:65534\n\
                          VOLUME /prometheus\nWORKDIR /prometheus\nENTRYPOINT [\"/usr/bin/prometheus\"]\n\
                          CMD [\"--config.file=/etc/prometheus/prometheus.yml\", \"--storage.tsdb.path=/prometheus\"]\n";
        fs::write(context.join("Dockerfile"), dockerfile).expect("written");
        let mut build = docker_command(["build", "--quiet", "--tag", &self.prometheus_image()]);
        build.arg(context.path());
        successful(build);
    }

    fn prometheus_image(&self) -> String {
        format!("{}-prometheus", self.name)
    }

    /// Sets the environment of this project and the directory of its files.
    fn within(&self, command: Command) -> Command {
        let mut command = clean(command);
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("COMPOSE_")) {
            command.env_remove(name);
        }
        command.env("COMPOSE_FILE", self.file).env("COMPOSE_PROJECT_NAME", &self.name);
        command.env("QUEENS_BINARIES", "ready").env("QUEENS_IMAGE", &self.name);
        command.env("QUEENS_PROMETHEUS_IMAGE", self.prometheus_image());
        command.env("QUEENS_GRAFANA_IMAGE", self.prometheus_image());
        for (variable, port) in [
            ("QUEENS_PORT", &self.port),
            ("QUEENS_HTTP_PORT", &self.http_port),
            ("QUEENS_PROMETHEUS_PORT", &self.prometheus_port),
            ("QUEENS_GRAFANA_PORT", &self.grafana_port),
        ] {
            command.env(variable, port.number().to_string());
        }
        command.current_dir(REPOSITORY);
        command
    }

    /// Runs Docker Compose with these arguments.
    ///
    /// # Panics
    /// Panics if it fails.
    #[track_caller]
    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ended {
        successful(self.compose(args))
    }

    /// Returns the containers of a service, including those that have stopped.
    ///
    /// # Panics
    /// Panics if the engine does not answer.
    #[track_caller]
    #[must_use]
    pub fn containers(&self, service: &str) -> Vec<Container> {
        let service = format!("label=com.docker.compose.service={service}");
        let ids = docker(["ps", "--all", "--quiet", "--filter", &self.label(), "--filter", &service]);
        ids.lines().map(|id| Container(id.to_owned())).collect()
    }

    /// Returns the JSON answer of `queens` with these arguments, run outside of the containers, or `None` if it fails.
    #[must_use]
    pub fn ask(&self, args: &[&str]) -> Option<Value> {
        let mut command = clean(Command::new(static_binary("queens")));
        command.args(args).args(["--output", "json"]);
        command.args(["--coordinator", &format!("http://{}", self.port.address())]);
        let outcome = run(command);
        outcome.status.success().then(|| outcome.answer())
    }

    /// Returns its remains on this machine: containers, volumes, networks and the image.
    ///
    /// # Panics
    /// Panics if the engine does not answer.
    #[track_caller]
    #[must_use]
    pub fn remains(&self) -> String {
        let label = self.label();
        let image = format!("reference={}*", self.name);
        [
            docker(["ps", "--all", "--quiet", "--filter", &label]),
            docker(["volume", "ls", "--quiet", "--filter", &label]),
            docker(["network", "ls", "--quiet", "--filter", &label]),
            docker(["image", "ls", "--quiet", "--filter", &image]),
        ]
        .concat()
    }

    /// Removes all of its remains.
    pub fn remove(&self) {
        for mut command in [self.down(), self.remove_images()] {
            // A failure shows in the remains.
            _ = command.stdin(Stdio::null()).output();
        }
    }

    fn down(&self) -> Command {
        self.compose(["--profile", "monitoring", "down", "--volumes", "--remove-orphans", "--timeout", "1"])
    }

    fn remove_images(&self) -> Command {
        docker_command(["image", "rm", "--force", &self.name, &self.prometheus_image()])
    }

    fn label(&self) -> String {
        format!("label=com.docker.compose.project={}", self.name)
    }
}

/// A container, by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container(String);

impl Container {
    /// Returns its description by `docker inspect`.
    ///
    /// # Panics
    /// Panics if it is gone.
    #[track_caller]
    #[must_use]
    pub fn inspect(&self) -> Value {
        inspect(&self.0)
    }

    /// Runs `docker` with this container as its last argument.
    ///
    /// # Panics
    /// Panics if it fails.
    #[track_caller]
    pub fn docker(&self, args: &[&str]) {
        docker(args.iter().copied().chain([self.0.as_str()]));
    }

    /// Waits until its health check succeeds.
    ///
    /// # Panics
    /// Panics if it does not.
    #[track_caller]
    pub fn wait_until_healthy(&self) {
        wait_for("a healthy container", || self.inspect()["State"]["Health"]["Status"] == "healthy");
    }
}

/// Returns the description of a container or image by `docker inspect`.
///
/// # Panics
/// Panics if it does not exist.
#[track_caller]
#[must_use]
pub fn inspect(what: &str) -> Value {
    let mut found: Vec<Value> = serde_json::from_str(&docker(["inspect", what])).expect("a list in JSON");
    found.pop().expect("one was asked for")
}

#[track_caller]
fn docker<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> String {
    successful(docker_command(args)).stdout
}

fn docker_command<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new("docker");
    command.args(args);
    command
}

#[track_caller]
fn successful(command: Command) -> Ended {
    let what = format!("{command:?}");
    let outcome = run(command);
    assert!(outcome.status.success(), "{what}: {outcome:?}");
    outcome
}

/// Returns the path of a program built by `cargo static`, which runs first, once per process.
fn static_binary(name: &str) -> PathBuf {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        let mut build = cargo();
        // The Dockerfile's path, whatever the environment says.
        build.args(["static", "--quiet", "--target-dir", "target"]).current_dir(REPOSITORY);
        build.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        let output = build.output().expect("cargo can be run");
        assert!(output.status.success(), "{build:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    });
    static_path(name)
}

fn static_path(name: &str) -> PathBuf {
    Path::new(REPOSITORY).join("target/x86_64-unknown-linux-gnu/release").join(name)
}
