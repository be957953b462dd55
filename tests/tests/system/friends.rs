//! Two friends, of whom one lies and the other decides which recounts he answers, beside two honest workers.
//!
//! With the environment variable `QUEENS_ATTACKS` set to `full`, the board is larger, and each attack runs ten times.

use queens_tests::liar::Liar;
use queens_tests::prelude::*;

struct Size {
    n: &'static str,
    parts: &'static str,
    /// The solutions of these parts.
    solutions: &'static str,
    /// How many of a million subproblems are lied about.
    per_million: u64,
    n_runs: usize,
}

const SMALL: Size = Size { n: "15", parts: "0..400", solutions: "680972", per_million: 200_000, n_runs: 1 };
const FULL: Size =
    Size { n: "18", parts: "0..2000", solutions: "382226140", per_million: 20_000, n_runs: 10 };

fn size() -> Size {
    if is_full("QUEENS_ATTACKS") { FULL } else { SMALL }
}

/// Lets the friends attack a job with these options. The number must be right, and only friends may be blocked. A friend
/// may hold what he was given.
fn attack(options: &[&str], holds: bool) {
    let Size { n, parts, solutions, per_million, n_runs } = size();
    for run in 1..=n_runs {
        let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
        let url = coordinator.url();
        let liar = Liar::start_consistent(&url, per_million);
        let friend = if holds { liar.start_holder(&url) } else { liar.start_friend(&url) };
        let workers =
            [(&*url, "anna"), (&*url, "bert"), (&*liar.url(), "mallory"), (&*friend.url(), "trudy")];
        let _workers = workers.map(|(url, name)| worker_with(url, name, Kernel::best()));
        coordinator.wait_for_workers(4);
        let submit = ["submit", n, "--method", "search", "--parts", parts];
        _ = coordinator.queens(submit.iter().chain(options)).good();
        let done = wait_until("the end", || {
            let status = coordinator.status("1");
            // What the status tells an operator to do.
            if status["waits_for"].as_str().is_some_and(|told| told.contains("verify-more 1 --recount-by")) {
                _ = coordinator.queens(["verify-more", "1", "--recount-by", "anna"]).good();
            }
            Some(status).filter(|status| status["state"] == "done")
        });
        assert_eq!(done["solutions"], solutions, "run {run} with {options:?}: {done}");
        let workers = coordinator.workers();
        let blocked = workers.iter().filter(|it| it["state"] == "blocked");
        let blocked: Vec<&str> = blocked.filter_map(|worker| worker["name"].as_str()).collect();
        assert!(liar.n_lies() > 0, "he has not lied");
        assert!(!blocked.iter().any(|name| ["anna", "bert"].contains(name)), "{blocked:?}");
    }
}

#[test]
fn who_chooses_his_recounts_confirms_no_lie() {
    attack(&["--recount", "100"], false);
}

#[test]
#[ignore = "it takes half a minute"]
fn who_holds_his_recounts_delays_a_job_by_minutes_at_most() {
    attack(&["--recount", "100"], true);
}

#[test]
fn who_chooses_his_parts_of_a_second_pass_hides_no_lie() {
    attack(&["--second-pass"], false);
}

#[test]
fn a_trusted_party_that_lies_is_replaced() {
    attack(&["--recount", "100", "--recount-by", "mallory"], false);
}
