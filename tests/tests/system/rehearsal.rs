//! A rehearsal of a large count: a liar, a kill, a freeze, and two crashes of a coordinator. It ends with a number that
//! others can check.
//!
//! With the environment variable `QUEENS_REHEARSAL`, for example 19, it counts that many queens by the fastest kernel.
//! `--nocapture` prints the transcript, which `.ci/long` keeps in `target`.

use std::process::Command;
use std::time::Instant;
use std::{env, fs};

use queens_tests::liar::Liar;
use queens_tests::prelude::*;
use queens_tests::workers::worker;

/// Of a hundred spans, the liar falsifies about this many.
const LIES: u64 = 1;

/// The printed lines of a long table.
const MOST_LINES: usize = 24;

struct Rehearsal {
    began: Instant,
    coordinator: Coordinator,
    kernel: Kernel,
    /// The working directory of commands that create files.
    here: TempDir,
}

impl Rehearsal {
    /// Waits until a job's status satisfies a condition.
    #[track_caller]
    fn wait(&self, job: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        wait_until(what, || Some(self.coordinator.status(job)).filter(|status| is_so(status)))
    }

    /// Waits until this share of a job is recorded, and returns the time as a text.
    #[track_caller]
    fn wait_for(&self, job: &str, share: f64) -> String {
        let status = self.wait(job, "progress", |status| fraction(status) >= share);
        assert_eq!(status["state"], "running", "too late: job {job} is not being counted any more");
        format!("at {:.0} % of job {job}", 100.0 * fraction(&status))
    }

    /// Prints an event.
    fn tell(&self, what: &str) {
        say(&format!("# {:.1} s: {what}", self.began.elapsed().as_secs_f64()));
    }

    /// Runs a command as part of the transcript. Returns its output.
    #[track_caller]
    fn show(&self, args: &str) -> String {
        let mut command = self.coordinator.queens_command(args.split(' '));
        command.current_dir(self.here.path());
        show(&format!("queens {args}"), command)
    }

    fn worker(&self, url: &str, name: &str) -> Running {
        if self.kernel == Kernel::Portable { worker(url, name) } else { worker_with(url, name, self.kernel) }
    }

    /// Kills the coordinator and starts another.
    fn kill_coordinator(self, when: &str) -> Self {
        let coordinator = self.coordinator.kill_and_restart();
        let killed = Self { coordinator, ..self };
        killed.tell(&format!("{when} the coordinator is killed and started again"));
        killed
    }
}

/// Runs a command as part of the transcript. Returns its output.
#[track_caller]
fn show(shown: &str, command: Command) -> String {
    let ended = run(command);
    assert!(ended.status.success(), "{shown}: {ended:?}");
    say(&format!("$ {shown}"));
    let lines: Vec<&str> = ended.stdout.lines().collect();
    lines.iter().take(MOST_LINES).for_each(|line| say(line));
    if lines.len() > MOST_LINES {
        say(&format!("… and {} lines more", lines.len() - MOST_LINES));
    }
    ended.stdout
}

/// Returns the board's size and the kernel. By default each pass takes some seconds, which include all faults.
fn scale() -> (u8, Kernel) {
    match env::var("QUEENS_REHEARSAL") {
        Ok(n) => (n.parse().expect("QUEENS_REHEARSAL is a number of queens"), Kernel::best()),
        Err(_) => (16, Kernel::Portable),
    }
}

