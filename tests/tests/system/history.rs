//! History survives a restart, and has gaps where nobody measured.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use queens_store::sqlite::audit;
use queens_tests::prelude::*;
use rusqlite::Connection;

fn events(site: &str) -> Vec<(u64, String)> {
    let events = http::get(site, "/api/v1/events?limit=1000").json();
    let event = |event: &Value| {
        (event["number"].as_u64().expect("a number"), event["text"].as_str().expect("a text").to_owned())
    };
    events["events"].as_array().expect("events").iter().rev().map(event).collect()
}

/// Starts another coordinator on the same directory and ports, after the first has ended.
fn again(before: Coordinator, data_dir: &Path, end: impl FnOnce(Coordinator)) -> Coordinator {
    let ports = before.ports();
    end(before);
    Coordinator::start_with_http_on(ports, data_dir)
}

#[test]
fn a_job_keeps_the_times_when_it_began_and_ended() {
    let now_ms = || u64::try_from(UNIX_EPOCH.elapsed().expect("a clock").as_millis()).expect("few");
    let Scenario { scratch: _scratch, data_dir, coordinator } = Scenario::with_http();
    let site = coordinator.http();
    let began = now_ms();
    let (done, given_up, waiting) =
        (coordinator.submit(12), coordinator.submit(LONG), coordinator.submit(LONG));
    let before = coordinator.status(&done);
    assert_eq!((&before["started_ms"], &before["finished_ms"]), (&Value::Null, &Value::Null));
    let worker = coordinator.worker("anna");
    assert_eq!(coordinator.queens(["watch", &done]).status.code(), Some(0));
    coordinator.wait_for_state(&given_up, "running");
    assert_eq!(coordinator.queens(["cancel", &given_up]).status.code(), Some(0));
    worker.kill();
    let ended = now_ms();

    let coordinator = again(coordinator, &data_dir, Coordinator::kill);
    for job in [&done, &given_up] {
        let status = coordinator.status(job);
        let time = |field: &str| status[field].as_u64().unwrap_or_else(|| panic!("{field} of {status}"));
        let [created, started, finished] = ["created_ms", "started_ms", "finished_ms"].map(time);
        assert!(
            began <= created && created <= started && started <= finished && finished <= ended,
            "{status}"
        );
        let same = http::get(&site, &format!("/api/v1/jobs/{job}")).json();
        assert_eq!(
            (&same["started_ms"], &same["finished_ms"]),
            (&status["started_ms"], &status["finished_ms"])
        );
    }
    let shown = |job: &str| coordinator.queens(["status", job]).stdout;
    assert!(shown(&done).contains("\nfinished      20"), "{}", shown(&done));
    assert!(shown(&given_up).contains("\ngiven up      20"), "{}", shown(&given_up));
    let text = shown(&waiting);
    assert!(text.contains("\nsubmitted     20") && !text.contains("finished"), "{text}");
}

/// Jobs continue with any damage to the history.
#[test]
fn damaged_history_is_no_obstacle() {
    let Scenario { scratch: _scratch, data_dir, mut coordinator } = Scenario::with_http();
    let site = coordinator.http();
    let job = coordinator.submit(12);
    let worker = coordinator.worker("anna");
    assert_eq!(coordinator.queens(["watch", &job]).status.code(), Some(0));
    worker.kill();
    let has = |text: &str| events(&site).iter().any(|(_, known)| known == text);
    let file = data_dir.join("history.db");

    // A row that was changed, and a file that is not a database.
    let forged = "UPDATE event SET text = 'submitted for n = 99' WHERE text LIKE 'submitted%'";
    let damages: [&dyn Fn(); 3] = [
        &|| Connection::open(&file).expect("opens").execute_batch(forged).expect("SQL"),
        &|| fs::write(&file, b"garbage").expect("written"),
        &|| fs::write(&file, b"").expect("written"),
    ];
    for (i, damage) in damages.into_iter().enumerate() {
        coordinator = again(coordinator, &data_dir, Coordinator::stop);
        assert_eq!(has("submitted for n = 12 by search with priority 0"), i == 0, "after {i} damages");
        coordinator = again(coordinator, &data_dir, |coordinator| {
            coordinator.stop();
            damage();
        });
        assert_eq!(coordinator.status(&job)["solutions"], "14200");
        assert!(!has("submitted for n = 99") && !has("submitted for n = 12 by search with priority 0"));
        assert!(has("coordinator started"));
        assert_eq!(coordinator.log().contains("history is damaged"), i < 2, "{}", coordinator.log());
    }
    // An entry that can't be removed stays.
    let coordinator = again(coordinator, &data_dir, |coordinator| {
        coordinator.stop();
        fs::remove_file(&file).expect("removed");
        fs::create_dir(&file).expect("made");
    });
    assert_eq!(coordinator.status(&job)["solutions"], "14200");
    assert!(coordinator.log().contains("history"), "{}", coordinator.log());
    coordinator.stop();
    audit(&data_dir).expect("consistent records");
}
