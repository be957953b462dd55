//! `queens top` and `queens watch` in a real terminal, which tmux provides.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use queens_tests::cleanup::Undo;
use queens_tests::prelude::*;
use queens_tests::process::poll_until;

/// A terminal with a shell in it.
struct Terminal {
    socket: PathBuf,
    // Ends before its directory goes.
    _server: Undo,
    scratch: TempDir,
}

impl Terminal {
    /// `None` without tmux.
    fn open(columns: u16, rows: u16) -> Option<Self> {
        let scratch = TempDir::new();
        let socket = scratch.join("tmux");
        let end = || {
            let mut end = Command::new("tmux");
            end.arg("-S").arg(&socket).arg("kill-server");
            end
        };
        let terminal = Self { _server: Undo::by(end), socket: socket.clone(), scratch };
        let mut command = clean(Command::new("tmux"));
        command.arg("-S").arg(&terminal.socket).args(["-f", "/dev/null", "new-session", "-d"]);
        command.args(["-x", &columns.to_string(), "-y", &rows.to_string(), "env", "PS1=$ ", "sh"]);
        command.env("LC_ALL", "C.UTF-8").env_remove("TMUX").stderr(Stdio::null());
        let status = match command.status() {
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            status => status.expect("tmux can be started"),
        };
        assert!(status.success(), "{command:?}: {status}");
        Some(terminal)
    }

    #[track_caller]
    fn tmux(&self, args: &[&str]) -> String {
        let output = Command::new("tmux").arg("-S").arg(&self.socket).args(args).output().expect("tmux runs");
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    #[track_caller]
    fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    #[track_caller]
    fn enter(&self, line: &str) {
        self.tmux(&["send-keys", line, "Enter"]);
    }

    /// Types these characters unchanged.
    #[track_caller]
    fn write(&self, text: &str) {
        self.tmux(&["send-keys", "-l", "--", text]);
    }

    #[track_caller]
    fn resize(&self, columns: u16, rows: u16) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    #[track_caller]
    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until this is on the screen; returns the screen.
    #[track_caller]
    fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, true)
    }

    /// Waits until this is on the screen, or gone; returns the screen.
    #[track_caller]
    fn wait_until(&self, text: &str, is_there: bool) -> String {
        let mut screen = String::new();
        let found = poll_until(|| {
            screen = self.screen();
            (screen.contains(text) == is_there).then_some(())
        });
        assert!(found.is_some(), "{text:?}, expected {is_there}:\n{screen}");
        screen
    }

    /// Waits until the shell is back on the usual screen, without output of a program below its last line.
    #[track_caller]
    fn wait_for_shell(&self) {
        // A program that is still ending may read the input.
        wait_for("the usual screen", || {
            self.tmux(&["display-message", "-p", "#{alternate_on}"]).trim() == "0"
        });
        self.enter("stty -a | grep -o ' .\\?icanon'; echo sh''ell");
        let screen = self.wait_for("shell");
        assert!(screen.contains(" icanon"), "the terminal is not as it was:\n{screen}");
    }
}

