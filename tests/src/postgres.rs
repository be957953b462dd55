//! Runs PostgreSQL servers on the loopback interface: single ones, and standbys that replicate them.

mod archive;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cleanup::Undo;
use crate::cluster::coordinator_command;
use crate::disk::SmallDisk;
use crate::process::{Running, program, run, wait_for, wait_until};
use crate::{Port, TempDir, skipped};

/// Debian's directory of the programs, with a directory for each version.
const PROGRAMS: &str = "/usr/lib/postgresql";

/// The superuser of every server.
const USER: &str = "queens";

/// A running server. Everybody on this machine has all permissions as the user `queens`.
#[derive(Debug)]
pub struct Postgres {
    // Dropped first: kills all its processes, whose children leave its process group.
    kill: Option<Undo>,
    running: Option<Running>,
    dir: TempDir,
    port: Port,
    programs: PathBuf,
    /// The server's user and group, if root runs these tests.
    owner: Option<(u32, u32)>,
}

impl Postgres {
    /// Whether PostgreSQL is installed.
    #[must_use]
    pub fn is_installed() -> bool {
        programs().is_some()
    }

    /// Creates a cluster and starts it with these additional settings; `None` if PostgreSQL is not installed.
    ///
    /// # Panics
    /// Panics if it can't be started.
    #[must_use]
    pub fn start(settings: &str) -> Option<Self> {
        Self::start_guarded(settings, "", None)
    }

    /// Starts a server with these additional settings and a database, and returns the address of that as well; `None` if
    /// PostgreSQL is not installed.
    ///
    /// # Panics
    /// Panics if that fails.
    #[must_use]
    pub fn with_database(settings: &str, name: &str) -> Option<(Self, String)> {
        let server = Self::start(settings)?;
        let address = server.database(name);
        Some((server, address))
    }

