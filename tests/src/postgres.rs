//! PostgreSQL servers of the test's own, on loopback: single ones, and standbys that follow them.

mod archive;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cleanup::Undo;
use crate::disk::SmallDisk;
use crate::process::{Running, clean, run, wait_until};
use crate::{Port, TempDir, binary, skipped};

/// Where Debian puts the programs, of each version in a directory of its own.
const PROGRAMS: &str = "/usr/lib/postgresql";

/// The superuser of every server.
const USER: &str = "queens";

/// A running server. Everybody on this machine may do everything with it as the user `queens`.
#[derive(Debug)]
pub struct Postgres {
    // Dropped first: all its processes are killed. Its children leave its process group.
    kill: Option<Undo>,
    running: Option<Running>,
    dir: TempDir,
    port: Port,
    programs: PathBuf,
    /// The user and group that it runs as, if these tests are run by root.
    owner: Option<(u32, u32)>,
}

impl Postgres {
    /// Whether it is installed.
    #[must_use]
    pub fn is_installed() -> bool {
        programs().is_some()
    }

    /// Makes a cluster and starts it with these settings besides; `None` if it is not installed.
    ///
    /// # Panics
    /// If it can't be started.
    #[must_use]
    pub fn start(settings: &str) -> Option<Self> {
        Self::start_guarded(settings, "", None)
    }

    /// The same with rules about who gets in, which come before the usual ones, and with the `server.pem` and
    /// `server.key` of a directory if it is to speak TLS.
    ///
    /// # Panics
    /// If it can't be started.
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

    /// Makes a copy of this one, which follows it under a name and can take its place.
    ///
    /// # Panics
    /// If that fails.
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

    /// A directory and an address for one.
    fn in_new_directory(programs: PathBuf) -> Self {
        let dir = TempDir::new().expect("a temporary directory");
        let server = Self { kill: None, running: None, dir, port: Port::draw(), programs, owner: owner() };
        server.give(server.dir.path());
        fs::set_permissions(server.dir.path(), fs::Permissions::from_mode(0o755)).expect("it is there");
        server
    }

    /// Gives a file to the user whom the server runs as.
    fn give(&self, path: &Path) {
        if let Some((user, group)) = self.owner {
            chown(path, Some(user), Some(group)).expect("root gives a file away");
        }
    }

    /// Adds what is its own to its settings: the last that is said of one counts.
    fn set_up(&self, name: &str, settings: &str) {
        let file = self.path().join("data/postgresql.auto.conf");
        let before = fs::read_to_string(&file).expect("a file of settings");
        let port = self.port.number();
        let own = format!("listen_addresses = '127.0.0.1'\nport = {port}\ncluster_name = '{name}'\n");
        fs::write(file, format!("{before}\n{own}{settings}")).expect("a file of settings");
    }

