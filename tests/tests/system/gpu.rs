//! Cards in the programs: here the processor as a device of OpenCL, by PoCL.

use std::process::Command;

use queens_tests::prelude::*;
use queens_tests::workers::worker;

/// Returns the name of a device of OpenCL; `None` if there is none here.
fn card() -> Option<String> {
    let cards = run(queens(["gpus", "--output", "json"])).answer();
    let ids = cards.as_array().expect("a list").iter().filter_map(|card| card["id"].as_str());
    let card = ids.filter(|id| id.starts_with("opencl:")).map(str::to_owned).next();
    if card.is_none() {
        skipped("counting by a card, as there is no OpenCL");
    }
    card
}

#[test]
fn a_board_is_counted_by_a_card() {
    let Some(card) = card() else { return };
    let answer = run(queens(["count", "14", "--gpu", &card, "--threads", "0", "--output", "json"])).answer();
    assert_eq!((&answer["solutions"], &answer["kernel"]), (&solutions(14).into(), &"opencl".into()));
    assert_eq!((&answer["method"], &answer["agrees"]), (&"halves".into(), &true.into()));
}

#[test]
fn a_board_is_counted_by_a_card_and_the_processor() {
    let Some(card) = card() else { return };
    // One of them may count a small board before the other has begun.
    let has_shared = |n: u8| {
        let args = ["count", &n.to_string(), "--gpu", &card, "--threads", "1", "--output", "json"];
        let answer = run(queens(args)).answer();
        assert_eq!((&answer["solutions"], &answer["threads"]), (&solutions(n).into(), &2.into()));
        assert_eq!(answer["agrees"], true);
        answer["kernel"] == format!("{}+opencl", Kernel::best())
    };
    assert!((14..=17).any(has_shared), "only one of them has counted");
}

#[test]
fn what_a_card_can_not_count_is_refused() {
    let refused = |args: &[&str]| {
        let ended = run(queens([&["count"], args].concat()));
        (ended.status.code(), ended.stderr)
    };
    let (code, stderr) = refused(&["14", "--gpu", "cuda:77"]);
    assert!(code == Some(2) && stderr.contains("there is no card cuda:77 here"), "{stderr}");
    let (code, stderr) = refused(&["14", "--threads", "0"]);
    assert!(code == Some(2) && stderr.contains("leaves nothing that counts"), "{stderr}");
    let (code, stderr) = refused(&["14", "--gpu", "rtx"]);
    assert!(code == Some(2) && stderr.contains("expected a card, such as cuda:0 or opencl:0"), "{stderr}");
    let Some(card) = card() else { return };
    for (args, why) in [
        (&["11"][..], "cards count n = 12 to 29, not 11"),
        (&["14", "--method", "search"], "cards count by halves only"),
        (&["14", "--given", "0:1"], "given queens are counted by the processor only"),
    ] {
        let (code, stderr) = refused(&[args, &["--gpu", &card]].concat());
        assert!(code == Some(2) && stderr.contains(why), "{stderr}");
    }
}

/// A worker with a card and one without count a board together, the card's is killed, and half of the board is counted
/// again by other workers.
#[test]
fn cards_and_processors_share_a_job() {
    let Some(card) = card() else { return };
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let job = coordinator.submit_with(&["15", "--method", "halves", "--recount", "50"]);
    let mut command = program("queens-worker");
    command.args(["--coordinator", &coordinator.url(), "--name", "card", "--gpu", &card, "--threads", "0"]);
    let with_card = Running::start_silent(command.args(SLOWLY));
    let contributions = || coordinator.json(["contributions", &job]).as_array().expect("a list").clone();
    let has_counted = |kernel: &str| contributions().iter().any(|one| one["kernel"] == kernel);
    // The processor is faster than itself as a card, and would leave it nothing.
    wait_for("counts of the card", || has_counted("opencl"));
    let _without = worker(&coordinator.url(), "processor");
    wait_for("counts of the processor", || has_counted("portable"));
    drop(with_card.kill());
    let _fast = fast_worker(&coordinator.url());
    let status = coordinator.done(&job);
    assert_eq!(status["solutions"], solutions(15));
    assert!(has_counted("opencl"), "{status}");
    let name = format!("card-{card}");
    assert!(contributions().iter().any(|one| one["worker"] == name), "{:?}", contributions());
}

/// The script for people with a card prints a row for each board; without a card, it says so.
#[test]
fn the_script_checks_a_card() {
    let check = |card: &str| {
        let mut command = clean(Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/gpu-check")));
        command.env("QUEENS", binary("queens")).args(["--card", card, "--to", "13"]);
        run(command)
    };
    let ended = check("cuda:77");
    assert!(ended.status.code() == Some(1) && ended.stderr.contains("there is no "), "{ended:?}");
    let Some(card) = card() else { return };
    let ended = check(&card);
    let rows = ended.stdout.lines().filter(|line| line.ends_with(" agrees")).count();
    assert!(ended.status.success() && rows == 2 && ended.stdout.contains(&card), "{ended:?}");
}
