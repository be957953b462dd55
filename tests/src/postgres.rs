//! A PostgreSQL server of the test's own, on loopback.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::process::{Running, wait_until};
use crate::skipped;

/// Where Debian puts the programs.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";

/// A running server. Everybody on this machine may do everything with it.
#[derive(Debug)]
pub struct Postgres {
    // Dropped first: it is killed.
    running: Option<Running>,
    dir: TempDir,
    port: u16,
    user: (u32, u32),
}

impl Postgres {
    /// Makes a cluster and starts it with these settings besides; `None` if it is not installed.
    ///
    /// # Panics
    /// If it can't be started.
    #[must_use]
    pub fn start(settings: &str) -> Option<Self> {
        if !Path::new(PROGRAMS).is_dir() {
            skipped("a store in PostgreSQL, which is not installed");
            return None;
        }
        let user = user();
        let dir = tempfile::tempdir().expect("a temporary directory");
        // It refuses to run as root.
        chown(dir.path(), Some(user.0), Some(user.1)).expect("root gives a directory away");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("its owner may be root");
        let port =
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port();
        let mut server = Self { running: None, dir, port, user };
        let made = server
            .program("initdb")
            .args(["-D", "data", "-A", "trust", "-U", "queens", "-E", "UTF8"])
            .output();
        let made = made.expect("initdb can be run");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let config = format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = ''\n{settings}\n"
        );
        let file = server.path().join("data/postgresql.auto.conf");
        fs::write(file, config).expect("a file of settings");
        server.run();
        Some(server)
    }

    /// Starts it, as it was made, and waits until it answers.
    ///
    /// # Panics
    /// If it can't be started.
    pub fn run(&mut self) {
        let mut command = self.program("postgres");
        command.args(["-D", "data"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.running = Some(Running::start_redirected(&mut command));
        wait_until("PostgreSQL to answer", || self.sql("postgres", "SELECT 1").ok());
    }

    /// Kills it, as a power failure would.
    ///
    /// # Panics
    /// If it does not run.
    pub fn kill(&mut self) {
        // Its other processes end by themselves when this one is gone, and the next start waits for that.
        _ = self.running.take().expect("it runs").kill();
    }

    /// Makes a database and tells its address.
    ///
    /// # Panics
    /// If it can't be made.
    #[must_use]
    pub fn database(&self, name: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {name}")).expect("makes a database");
        format!("postgres://queens@127.0.0.1:{}/{name}", self.port)
    }

    /// What psql answers.
    ///
    /// # Errors
    /// What it complains about.
    ///
    /// # Panics
    /// If it can't be run.
    pub fn sql(&self, database: &str, sql: &str) -> Result<String, String> {
        let mut psql = self.program("psql");
        let port = self.port.to_string();
        psql.args([
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-U",
            "queens",
            "-qAtX",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            database,
        ]);
        let output = psql.args(["-c", sql]).output().expect("psql can be run");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// Its port on loopback.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its directory.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(Path::new(PROGRAMS).join(name));
        command.current_dir(self.dir.path()).uid(self.user.0).gid(self.user.1).env("LC_ALL", "C");
        command
    }
}

/// The user and group that the package has made.
fn user() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").expect("a list of users");
    let fields =
        users.lines().find_map(|line| line.strip_prefix("postgres:")).expect("the package has made it");
    let mut numbers = fields.split(':').skip(1).map(|number| number.parse().expect("a number"));
    (numbers.next().expect("a user"), numbers.next().expect("a group"))
}
