//! Slurm on loopback: a controller and two nodes, each with its own process namespace, to kill all of it.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, iter};

use queens_tests::prelude::*;

const CONFIGURATION: &str = include_str!("slurm.conf");

/// Its nodes.
pub(crate) const NODES: [&str; 2] = ["n1", "n2"];

/// A running Slurm. Dropping it ends everything that it has started.
pub(crate) struct Slurm {
    dir: PathBuf,
    work: [Option<Running>; 2],
    _services: Vec<Running>,
}

impl Slurm {
    /// Whether PostgreSQL is installed.
    pub(crate) fn is_installed() -> bool {
        ["slurmctld", "slurmd", "sbatch", "munged"].into_iter().all(is_installed)
    }

    /// Whether nodes can be created: that needs the right to create namespaces.
    pub(crate) fn can_be_started() -> bool {
        let mut nothing = apart(Path::new("/"), "true", &[]);
        nothing.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        nothing.status().is_ok_and(|status| status.success())
    }

    /// Starts it in an empty directory.
    #[track_caller]
    pub(crate) fn start(dir: &Path) -> Self {
        let ports = [(); 3].map(|()| Port::draw());
        let mut text = CONFIGURATION.replace("@DIR@", dir.to_str().expect("UTF-8"));
        for (word, port) in iter::zip(["@CONTROLLER@", "@N1@", "@N2@"], ports) {
            text = text.replace(word, &port.number().to_string());
        }
        fs::write(dir.join("slurm.conf"), text).expect("written");
        for name in ["state", "spool-n1", "spool-n2"] {
            fs::create_dir(dir.join(name)).expect("a directory");
        }
        let key = dir.join("munge.key");
        // A secret, even in a test.
        _ = run(command(dir, "head", &["--bytes=512", "/dev/urandom"], &key)).good();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("ours");

        let munge = ["socket", "key-file", "pid-file", "log-file", "seed-file"].map(|what| {
            let kind = what.trim_end_matches("-file");
            format!("--{what}={}", dir.join(format!("munge.{kind}")).display())
        });
        let mut arguments = vec!["--force", "--foreground"];
        arguments.extend(munge.iter().map(String::as_str));
        let munged = started(dir, "munged", &arguments);
        wait_for("munged", || dir.join("munge.socket").exists());
        let controller = started(dir, "slurmctld", &["-D"]);
        let mut slurm = Self { dir: dir.to_owned(), work: [None, None], _services: vec![controller, munged] };
        NODES.into_iter().for_each(|node| slurm.start_node(node));
        for node in NODES {
            slurm.wait_for_node(node);
        }
        slurm
    }

    /// Starts a node.
    #[track_caller]
    pub(crate) fn start_node(&mut self, node: &str) {
        let log = log(&self.dir, node);
        let mut command = apart(&self.dir, "slurmd", &["-D", "-N", node]);
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a file")).stderr(log);
        *self.node(node) = Some(Running::start_redirected(&mut command));
    }

    /// Waits until a node has room.
    #[track_caller]
    pub(crate) fn wait_for_node(&self, node: &str) {
        wait_until("a node", || {
            (self.ask("sinfo", &["-h", "-n", node, "-o", "%t"]).lines().next()? == "idle").then_some(())
        });
    }

    /// Kills a node with all that runs on it.
    #[track_caller]
    pub(crate) fn kill_node(&mut self, node: &str) {
        self.node(node).take().expect("it runs").kill();
    }

    fn node(&mut self, node: &str) -> &mut Option<Running> {
        &mut self.work[NODES.iter().position(|name| *name == node).expect("a node of ours")]
    }

    /// Returns the output of one of Slurm's programs.
    #[track_caller]
    pub(crate) fn ask(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = environment(Command::new(program), &self.dir);
        command.args(arguments).current_dir(&self.dir);
        let ended = run(command);
        assert!(ended.status.success(), "{program} {arguments:?}: {ended:?}");
        ended.stdout
    }

    /// Returns the output of all services, to explain a failure.
    pub(crate) fn logs(&self) -> String {
        let names = ["munged", "slurmctld"].into_iter().chain(NODES);
        names
            .map(|name| fs::read_to_string(self.dir.join(name).with_extension("out")).unwrap_or_default())
            .collect()
    }
}

#[track_caller]
fn started(dir: &Path, program: &str, arguments: &[&str]) -> Running {
    let log = log(dir, program);
    let mut command = environment(Command::new(program), dir);
    command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone().expect("a file")).stderr(log);
    Running::start_redirected(&mut command)
}

/// Returns a command whose output goes to a file.
fn command(dir: &Path, program: &str, arguments: &[&str], output: &Path) -> Command {
    let mut shell = environment(Command::new("sh"), dir);
    shell.args(["-c", "output=$1; shift; umask 077; exec \"$@\" >\"$output\"", "sh"]);
    shell.arg(output).arg(program).args(arguments);
    shell
}

/// Returns a command in its own process namespace; its processes end with it.
fn apart(dir: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = environment(Command::new("unshare"), dir);
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc", program]).args(arguments);
    command
}

/// Sets Slurm's configuration, and puts our programs first on the path.
fn environment(command: Command, dir: &Path) -> Command {
    let mut command = clean(command);
    let programs = binary("queens-worker").parent().expect("programs lie in a directory").to_owned();
    let usual = env::var_os("PATH").unwrap_or_default();
    let all = [programs].into_iter().chain(env::split_paths(&usual));
    command.env("PATH", env::join_paths(all).expect("a path")).env("SLURM_CONF", dir.join("slurm.conf"));
    command
}

fn log(dir: &Path, name: &str) -> File {
    File::options().create(true).append(true).open(dir.join(name).with_extension("out")).expect("a log")
}