#[test]
fn top_shows_a_cluster_obeys_keys_and_leaves_the_terminal_as_it_was() {
    let Some(terminal) = Terminal::open(80, 24) else {
        return skipped("'queens top', as there is no tmux to make a terminal");
    };
    let Scenario { scratch: _scratch, data_dir, coordinator } = Scenario::start();
    let _worker = coordinator.worker("alpha");
    coordinator.wait_for_workers(1);
    let job = coordinator.submit(22);
    let top = format!("{} top --coordinator {}", binary("queens").display(), coordinator.url());
    terminal.enter(&top);
    let screen = terminal.wait_for("running");
    for text in ["jobs: 1", "events ─", "SOLUTIONS", "pause/resume", "quit", "store: sqlite"] {
        assert!(screen.contains(text), "no {text}:\n{screen}");
    }
    terminal.press("p");
    terminal.wait_for("Pause job 1?");
    terminal.press("y");
    terminal.wait_for("job 1: paused");
    assert_eq!(coordinator.status(&job)["state"], "paused");
    terminal.press("p");
    terminal.wait_for("Resume job 1?");
    terminal.press("y");
    terminal.wait_for("running");
    terminal.press("Tab");
    terminal.wait_for("workers: 1   threads: 1");
    terminal.press("b");
    terminal.wait_for("Block all workers named 'alpha'?");
    terminal.press("n");
    terminal.press("b");
    terminal.wait_for("Block all workers named 'alpha'?");
    terminal.press("y");
    terminal.wait_for("all workers named alpha were blocked");
    terminal.resize(120, 40);
    wait_for("the whole new width", || {
        terminal.screen().lines().any(|line| line.trim_end().chars().count() == 120)
    });
    // Away and back.
    let [port] = coordinator.ports().try_into().expect("it serves workers alone");
    coordinator.stop();
    terminal.wait_for("no state from the coordinator for");
    let coordinator = Coordinator::start_on(port, &data_dir);
    wait_for("the new coordinator's state, and what happened before", || {
        let screen = terminal.screen();
        let is_back = !screen.contains("no state from the coordinator");
        is_back
            && screen.contains("all workers named alpha were blocked")
            && screen.contains("coordinator started")
    });
    terminal.press("q");
    terminal.wait_for_shell();
    // Killed by a signal, it restores the terminal as well.
    terminal.enter("clear");
    let pid = terminal.scratch.join("pid");
    terminal.enter(&format!("sh -c 'echo $$ >{}; exec {top}'", pid.display()));
    let read_pid = || fs::read_to_string(&pid).ok().filter(|pid| pid.ends_with('\n'));
    let pid = wait_until("its process id", read_pid);
    terminal.wait_for("events ─");
    assert!(Command::new("kill").arg(pid.trim()).status().expect("kill can be run").success());
    wait_for("its end", || !terminal.screen().contains("events ─"));
    terminal.wait_for_shell();
    coordinator.stop();
}

#[test]
fn top_submits_and_cancels_by_keys_and_shows_one_job() {
    let Some(terminal) = Terminal::open(80, 24) else {
        return skipped("'queens top', as there is no tmux to make a terminal");
    };
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let _worker = coordinator.worker("alpha");
    coordinator.wait_for_workers(1);
    let job = coordinator.submit(22);
    terminal.enter(&format!("{} top --coordinator {}", binary("queens").display(), coordinator.url()));
    terminal.wait_for("running");
    // Input is validated before any request.
    terminal.press("s");
    terminal.wait_for("queens submit");
    terminal.write("33");
    terminal.press("Enter");
    terminal.wait_for("'33'");
    terminal.press("C-u");
    terminal.write("submit 8 --priority 3");
    terminal.press("Enter");
    terminal.wait_for("submitted n = 8 as job 2");
    assert_eq!(coordinator.status("2")["priority"], 3);
    // The running job is selected, although there is another.
    terminal.press("u");
    terminal.wait_for("queens priority 1");
    terminal.write("-5");
    terminal.press("Enter");
    terminal.wait_for("job 1 is running, priority -5");
    assert_eq!(coordinator.status(&job)["priority"], -5);
    // One job on the whole screen, in any size.
    terminal.press("Enter");
    terminal.wait_for("events of job 1");
    terminal.press("End");
    for text in ["CORE-HOURS", "alpha", "100 %"] {
        terminal.wait_for(text);
    }
    for (columns, rows) in [(40, 10), (200, 50), (20, 4), (80, 24)] {
        terminal.resize(columns, rows);
        wait_for("the new size", || {
            let screen = terminal.screen();
            screen.lines().count() <= usize::from(rows) && screen.contains("job 1")
        });
    }
    terminal.press("Escape");
    terminal.wait_for("SOLUTIONS SO FAR");
    terminal.press("c");
    terminal.wait_for("Cancel job 1 for good?");
    terminal.press("n");
    terminal.press("c");
    terminal.wait_for("Cancel job 1 for good?");
    terminal.press("y");
    terminal.wait_for("job 1 is cancelled, priority -5");
    assert_eq!(coordinator.status(&job)["state"], "cancelled");
    // If nothing is open, Esc does not end it.
    terminal.press("Escape");
    // It shows a refusal: somebody else was faster.
    let job = coordinator.submit(21);
    terminal.wait_for("21  search         0  running");
    terminal.press("p");
    terminal.wait_for(&format!("Pause job {job}?"));
    assert!(coordinator.queens(["cancel", &job]).status.success());
    terminal.press("y");
    terminal.wait_for(&format!("job {job} is cancelled and stays so"));
    assert_eq!(coordinator.status(&job)["state"], "cancelled");
    terminal.press("q");
    terminal.wait_for_shell();
    coordinator.stop();
}