    /// Starts a server with access rules that precede the usual ones. It uses TLS with the `server.pem` and `server.key`
    /// of a directory, if one is given.
    ///
    /// # Panics
    /// Panics if it can't be started.
    #[must_use]
    pub fn start_guarded(settings: &str, rules: &str, keys: Option<&Path>) -> Option<Self> {
        let Some(programs) = programs() else {
            skipped("a store in PostgreSQL, which is not installed");
            return None;
        };
        let mut server = Self::in_new_directory(programs);
        server.carry_out("initdb", &["-D", "data", "-A", "trust", "-U", USER, "-E", "UTF8"]);
        let mut settings = format!("unix_socket_directories = ''\n{settings}\n");
        if let Some(keys) = keys {
            for name in ["server.pem", "server.key"] {
                let copy = server.path().join(name);
                fs::copy(keys.join(name), &copy).expect("a file of the directory");
                server.give(&copy);
                fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).expect("it is there");
            }
            settings += "ssl = on\nssl_cert_file = '../server.pem'\nssl_key_file = '../server.key'\n";
        }
        let usual = server.path().join("data/pg_hba.conf");
        let all = format!("{rules}\n{}", fs::read_to_string(&usual).expect("initdb has made it"));
        fs::write(usual, all).expect("a file of rules");
        server.set_up("alone", &settings);
        server.run();
        Some(server)
    }

    /// Creates a named standby that replicates this server and can replace it.
    ///
    /// # Panics
    /// Panics if that fails.
    #[must_use]
    pub fn standby(&self, name: &str) -> Self {
        let mut server = Self::in_new_directory(self.programs.clone());
        let port = self.port.number().to_string();
        let from = ["-h", "127.0.0.1", "-p", &port, "-U", USER];
        let how = ["-D", "data", "-R", "-X", "stream", "-c", "fast"];
        server.carry_out("pg_basebackup", &[&from[..], &how[..]].concat());
        server.set_up(name, "");
        server.run();
        server
    }

    /// Creates a server's directory and address.
    fn in_new_directory(programs: PathBuf) -> Self {
        let dir = TempDir::new();
        let server = Self { kill: None, running: None, dir, port: Port::draw(), programs, owner: owner() };
        server.give(server.dir.path());
        fs::set_permissions(server.dir.path(), fs::Permissions::from_mode(0o755)).expect("it is there");
        server
    }

    /// Makes the server's user the owner of a file.
    fn give(&self, path: &Path) {
        if let Some((user, group)) = self.owner {
            chown(path, Some(user), Some(group)).expect("root gives a file away");
        }
    }

    /// Appends its own settings: the last value of a setting counts.
    fn set_up(&self, name: &str, settings: &str) {
        let file = self.path().join("data/postgresql.auto.conf");
        let before = fs::read_to_string(&file).expect("a file of settings");
        let port = self.port.number();
        let own = format!("listen_addresses = '127.0.0.1'\nport = {port}\ncluster_name = '{name}'\n");
        // In files of its directory: a killed server leaves memory behind.
        let own = format!("{own}dynamic_shared_memory_type = 'mmap'\n");
        fs::write(file, format!("{before}\n{own}{settings}")).expect("a file of settings");
    }

    /// Starts the server on its existing directory, and waits until it answers.
    ///
    /// # Panics
    /// Panics if it can't be started.
    pub fn run(&mut self) {
        let mut command = self.program("postgres");
        command.args(["-D", "data"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let running = Running::start_redirected(&mut command);
        let id = running.id();
        self.running = Some(running);
        let lock = self.path().join("data/postmaster.pid");
        self.kill = Some(Undo::by(|| {
            let mut kill = Command::new("sh");
            // No process can act between two signals. Some may have just ended. The seventh line of the lock file has
            // the number of the segment of shared memory that a killed server leaves behind.
            let all = format!(
                "kill -s STOP {id}; kill -s KILL {id} $(cat /proc/{id}/task/{id}/children); \
                 ipcrm -m $(sed -n '7s/.* //p' \"$0\")"
            );
            kill.args(["-c", &all]).arg(&lock);
            kill
        }));
        wait_until("PostgreSQL to answer", || self.sql("postgres", "SELECT 1").ok());
    }

    /// Kills all of its processes at once, like a power failure.
    ///
    /// # Panics
    /// Panics if it does not run.
    pub fn kill(&mut self) {
        let server = self.running.take().expect("it runs");
        drop(self.kill.take());
        _ = server.wait();
    }

    /// Waits until it ends by itself.
    ///
    /// # Panics
    /// Panics if it does not.
    pub fn wait_for_end(&mut self) {
        let server = self.running.take().expect("it runs");
        let state = format!("/proc/{}/stat", server.id());
        // While nobody reaps it, its id belongs to no other process.
        wait_until("the end of the server", || {
            fs::read_to_string(&state).ok()?.contains(") Z ").then_some(())
        });
        drop(self.kill.take());
        _ = server.wait();
    }

    /// Mounts a small file system of this many KiB in a directory that the server owns; `None` without the right to
    /// mount.
    ///
    /// # Panics
    /// Panics if the directory can't be made.
    #[must_use]
    pub fn small_disk(&self, kib: u64) -> Option<(SmallDisk, PathBuf)> {
        let dir = self.path().join("small");
        fs::create_dir(&dir).expect("created");
        let disk = SmallDisk::over(&dir, kib)?;
        self.give(&dir);
        Some((disk, dir))
    }

    /// Moves the write-ahead log, which needs a restart.
    ///
    /// # Panics
    /// Panics if it can't be moved.
    pub fn move_log(&mut self, to: &Path) {
        self.kill();
        let log = self.path().join("data/pg_wal");
        let moved = Command::new("cp").arg("-a").args([&log, &to.join("pg_wal")]).status();
        assert!(moved.is_ok_and(|status| status.success()));
        fs::remove_dir_all(&log).expect("it is there");
        symlink(to.join("pg_wal"), &log).expect("a link");
        self.run();
    }

    /// Sends all of its processes a signal: `"STOP"` or `"CONT"`.
    ///
    /// # Panics
    /// Panics if it does not run.
    pub fn signal(&self, name: &str) {
        let id = self.running.as_ref().expect("it runs").id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).expect("it runs");
        let all = format!("kill -s {name} {id} {children}");
        _ = Command::new("sh").args(["-c", &all]).stderr(Stdio::null()).status().expect("there is a shell");
    }

    /// Changes a setting that needs no restart.
    ///
    /// # Panics
    /// Panics if it can't be changed.
    pub fn set(&self, name: &str, value: &str) {
        self.sql("postgres", &format!("ALTER SYSTEM SET {name} = '{value}'"))
            .expect("there is such a setting");
        self.sql("postgres", "SELECT pg_reload_conf()").expect("reads its settings");
    }

    /// Makes commits wait for a standby from now on.
    ///
    /// # Panics
    /// Panics if the standby does not replicate.
    pub fn wait_for_standby(&self, name: &str) {
        self.set("synchronous_standby_names", name);
        let state = format!("SELECT sync_state FROM pg_stat_replication WHERE application_name = '{name}'");
        wait_for("a synchronous standby", || self.sql("postgres", &state).expect("answers") == "sync");
    }

    /// Cuts a standby off from its primary.
    ///
    /// # Panics
    /// Panics if it can't be cut off.
    pub fn cut_off(&self) {
        self.set("primary_conninfo", "");
        wait_for("a standby on its own", || {
            let hears = self.sql("postgres", "SELECT count(*) FROM pg_stat_wal_receiver");
            hears.as_deref() == Ok("0")
        });
    }

    /// Promotes a standby, and waits until it accepts writes.
    ///
    /// # Panics
    /// Panics if it does not.
    pub fn promote(&self) {
        assert_eq!(self.sql("postgres", "SELECT pg_promote()").as_deref(), Ok("t"));
    }

    /// Creates a database and returns its address.
    ///
    /// # Panics
    /// Panics if it can't be made.
    #[must_use]
    pub fn database(&self, name: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {name}")).expect("makes a database");
        self.address_of(name)
    }

    /// Returns the address of a database.
    #[must_use]
    pub fn address_of(&self, name: &str) -> String {
        format!("postgres://{USER}@{}/{name}", self.address())
    }

    /// Returns host and port.
    #[must_use]
    pub fn address(&self) -> String {
        self.port.address()
    }

    /// Returns the output of psql.
    ///
    /// # Errors
    /// Returns the error output of psql.
    ///
    /// # Panics
    /// Panics if it can't be run.
    pub fn sql(&self, database: &str, sql: &str) -> Result<String, String> {
        let mut psql = self.program("psql");
        let port = self.port.number().to_string();
        psql.args([
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-U",
            USER,
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

    /// Returns the one number that a query finds.
    ///
    /// # Panics
    /// Panics if it finds anything else.
    #[track_caller]
    #[must_use]
    pub fn number(&self, database: &str, sql: &str) -> u64 {
        self.sql(database, sql).expect("answers").parse().expect("a number")
    }

    /// Returns a dump of our tables in a database by pg_dump.
    ///
    /// # Panics
    /// Panics if it can't be run, or fails.
    #[must_use]
    pub fn dump(&self, database: &str) -> String {
        let port = self.port.number().to_string();
        let from = ["-h", "127.0.0.1", "-p", &port, "-U", USER, "--schema=queens", database];
        let dumped = self.program("pg_dump").args(from).output().expect("pg_dump can be run");
        assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
        String::from_utf8(dumped.stdout).expect("UTF-8")
    }

    /// Restores our tables from a [`dump`](Self::dump), in one transaction.
    ///
    /// # Panics
    /// Panics if that fails.
    pub fn put_back(&self, database: &str, dump: &str) {
        let file = self.path().join("dump.sql");
        fs::write(&file, format!("DROP SCHEMA IF EXISTS queens CASCADE;\n{dump}")).expect("written");
        let port = self.port.number().to_string();
        let to = ["-h", "127.0.0.1", "-p", &port, "-U", USER, "-qAtX", "-1", "-v", "ON_ERROR_STOP=1"];
        let file = file.to_str().expect("UTF-8");
        self.carry_out("psql", &[&to[..], &["-d", database, "-f", file]].concat());
    }

    /// Returns its directory.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// Runs one of its programs to its end.
    fn carry_out(&self, name: &str, args: &[&str]) {
        let done = self.program(name).args(args).output().expect("it can be run");
        assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(self.dir.path()).env("LC_ALL", "C");
        if let Some((user, group)) = self.owner {
            command.uid(user).gid(group);
        }
        command
    }
}

/// Returns a command that runs `queens-coordinator` on a data directory, with its store in a database.
#[must_use]
pub fn with_store(listen: &str, data_dir: &Path, address: &str) -> Command {
    let mut command = coordinator_command(listen, data_dir);
    command.args(["--store", address]);
    command
}

/// Returns the output of `queens-coordinator check` for a store in a database, with its proof.
///
/// # Panics
/// Panics if it does not.
#[track_caller]
#[must_use]
pub fn proved(address: &str) -> String {
    let mut check = program("queens-coordinator");
    check.args(["check", "--store", address]);
    let checked = run(check);
    assert!(checked.status.success(), "{}", checked.stderr);
    checked.stdout
}

/// Returns the directory of the newest installed version's programs.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(PROGRAMS).ok()?.filter_map(|entry| {
        let entry = entry.ok()?;
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        let programs = entry.path().join("bin");
        programs.join("postgres").exists().then_some((version, programs))
    });
    versions.max().map(|(_, programs)| programs)
}

/// Returns the user and group that the package created, if root runs these tests: the server refuses to run as root.
fn owner() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("a list of users");
    let fields =
        users.lines().find_map(|line| line.strip_prefix("postgres:")).expect("the package has made it");
    let mut numbers = fields.split(':').skip(1).map(|number| number.parse().expect("a number"));
    Some((numbers.next().expect("a user"), numbers.next().expect("a group")))
}