#[test]
fn a_number_survives_a_liar_and_comes_with_a_proof() {
    let (n, kernel) = scale();
    let Scenario { scratch: here, coordinator, .. } = Scenario::start();
    let url = coordinator.url();
    let liar = Liar::start(&url, LIES);
    let mut rehearsal = Rehearsal { began: Instant::now(), coordinator, kernel, here };
    let names = ["anna", "carol", "dora"];
    let [_anna, killed, mut frozen] = names.map(|name| rehearsal.worker(&url, name));
    let _bert = rehearsal.worker(&liar.url(), "bert");
    rehearsal.coordinator.wait_for_workers(4);
    rehearsal.began = Instant::now();
    rehearsal.tell(&format!(
        "anna, bert, carol and dora are there, a thread and the {} kernel each; bert lies in {LIES} % of its spans",
        kernel.name()
    ));
    rehearsal.show(&format!("submit {n} --method search --recount 1 --second-pass --yes"));
    let (first, second) = ("1", "2");

    let when = rehearsal.wait_for(first, 0.15);
    killed.kill();
    rehearsal.tell(&format!("{when} carol is killed (SIGKILL), and does not come back"));
    let when = rehearsal.wait_for(first, 0.3);
    frozen.signal("STOP");
    rehearsal.tell(&format!("{when} dora is frozen (SIGSTOP)"));
    let when = rehearsal.wait_for(first, 0.45);
    rehearsal = rehearsal.kill_coordinator(&when);
    let is_counted = |status: &Value| status["recorded"] == status["subproblems"];
    let status = rehearsal.wait(first, "the first pass", |status| is_counted(status));
    assert_eq!((&status["state"], &status["provisional"]), (&"verifying".into(), &true.into()), "{status}");
    rehearsal.tell("the first pass is counted");
    rehearsal.show("jobs");
    let when = rehearsal.wait_for(second, 0.3);
    frozen.signal("CONT");
    rehearsal.tell(&format!("{when} dora goes on (SIGCONT)"));
    let when = rehearsal.wait_for(second, 0.6);
    rehearsal = rehearsal.kill_coordinator(&when);
    let _fast = fast_worker(&url);
    rehearsal.wait(second, "the second pass", |status| is_counted(status));
    rehearsal.tell("the second pass is counted");
    rehearsal.show(&format!("status {first}"));

    let is_done = |status: &Value| status["state"] == "done" && status["fundamental"].is_string();
    let done = rehearsal.wait(first, "the end", is_done);
    let seconds = rehearsal.began.elapsed().as_secs();
    rehearsal.tell(&format!(
        "job {first} is done. Of {} spans that bert reported, {} were falsified",
        liar.n_spans(),
        liar.n_lies()
    ));
    assert_eq!((&done["solutions"], &done["agrees"]), (&solutions(n).into(), &true.into()));
    rehearsal.show(&format!("status {first}"));
    check_the_liar(&rehearsal, &liar);
    for pass in [first, second] {
        rehearsal.show(&format!("contributions {pass}"));
    }
    check_the_proof(rehearsal, n);
    say(&format!("# Q({n}) took {seconds} s"));
}

/// Checks that the liar is named and blocked, and nobody else.
fn check_the_liar(rehearsal: &Rehearsal, liar: &Liar) {
    assert!(liar.n_lies() > 0, "it has not lied");
    let mut n_verdicts = 0;
    for pass in ["1", "2"] {
        let verdicts = rehearsal.coordinator.json(["verdicts", pass]);
        let verdicts = verdicts.as_array().expect("an array");
        n_verdicts += verdicts.len();
        let others = verdicts.iter().filter(|verdict| verdict["lost_worker"] != "bert").count();
        assert_eq!(others, 0, "{verdicts:?}");
        rehearsal.show(&format!("verdicts {pass}"));
    }
    assert!(n_verdicts > 0, "nobody was caught");
    let workers = rehearsal.coordinator.workers();
    for worker in &workers {
        let is_blocked = worker["state"] == "blocked";
        assert_eq!(is_blocked, worker["name"] == "bert", "{worker}");
    }
    rehearsal.show("workers");
}

/// Checks the number's certificate like somebody who has only the key.
fn check_the_proof(rehearsal: Rehearsal, n: u8) {
    let name = format!("q{n}.certificate");
    rehearsal.show(&format!("export 1 {name}"));
    let mut command = program("queens-coordinator");
    command.args(["key", "--data-dir", "data"]).current_dir(rehearsal.here.path());
    let key = show("queens-coordinator key --data-dir data", command);
    let elsewhere = TempDir::new();
    fs::copy(rehearsal.here.join(&name), elsewhere.join(&name)).expect("copied");
    rehearsal.tell("the coordinator ends, and somebody else has the certificate in an empty directory");
    rehearsal.coordinator.stop();
    let args = format!("check {name} --share 1 --key {}", key.trim());
    let mut command = queens(args.split(' '));
    command.current_dir(elsewhere.path());
    let checked = show(&format!("queens {args}"), command);
    assert!(checked.contains(&solutions(n)) && !checked.contains("sample: 0 of"), "{checked}");
}