#[test]
fn tables_are_whole_and_the_first_help_fits_the_terminal() {
    let Some(terminal) = Terminal::open(80, 24) else {
        return skipped("tables on a terminal, as there is no tmux to make one");
    };
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let long = "a machine with a very long name in the third rack from the left";
    let _workers = [coordinator.worker("alpha"), coordinator.worker(long)];
    coordinator.wait_for_workers(2);
    _ = coordinator.submit(22);
    terminal.wait_for("$");
    let dir = binary("queens").parent().expect("it is in a directory").display().to_string();
    terminal.enter(&format!(
        "PATH={dir}:$PATH QUEENS_COORDINATOR={}; export QUEENS_COORDINATOR",
        coordinator.url()
    ));
    let shown = |command: &str| {
        terminal.enter("clear");
        wait_for("an empty screen", || terminal.screen().trim() == "$");
        terminal.enter(&format!("{command}; echo en''ded"));
        let screen = terminal.wait_for("ended");
        let lines = screen.lines().skip(1).take_while(|line| *line != "ended");
        lines.map(str::to_owned).collect::<Vec<_>>().join("\n")
    };
    let workers = shown("queens workers");
    assert!(workers.contains(long), "{workers}");
    let help = shown("queens");
    for text in ["Counts the ways", "Operators", "verify-more", "Examples:", "'queens --help'"] {
        assert!(help.contains(text), "no {text} on the screen:\n{help}");
    }
    assert!(help.lines().count() <= 22, "it is there with the lines around it:\n{help}");
    terminal.tmux(&["resize-window", "-x", "200", "-y", "24"]);
    // The window informs its programs a moment later.
    wait_for("the new width", || shown("stty size").contains(" 200"));
    for (command, last) in [("queens workers", "BUILD"), ("queens jobs", "WORKERS")] {
        let all = shown(command);
        assert!(all.contains(last) && all.lines().all(|line| line.chars().count() <= 200), "{all}");
    }
    coordinator.stop();
}

#[test]
fn an_animation_ends_on_q_and_on_ctrl_c() {
    let Some(terminal) = Terminal::open(60, 14) else {
        return skipped("'queens animate', as there is no tmux to make a terminal");
    };
    terminal.wait_for("$");
    let animate = format!("clear; {} animate 8 --all --delay 500", binary("queens").display());
    for (key, status) in [("q", 0), ("C-c", 130)] {
        terminal.enter(&animate);
        terminal.wait_for("squares tried");
        terminal.press(key);
        terminal.wait_for("\n$");
        // The terminal shows again what is typed.
        terminal.enter("echo status $?");
        terminal.wait_for(&format!("$ echo status $?\nstatus {status}\n"));
    }
}

#[test]
fn watch_keeps_to_its_line_and_ctrl_c_takes_it_away() {
    let Some(terminal) = Terminal::open(60, 10) else {
        return skipped("'queens watch', as there is no tmux to make a terminal");
    };
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let _worker = coordinator.worker("alpha");
    let job = coordinator.submit(22);
    // Input before the shell reads it is on the screen twice.
    terminal.wait_for("$");
    terminal.enter(&format!(
        "{} watch {job} --coordinator {}",
        binary("queens").display(),
        coordinator.url()
    ));
    let screen = terminal.wait_for("n = 22");
    let bar = screen.lines().find(|line| line.contains("n = 22")).expect("it is there");
    assert!(bar.chars().count() < 60, "{bar}");
    terminal.press("C-c");
    let screen = terminal.wait_for("\n$");
    assert!(!screen.contains("n = 22") && !screen.contains("^C"), "{screen}");
    coordinator.stop();
}