    /// Starts it, as it was made, and waits until it answers.
    ///
    /// # Panics
    /// If it can't be started.
    pub fn run(&mut self) {
        let mut command = self.program("postgres");
        command.args(["-D", "data"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let running = Running::start_redirected(&mut command);
        let id = running.id();
        self.running = Some(running);
        self.kill = Some(Undo::by(|| {
            let mut kill = Command::new("sh");
            // None of them can do anything between two signals. Some may just have ended.
            let all = format!("kill -s STOP {id}; kill -s KILL {id} $(cat /proc/{id}/task/{id}/children)");
            kill.args(["-c", &all]);
            kill
        }));
        wait_until("PostgreSQL to answer", || self.sql("postgres", "SELECT 1").ok());
    }

    /// Kills it, as a power failure would: all of its processes, and none of them can do anything any more.
    ///
    /// # Panics
    /// If it does not run.
    pub fn kill(&mut self) {
        let server = self.running.take().expect("it runs");
        drop(self.kill.take());
        _ = server.wait();
    }

    /// Waits until it has ended by itself.
    ///
    /// # Panics
    /// If it does not.
    pub fn wait_for_end(&mut self) {
        let server = self.running.take().expect("it runs");
        let state = format!("/proc/{}/stat", server.id());
        // While nobody has taken note of its end, its id is not another's.
        wait_until("the end of the server", || {
            fs::read_to_string(&state).ok()?.contains(") Z ").then_some(())
        });
        drop(self.kill.take());
        _ = server.wait();
    }

    /// A small file system of so many KiB in a directory of its own, which belongs to the server; `None` if we may not
    /// mount one.
    ///
    /// # Panics
    /// If the directory can't be made.
    #[must_use]
    pub fn small_disk(&self, kib: u64) -> Option<(SmallDisk, PathBuf)> {
        let dir = self.path().join("small");
        fs::create_dir(&dir).expect("created");
        let disk = SmallDisk::over(&dir, kib)?;
        self.give(&dir);
        Some((disk, dir))
    }

    /// Moves the log of what is written, which needs a start.
    ///
    /// # Panics
    /// If it can't be moved.
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
    /// If it does not run.
    pub fn signal(&self, name: &str) {
        let id = self.running.as_ref().expect("it runs").id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).expect("it runs");
        let all = format!("kill -s {name} {id} {children}");
        _ = Command::new("sh").args(["-c", &all]).stderr(Stdio::null()).status().expect("there is a shell");
    }

    /// Changes a setting that does not need a start.
    ///
    /// # Panics
    /// If it can't be changed.
    pub fn set(&self, name: &str, value: &str) {
        self.sql("postgres", &format!("ALTER SYSTEM SET {name} = '{value}'"))
            .expect("there is such a setting");
        self.sql("postgres", "SELECT pg_reload_conf()").expect("reads its settings");
    }

    /// Has commits wait for a standby that follows, from now on.
    ///
    /// # Panics
    /// If it does not follow.
    pub fn wait_for_standby(&self, name: &str) {
        self.set("synchronous_standby_names", name);
        let state = format!("SELECT sync_state FROM pg_stat_replication WHERE application_name = '{name}'");
        wait_until("a synchronous standby", || {
            (self.sql("postgres", &state).expect("answers") == "sync").then_some(())
        });
    }

    /// Has a standby that follows hear nothing more of its server.
    ///
    /// # Panics
    /// If it can't be cut off.
    pub fn cut_off(&self) {
        self.set("primary_conninfo", "");
        wait_until("a standby on its own", || {
            let hears = self.sql("postgres", "SELECT count(*) FROM pg_stat_wal_receiver");
            (hears.as_deref() == Ok("0")).then_some(())
        });
    }

    /// Has a standby take writes, and waits until it does.
    ///
    /// # Panics
    /// If it does not.
    pub fn promote(&self) {
        assert_eq!(self.sql("postgres", "SELECT pg_promote()").as_deref(), Ok("t"));
    }

    /// Makes a database and tells its address.
    ///
    /// # Panics
    /// If it can't be made.
    #[must_use]
    pub fn database(&self, name: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {name}")).expect("makes a database");
        self.address_of(name)
    }

    /// The address of a database.
    #[must_use]
    pub fn address_of(&self, name: &str) -> String {
        format!("postgres://{USER}@{}/{name}", self.address())
    }

    /// Host and port.
    #[must_use]
    pub fn address(&self) -> String {
        self.port.address()
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

    /// What pg_dump says of our tables in a database.
    ///
    /// # Panics
    /// If it can't be run, or fails.
    #[must_use]
    pub fn dump(&self, database: &str) -> String {
        let port = self.port.number().to_string();
        let from = ["-h", "127.0.0.1", "-p", &port, "-U", USER, "--schema=queens", database];
        let dumped = self.program("pg_dump").args(from).output().expect("pg_dump can be run");
        assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
        String::from_utf8(dumped.stdout).expect("UTF-8")
    }

    /// Puts our tables back as [`dump`](Self::dump) has found them, in one transaction.
    ///
    /// # Panics
    /// If that fails.
    pub fn put_back(&self, database: &str, dump: &str) {
        let file = self.path().join("dump.sql");
        fs::write(&file, format!("DROP SCHEMA IF EXISTS queens CASCADE;\n{dump}")).expect("written");
        let port = self.port.number().to_string();
        let to = ["-h", "127.0.0.1", "-p", &port, "-U", USER, "-qAtX", "-1", "-v", "ON_ERROR_STOP=1"];
        let file = file.to_str().expect("UTF-8");
        self.carry_out("psql", &[&to[..], &["-d", database, "-f", file]].concat());
    }

    /// Its directory.
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

/// What `queens-coordinator check` says of a store in a database, which it proves.
///
/// # Panics
/// If it does not.
#[track_caller]
#[must_use]
pub fn proved(address: &str) -> String {
    let mut check = clean(Command::new(binary("queens-coordinator")));
    check.args(["check", "--store", address]);
    let checked = run(check);
    assert!(checked.status.success(), "{}", checked.stderr);
    checked.stdout
}

/// The programs of the newest version that is installed.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(PROGRAMS).ok()?.filter_map(|entry| {
        let entry = entry.ok()?;
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        let programs = entry.path().join("bin");
        programs.join("postgres").exists().then_some((version, programs))
    });
    versions.max().map(|(_, programs)| programs)
}

/// The user and group that the package has made, if these tests are run by root: the server refuses to run as root.
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
