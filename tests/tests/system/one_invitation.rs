//! All names of one invitation are one party: its holder lies with eight names, beside three honest invitations.

use queens_tests::liar::Liar;
use queens_tests::prelude::*;

const N: u8 = 15;

const HONEST: [&str; 3] = ["anna", "bert", "carol"];

/// A cluster that requires tokens.
struct Cluster {
    behind: Behind,
    operator: String,
}

impl Cluster {
    fn start() -> Self {
        let behind = Behind::new(&[]);
        let operator = behind.token("operator");
        Self { behind, operator }
    }

    fn queens(&self, args: &[&str]) -> Ended {
        self.behind.queens(&self.operator, args)
    }

    fn json(&self, args: &[&str]) -> Value {
        self.queens(&[args, &["--output", "json"]].concat()).answer()
    }

    fn status(&self) -> Value {
        self.json(&["status", "1"])
    }

    fn workers(&self) -> Vec<Value> {
        self.json(&["workers"]).as_array().expect("an array").clone()
    }

    /// Invites a person with this many names.
    fn invite(&self, n_names: usize) -> String {
        token_in(&self.behind.manage(["invite", "--role", "worker", "--uses", &n_names.to_string()]).stdout)
    }
}

/// Starts a worker with a token at this address.
fn worker(url: &str, token: &str, name: &str) -> Running {
    Running::start_silent(worker_command(url, name, Kernel::Portable).env("QUEENS_TOKEN", token))
}

/// When each name was a party of its own, this job got a wrong number, and anna, bert and carol were blocked.
#[test]
fn eight_lying_names_of_one_invitation_neither_win_nor_stay() {
    let cluster = Cluster::start();
    let url = cluster.behind.coordinator().url();
    let liar = Liar::start_consistent(&url, 2_000);
    let token = cluster.invite(50);
    let names: Vec<String> = (1..=8).map(|number| format!("mallory-{number}")).collect();
    let _lying: Vec<Running> = names.iter().map(|name| worker(&liar.url(), &token, name)).collect();
    let honest: Vec<(&str, String)> = HONEST.iter().map(|name| (*name, cluster.invite(1))).collect();
    let _honest: Vec<Running> = honest.iter().map(|(name, token)| worker(&url, token, name)).collect();
    wait_for("eleven workers", || cluster.workers().len() == 11);

    let n = N.to_string();
    let submit = ["submit", &n, "--method", "search", "--recount", "100", "--second-pass"];
    _ = cluster.queens(&submit).good();
    let done = wait_until("the end", || Some(cluster.status()).filter(|status| status["state"] == "done"));
    assert!(liar.n_lies() > 0, "it has not lied");
    assert_eq!((&done["solutions"], &done["agrees"]), (&solutions(N).into(), &true.into()), "{done}");

    // All names of the liar are blocked, including a later one, and nobody else.
    let _later = worker(&url, &token, "innocence");
    let workers = wait_until("the twelfth", || Some(cluster.workers()).filter(|workers| workers.len() == 12));
    for worker in &workers {
        let name = worker["name"].as_str().expect("a name");
        assert_eq!(worker["state"] == "blocked", !HONEST.contains(&name), "{worker}");
    }
    for pass in ["1", "2"] {
        let verdicts = cluster.json(&["verdicts", pass]);
        for verdict in verdicts.as_array().expect("an array") {
            assert!(verdict["lost_worker"].as_str().expect("a name").starts_with("mallory-"), "{verdict}");
        }
    }
    let file = cluster.behind.data_dir().with_file_name("certificate");
    let file = utf8(&file);
    _ = cluster.queens(&["export", "1", file]).good();
    let checked = run(queens(["check", file, "--seconds", "0"]));
    assert!(checked.stdout.contains("confirmed by a second party (100 % of the work)"), "{checked:?}");
    assert!(checked.stdout.contains("no part is on the word of one party"), "{checked:?}");
    assert!(
        checked.stdout.contains("lost a dispute; two others agree on all that it counted"),
        "{checked:?}"
    );

    // Unblocking any of the names unblocks the invitation.
    _ = cluster.queens(&["workers", "unblock", "innocence"]).good();
    let is_ready = |workers: &Vec<Value>| workers.iter().all(|worker| worker["state"] == "ready");
    wait_until("nobody is blocked", || Some(cluster.workers()).filter(is_ready));
}

/// With a single invitation, the job waits, and says why.
#[test]
fn a_job_says_that_it_needs_a_second_invitation() {
    let cluster = Cluster::start();
    let url = cluster.behind.coordinator().url();
    let token = cluster.invite(2);
    let _workers = ["rack-1", "rack-2"].map(|name| worker(&url, &token, name));
    _ = cluster.queens(&["submit", "12", "--recount", "100"]).good();
    // Until the workers have connected, it waits for them.
    let reason = "a second invitation is needed";
    let says_why = |status: &Value| status["waits_for"].as_str().is_some_and(|told| told.contains(reason));
    wait_until("the reason", || Some(cluster.status()).filter(says_why));
    let doctor = cluster.queens(&["doctor"]).stdout;
    assert!(doctor.contains(reason), "{doctor}");
    // Without recounts it is done: the end of the verification can be repeated, and so can the verification.
    let done = || wait_until("the end", || Some(cluster.status()).filter(|status| status["state"] == "done"));
    for _ in 0..2 {
        _ = cluster.queens(&["verify-more", "1", "--end"]).good();
        assert_eq!((&done()["solutions"], &done()["recount"]), (&solutions(12).into(), &0.0.into()));
    }
    let more = cluster.queens(&["verify-more", "1", "--recount", "100"]);
    assert!(more.good().stderr.contains("no party confirms its own counts"), "the reason comes first");
    wait_until("the reason", || Some(cluster.status()).filter(says_why));
    // Its second name does not help; another invitation does.
    let other = cluster.invite(1);
    let _other = worker(&url, &other, "anna");
    assert_eq!(done()["recount"], 1.0);
}
