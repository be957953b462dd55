//! Strangers and malicious users attack while an honest worker counts: the count continues, and is right.
//!
//! Each attack lasts a moment. With the environment variable `QUEENS_ATTACKS` set to `full`, it lasts twenty, with ten
//! thousand connections where their number is the attack. The worker must then keep four fifths of its speed: it has
//! its own core, as attackers and coordinator share another.

mod frames;
mod kinds;
mod pages;

use std::thread;
use std::time::{Duration, Instant};

use queens_auth::Trust;
use queens_tests::files;
use queens_tests::prelude::*;

use self::kinds::{KINDS, Target};

/// The share of its speed that a worker must keep.
const LEAST_SPEED: f64 = 0.8;

/// The most memory that a coordinator may use.
const MOST_MIB: u64 = 512;

/// Returns the counted work of job 1, in nodes, at the next change.
fn news(guarded: &Guarded, operator: &Invited) -> (Instant, f64) {
    let work = || {
        let status = guarded.queens(operator, ["status", "1", "--output", "json"]);
        // Under attack, a call may need a retry.
        let answer = status.status.success().then(|| status.answer())?;
        answer["work"].as_str()?.parse::<f64>().ok()
    };
    let before = wait_until("an answer", work);
    wait_until("progress", || {
        let now = work().filter(|now| *now > before)?;
        Some((Instant::now(), now))
    })
}

/// Returns the nodes per second while a function runs.
fn speed<T>(guarded: &Guarded, operator: &Invited, during: impl FnOnce() -> T) -> (f64, T) {
    let (began, before) = news(guarded, operator);
    let done = during();
    let (ended, after) = news(guarded, operator);
    ((after - before) / (ended - began).as_secs_f64(), done)
}

#[test]
fn an_honest_worker_counts_whatever_others_do() {
    let full = is_full("QUEENS_ATTACKS");
    let (n, time) = if full { ("20", Duration::from_secs(20)) } else { ("17", Duration::from_millis(150)) };
    let _files = files::take(200);
    let guarded = Guarded::new(&[]);
    let operator = guarded.invite(["--role", "operator"]);
    let [honest, fool] = [(); 2].map(|()| guarded.invite(["--role", "worker", "--uses", "4"]));
    let viewer = guarded.invite(["--role", "viewer"]);
    _ = guarded.queens(&operator, ["submit", n, "--yes"]).good();
    let mut command = guarded.worker_command(&honest, "honest");
    if full {
        // Pauses would make its speed uneven.
        command.env("QUEENS_CPU", "100");
    }
    let worker = Running::start_silent(command);
    if full {
        pin(std::process::id(), "0");
        pin(guarded.coordinator().id(), "0");
        pin(worker.id(), "1");
    }
    let trust = Trust::Authorities(guarded.authority().to_owned());
    let target = Target {
        address: guarded.coordinator().address().to_owned(),
        config: trust.config(&[b"h2"], None).expect("a client"),
        token: fool.token.secret().to_owned(),
        pages: guarded.coordinator().http(),
        http: trust.config(&[b"http/1.1"], None).expect("a client"),
        viewer: viewer.token.secret().to_owned(),
        n_connections: if full { 10_000 } else { 50 },
    };
    for kind in KINDS.iter().chain(&pages::KINDS) {
        // On a busy machine, nothing may be sent in a short time.
        let attack = || {
            wait_until(kind.name, || {
                Some((kind.run)(&target, Instant::now() + time)).filter(|outcome| outcome.n_sent > 0)
            })
        };
        let before = || (Instant::now(), processor_time(guarded.coordinator().id()));
        // Compared only if it lasts long enough to be significant.
        let (share, (began, processor), outcome) = if full {
            let (quiet, ()) = speed(&guarded, &operator, || thread::sleep(time / 2));
            let before = before();
            let (attacked, outcome) = speed(&guarded, &operator, attack);
            (Some(attacked / quiet), before, outcome)
        } else {
            (None, before(), attack())
        };
        let processor = processor_time(guarded.coordinator().id()) - processor;
        let taken = processor.as_secs_f64() / began.elapsed().as_secs_f64();
        let kept = share.map_or_else(String::new, |share| {
            format!("the worker at {:3.0} % of its speed, ", 100.0 * share)
        });
        let peak = peak_memory_kib(guarded.coordinator().id()) / 1024;
        say(&format!(
            "{:42} {:7} sent; {kept}the coordinator at {:3.0} % of a core, {peak} MiB at most so far; {:?}",
            kind.name,
            outcome.n_sent,
            100.0 * taken,
            outcome.endings,
        ));
        assert!(share.is_none_or(|share| share >= LEAST_SPEED), "{}: {share:?}", kind.name);
        assert!(peak < MOST_MIB, "{}: {peak} MiB", kind.name);
    }
    // The count has continued in one session from beginning to end.
    _ = news(&guarded, &operator);
    let workers = guarded.json(&operator, &["workers"]);
    assert_eq!(workers.as_array().map(Vec::len), Some(1), "{workers}");
    let log = guarded.coordinator().log();
    assert!(!log.contains("panicked"), "{log}");
    let n_lines = log.lines().count();
    say(&format!("{n_lines} lines in the coordinator's log"));

    // The number is right in the end; other workers help.
    let mut help = guarded.worker_command(&guarded.invite(["--role", "worker"]), "help");
    help.env("QUEENS_KERNEL", "auto").env("QUEENS_THREADS", "2").env("QUEENS_CPU", "100");
    let _helper = Running::start_silent(help);
    let solutions = if full { "39029188884" } else { "95815104" };
    wait_until("the end of the count", || {
        let status = guarded.json(&operator, &["status", "1"]);
        (status["state"] == "done").then(|| assert_eq!(status["solutions"], solutions))
    });
}
