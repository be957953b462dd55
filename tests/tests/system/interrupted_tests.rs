//! Interrupted tests clean up after themselves.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs, thread};

use queens_tests::TempDir;
use queens_tests::cleanup::Undo;
use queens_tests::cluster::Coordinator;
use queens_tests::postgres::Postgres;
use queens_tests::process::{Running, wait_until};

/// A file that the test below creates after its cleanup. All processes that the test starts have this variable.
const UNDONE: &str = "UNDONE_BY_AN_INTERRUPTED_TEST";

#[test]
fn nothing_is_left_of_tests_that_are_interrupted() {
    if let Some(undone) = env::var_os(UNDONE) {
        start_and_wait(Path::new(&undone));
    }
    for signal in ["INT", "TERM", "HUP"] {
        let outside = TempDir::new().expect("a temporary directory");
        let undone = outside.path().join("undone");
        let mut command = Command::new(env::current_exe().expect("the running test has a path"));
        command.args([
            "--exact",
            "interrupted_tests::nothing_is_left_of_tests_that_are_interrupted",
            "--nocapture",
        ]);
        command.env(UNDONE, &undone).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut running = Running::start_redirected(&mut command);
        let mut lines = BufReader::new(running.take_stdout().expect("it is piped")).lines();
        let dir = lines.find_map(|line| line.expect("text").strip_prefix("started in ").map(str::to_owned));
        let dir = dir.expect("it prints its directory");
        // The test, a coordinator and a worker; and PostgreSQL.
        assert!(processes_with(&undone) >= 3 && Path::new(&dir).exists(), "{signal}");
        running.signal(signal);
        assert_eq!(running.wait_for_end().code(), Some(130), "{signal}");
        wait_until("the end of all processes", || (processes_with(&undone) == 0).then_some(()));
        assert!(!Path::new(&dir).exists() && undone.exists(), "{signal}");
    }
}

/// Starts typical processes of tests, and is interrupted.
#[expect(clippy::print_stdout, reason = "another process reads it")]
fn start_and_wait(undone: &Path) -> ! {
    let dir = TempDir::new().expect("a temporary directory");
    let _undo = Undo::by(|| {
        let mut touch = Command::new("touch");
        touch.arg(undone);
        touch
    });
    let coordinator = Coordinator::start(&dir.path().join("data"));
    let _worker = coordinator.worker("anna");
    coordinator.wait_for_workers(1);
    let _postgres = Postgres::is_installed().then(|| Postgres::start(""));
    println!("started in {}", dir.path().display());
    loop {
        thread::park();
    }
}

/// Returns the number of processes with this value of the variable.
fn processes_with(undone: &Path) -> usize {
    let variable = format!("{UNDONE}={}\0", undone.display());
    let entries = fs::read_dir("/proc").expect("a list of processes").flatten();
    // Processes that have ended meanwhile, and those of other users, can't be read.
    let environments = entries.filter_map(|entry| fs::read(entry.path().join("environ")).ok());
    environments.filter(|all| String::from_utf8_lossy(all).contains(&variable)).count()
}
