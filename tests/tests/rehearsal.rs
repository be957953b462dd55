//! A dress rehearsal of what a large count is to go through: a liar, a kill, a freeze and a coordinator that dies twice,
//! and in the end a number that others can check.
//!
//! With the environment variable `QUEENS_FAULTS` set to `full`, 19 queens are counted, which takes minutes.

use std::time::{Duration, Instant};
use std::{env, fs};

use queens_solver::{BoardSize, Kernel, published};
use queens_tests::cluster::{Coordinator, worker_with};
use queens_tests::liar::Liar;
use queens_tests::process::{Running, queens, run, wait_at_most};
use queens_tests::say;
use serde_json::Value;
use tempfile::TempDir;

/// Of a hundred spans that the liar counts, it falsifies about so many.
const LIES: u64 = 1;

struct Rehearsal {
    began: Instant,
    coordinator: Coordinator,
    job: String,
}

impl Rehearsal {
    /// Waits until the job is as it should be.
    #[track_caller]
    fn wait(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        wait_at_most(Duration::from_secs(1800), what, || {
            Some(self.coordinator.status(&self.job)).filter(|status| is_so(status))
        })
    }

    #[track_caller]
    fn wait_for(&self, share: f64) -> Value {
        self.wait("progress", |status| status["fraction"].as_f64().expect("a number") >= share)
    }

    fn tell(&self, what: &str) {
        say(&format!("{:7.1} s  {what}", self.began.elapsed().as_secs_f64()));
    }

    fn worker(&self, url: &str, name: &str) -> Running {
        self.tell(&format!("{name} begins"));
        worker_with(url, name, Kernel::best())
    }
}

#[test]
fn a_number_survives_a_liar_and_comes_with_a_proof() {
    let full = env::var("QUEENS_FAULTS").is_ok_and(|faults| faults == "full");
    let n: u8 = match Kernel::best() {
        _ if full => 19,
        Kernel::Portable => 14,
        _ => 16,
    };
    let scratch = TempDir::new().expect("a temporary directory");
    let data_dir = scratch.path().join("data");
    let coordinator = Coordinator::start(&data_dir);
    let liar = Liar::start(&coordinator.url(), LIES);
    let size = n.to_string();
    let terms = ["--method", "search", "--second-pass", "--recount", "1"];
    let submit = ["submit", &size, "--yes", "--output", "json"];
    let answer = coordinator.queens(submit.iter().chain(&terms)).answer();
    let job = answer["job"].as_str().expect("a job's id").to_owned();
    let mut rehearsal = Rehearsal { began: Instant::now(), coordinator, job };
    rehearsal.tell(&format!(
        "job {} is submitted: n = {n}, with a second pass and 1 % counted again",
        rehearsal.job
    ));

    let url = rehearsal.coordinator.url();
    let [_anna, killed, mut frozen] = ["anna", "carol", "dora"].map(|name| rehearsal.worker(&url, name));
    let _bert = rehearsal.worker(&liar.url(), "bert");
    rehearsal.wait_for(0.2);
    killed.kill();
    rehearsal.tell("carol is killed");
    rehearsal.wait_for(0.3);
    frozen.signal("STOP");
    rehearsal.tell("dora is frozen");
    rehearsal.wait_for(0.4);
    rehearsal.coordinator = rehearsal.coordinator.kill_and_restart();
    rehearsal.tell("the coordinator is killed, and another goes on");
    rehearsal.wait("the first pass", |status| status["state"] == "verifying");
    rehearsal.tell("the first pass is complete: its number is provisional");
    frozen.signal("CONT");
    rehearsal.tell("dora thaws");
    rehearsal.coordinator = rehearsal.coordinator.kill_and_restart();
    rehearsal.tell("the coordinator is killed again");

    let done = rehearsal.wait("the end", |status| status["state"] == "done");
    rehearsal.tell(&format!("done: {}", done["solutions"]));
    let expected = published(BoardSize::new(n).expect("a board size")).expect("published").solutions;
    assert_eq!((&done["solutions"], &done["agrees"]), (&expected.to_string().into(), &true.into()));
    assert!(liar.n_lies() > 0, "it has not lied");
    let workers = rehearsal.coordinator.queens(["workers"]).stdout;
    assert!(workers.contains("bert") && workers.contains("blocked"), "{workers}");
    rehearsal.tell(&format!("bert told {} lies, and is blocked:\n{workers}", liar.n_lies()));
    rehearsal.tell(&rehearsal.coordinator.queens(["status", &rehearsal.job]).stdout);

    let file = scratch.path().join("certificate");
    let path = file.to_str().expect("text");
    let exported = rehearsal.coordinator.queens(["export", &rehearsal.job, path]);
    assert!(exported.status.success(), "{exported:?}");
    rehearsal.tell(exported.stdout.trim_end());
    rehearsal.coordinator.stop();
    // Somebody else, who has the file and nothing of the directory.
    let elsewhere = TempDir::new().expect("a temporary directory");
    let copied = elsewhere.path().join("certificate");
    fs::copy(&file, &copied).expect("copied");
    let checked = run(queens(["check", copied.to_str().expect("text"), "--share", "0.01"]));
    assert!(checked.status.success() && checked.stdout.contains(&expected.to_string()), "{checked:?}");
    say(&checked.stdout);
}
