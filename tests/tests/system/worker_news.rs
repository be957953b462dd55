//! What a coordinator tells the people who run workers: which version to install, what to wait for, and that it is
//! over.

use std::time::Duration;

use queens_proto::pb::coordinator_message::Message;
use queens_proto::pb::workers_client::WorkersClient;
use queens_proto::pb::{self, Notice, worker_message};
use queens_tests::guest::Guest;
use queens_tests::prelude::*;
use queens_tests::session::{self, said};
use tokio::time::timeout;

const ABOUT: &str = "https://queens.example.org/about";

#[test]
fn a_worker_says_once_what_it_waits_for_and_that_it_is_over() {
    let (guarded, guest) = (Guarded::new(&["--about-url", ABOUT]), Guest::new());
    let [operator, worker] = ["operator", "worker"].map(|role| guarded.invite(["--role", role]));
    let mut anna = guest.start(guarded.worker_command(&worker, "anna"), "anna");
    let queens = |args: &[&str]| {
        _ = guarded.queens(&operator, args).good();
    };
    let waits_for = |text: &str| {
        let logged = format!("nothing to count: {text} (see {ABOUT})");
        anna.wait_for_log(&logged);
        let told = guest.status("anna").expect("it answers");
        assert_eq!(told["waits_for"], format!("{text} (see {ABOUT})"), "{told}");
        assert_eq!((&told["state"], &told["news"]), (&Value::from("no_job"), &Value::Null), "{told}");
        let lines = guest.run(&["status"]).stdout;
        assert!(lines.contains(&format!("state        not counting: {text} (see {ABOUT})")), "{lines}");
    };
    waits_for("there is no job at present: this worker waits for the next");
    queens(&["submit", "20"]);
    queens(&["pause", "1"]);
    waits_for("the operator has paused all jobs");
    // It counts, and waits for the same again: that is no news.
    queens(&["resume", "1"]);
    guest.wait_for("anna", "counting");
    queens(&["pause", "1"]);
    guest.wait_for("anna", "no_job");
    guarded.manage(["campaign", "open"]);
    guarded.manage(["campaign", "close", "--all"]);
    queens(&["cancel", "1"]);
    waits_for("the campaign has ended, and all its jobs are counted: thank you! You may stop this worker");
    assert_eq!(anna.log().matches("the operator has paused all jobs").count(), 1, "{}", anna.log());
    let other = guarded.invite(["--role", "worker"]);
    let mut bert = Service::start(guarded.worker_command(&other, "bert"), &guest.path("bert.log"));
    bert.wait_for_log("nothing to count");
    queens(&["workers", "drain", "bert"]);
    assert_eq!(bert.wait().code(), Some(0));
    let told = format!("has drained this worker: it reports its counts and ends (see {ABOUT})");
    assert!(bert.log().contains(&told), "{}", bert.log());
    guarded.manage(["revoke", "2"]);
    assert_eq!(anna.wait().code(), Some(1));
    let last = format!("refused this worker: the invitation was revoked (see {ABOUT})");
    assert!(anna.log().contains(&last), "{}", anna.log());
}

fn hello(protocol: u32, build: &str) -> pb::WorkerMessage {
    let (build, halves_work_per_second) = (build.to_owned(), 1.0);
    let hello = pb::Hello { protocol, build, halves_work_per_second, ..session::hello(7, "anna") };
    said(worker_message::Message::Hello(hello))
}

/// Opens a session; returns its first notices, or why it ended.
async fn notices(url: &str, hello: pb::WorkerMessage, n_notices: usize) -> Result<Vec<Notice>, String> {
    let mut client = WorkersClient::connect(url.to_owned()).await.expect("connected");
    let stays = tokio_stream::StreamExt::chain(tokio_stream::iter([hello]), tokio_stream::pending());
    let mut session = client.session(stays).await.map_err(|status| status.message().to_owned())?.into_inner();
    let mut found = Vec::new();
    while found.len() < n_notices {
        let next = timeout(Duration::from_secs(600), session.message()).await.expect("in time");
        let next = next.map_err(|status| status.message().to_owned())?.expect("a message");
        if let Some(Message::Notice(notice)) = next.message {
            found.push(notice);
        }
    }
    Ok(found)
}

#[tokio::test]
async fn workers_of_other_versions_are_told_which_one_to_install() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with(["--about-url", ABOUT]);
    let version = env!("CARGO_PKG_VERSION");
    let refused = notices(&coordinator.url(), hello(99, version), 1).await.expect_err("refused");
    let expected = format!("install version {version}");
    assert!(refused.starts_with("protocol version 99 is not supported"), "{refused}");
    assert!(refused.contains(&expected) && refused.ends_with(&format!("(see {ABOUT})")), "{refused}");
    let mut found = notices(&coordinator.url(), hello(2, "0.0.1"), 2).await.expect("notices");
    found.sort_by_key(|notice| notice.is_reason_to_wait);
    assert!(found[0].text.starts_with("this worker has version 0.0.1, and the coordinator "), "{found:?}");
    assert!(found[1].is_reason_to_wait && found[1].text.contains("there is no job"), "{found:?}");
    assert!(found.iter().all(|notice| notice.url == ABOUT), "{found:?}");
    let found = notices(&coordinator.url(), hello(2, version), 1).await.expect("a notice");
    assert!(found[0].is_reason_to_wait, "{found:?}");
}
