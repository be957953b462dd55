//! Jobs of both methods through clusters of real processes.
//!
//! With the environment variable `QUEENS_FAULTS` set to `full`, it counts 20 queens by half boards, for minutes.

use queens_tests::prelude::*;

/// The most queens that both methods count in seconds, without optimisation and with the slowest kernel.
const N: u8 = 14;

/// A board that takes any machine here some hours.
const LONG: u8 = 20;

/// Submits a job by half boards.
fn submit(coordinator: &Coordinator, n: u8) -> String {
    // A recount needs a second worker, and there may be only one.
    coordinator.submit_with(&[&n.to_string(), "--method", "halves", "--recount", "0"])
}

/// A worker is killed when a third is recorded; another continues, and `check` proves the sum from the records.
#[test]
fn halves_are_counted_by_vectors_though_a_worker_is_killed_in_the_middle() {
    let full = is_full("QUEENS_FAULTS");
    let kernel = Kernel::best();
    let n = match kernel {
        _ if full => 20,
        Kernel::Portable => N,
        _ => 16,
    };
    let Scenario { scratch: _scratch, data_dir, coordinator } = Scenario::start();
    let job = submit(&coordinator, n);
    let mut command = worker_command(&coordinator.url(), "victim", kernel);
    if !full {
        command.args(SLOWLY);
    }
    let victim = Running::start(&mut command);
    let status = wait_until("a third of the count", || {
        Some(coordinator.status(&job)).filter(|status| fraction(status) > 0.33)
    });
    victim.kill();
    let killed_at = fraction(&coordinator.status(&job));
    assert!(status["state"] == "running" && killed_at < 0.9, "killed too late, at {killed_at}: {status}");
    let _other = worker_with(&coordinator.url(), "other", kernel);
    let done = coordinator.done(&job);
    assert_eq!((&done["method"], &done["agrees"]), (&"halves".into(), &true.into()));
    assert_eq!(done["solutions"], solutions(n));
    let contributions = coordinator.queens(["contributions", &job]).stdout;
    assert!(["victim", "other"].iter().all(|name| contributions.contains(name)), "{contributions}");
    coordinator.stop();
    let proved = queens_coordinator(&["check", utf8(&data_dir)]).good();
    assert!(proved.stdout.contains(&solutions(n)), "{proved:?}");
    say(&format!("Q({n}) = {} by halves; a worker killed at {:.0} %", solutions(n), 100.0 * killed_at));
}

#[test]
fn a_directory_keeps_its_method() {
    let scratch = TempDir::new();
    let dir = scratch.join("data");
    let count = |method: &[&str]| {
        run(queens(["count", "11", "--output", "json", "--data-dir"]).arg(&dir).args(method))
    };
    let answer: Value = count(&["--method", "halves"]).answer();
    assert_eq!((&answer["method"], &answer["agrees"]), (&"halves".into(), &true.into()));
    let again: Value = count(&[]).answer();
    assert_eq!((&again["method"], &again["counted_now"]), (&"halves".into(), &"0".into()));
    let refused = count(&["--method", "search"]);
    let complaint = refused.complaint(1);
    assert!(
        complaint.contains("holds a count by halves, not by search: choose another directory"),
        "{complaint}"
    );
}

#[test]
fn methods_that_there_are_not_and_what_can_not_be_counted_by_halves_are_said_so() {
    for command in ["count", "submit", "estimate"] {
        let outcome = run(queens([command, "8", "--method", "half"]));
        assert!(outcome.complaint(2).contains("expected auto, search or halves"), "{outcome:?}");
    }
    let outcome = run(queens(["count", "8", "--method", "halves", "--given", "0:0"]));
    assert!(outcome.complaint(2).contains("by search only"), "{outcome:?}");
}

/// Nodes belong to the search.
#[test]
fn the_work_of_halves_is_told_in_units() {
    for (command, expected) in [
        (&["count", "10"][..], &[" units of work in "][..]),
        (&["estimate", "13"], &[" units of work, ", " samples of halves"]),
        (&["bench", "12"], &[" units of work in ", " ns per unit\n", " samples of halves"]),
    ] {
        for (method, in_units) in [("halves", true), ("search", false)] {
            let outcome = run(queens(command.iter().copied().chain(["--method", method])));
            let shown = outcome.stdout;
            assert!(expected.iter().all(|part| shown.contains(part) == in_units), "{shown}");
            assert_eq!(shown.contains("node"), !in_units, "{shown}");
        }
    }
}

/// Lists and metrics show the speed of workers and the fleet by each method.
#[test]
fn speeds_are_told_by_each_method() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with_http();
    let job = submit(&coordinator, LONG);
    let _worker = coordinator.worker("able");
    let told = wait_until("a speed", || {
        let worker = coordinator.workers().into_iter().next()?;
        Some(worker).filter(|worker| worker["speed_by"]["halves"].as_f64() > Some(0.0))
    });
    assert_eq!(told["speed_by"]["search"], 0.0, "{told}");
    assert_eq!(told["speed_by"]["halves"], told["work_per_second"], "{told}");
    let in_hand = &told["counting"];
    assert_eq!((&in_hand["job"], &in_hand["method"]), (&job.into(), &"halves".into()), "{told}");
    let listed = coordinator.queens(["workers"]).stdout;
    assert!(listed.contains(" M units/s") && !listed.to_lowercase().contains("work"), "{listed}");
    let numbers = http::get(&coordinator.http(), "/metrics").body;
    let number = |name: &str| {
        let sample = numbers.lines().find_map(|line| line.strip_prefix(name)).expect(name);
        sample.trim().parse::<f64>().expect("a number")
    };
    assert_eq!(number(r#"queens_work_total{method="search"}"#), 0.0);
    assert!(number(r#"queens_work_total{method="halves"}"#) > 0.0);
}

/// A subproblem of half boards shows the columns of each half, in two colours on its picture, and its queens next to
/// the middle. Each of these queens is on a column of its half.
#[test]
fn a_subproblem_of_halves_is_told_with_its_columns_and_queens() {
    const SIZE: u8 = 25;
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with_http();
    let job = coordinator.queens(["submit", "25", "--method", "halves", "--yes"]).stdout;
    let path = |what: &str| format!("/api/v1/jobs/{}/parts/3{what}", job.trim());
    let told = wait_until("the plan", || {
        let answer = http::get(&coordinator.http(), &path("?subproblem=29"));
        (answer.status == 200).then(|| answer.json())
    });
    let columns = |field: &str| -> Vec<u64> {
        let columns = told[field].as_array().expect(field).iter();
        columns.map(|column| column.as_u64().expect("a number")).collect()
    };
    let (upper, lower) = (columns("prefix_upper"), columns("prefix_lower"));
    let middle = told["queens"][0]["column"].as_u64().expect("the middle row has a queen");
    let mut all = [upper.as_slice(), &lower, &[middle]].concat();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..SIZE.into()), "{told}");
    for (known, of_subproblem) in [("upper", &upper), ("lower", &lower)] {
        assert!(columns(known).iter().all(|column| of_subproblem.contains(column)), "{told}");
    }
    let prefix = told["prefix"].as_array().expect("queens");
    assert_eq!(prefix.len(), 2, "{told}");
    for (queen, row, columns) in [(&prefix[0], 11, &upper), (&prefix[1], 13, &lower)] {
        assert_eq!(queen["row"], row, "{told}");
        assert!(queen["column"].as_u64().is_some_and(|column| columns.contains(&column)), "{told}");
    }
    // Half of the squares above belong to the upper half's columns, and likewise below.
    let picture = http::get(&coordinator.http(), &path("/board.svg?subproblem=29")).body;
    for colours in [["#bcd6ee", "#7fa8cf"], ["#dfc7ef", "#b795d3"]] {
        let n_squares: usize = colours.iter().map(|colour| picture.matches(colour).count()).sum();
        assert_eq!(n_squares, 12 * 12, "{colours:?}");
    }
}

#[test]
fn halves_are_measured_estimated_and_compared() {
    let bench = run(queens(["bench", "12", "--method", "halves", "--output", "json"])).answer();
    assert_eq!((&bench[0]["method"], &bench[0]["agrees"]), (&"halves".into(), &true.into()));
    let estimate = run(queens(["estimate", "12", "--method", "halves", "--output", "json"])).answer();
    assert_eq!((&estimate["method"], &estimate["expected_solutions"]), (&"halves".into(), &14200.0.into()));
    let table = run(queens(["table", "6-9", "--method", "search,halves", "--output", "json"]));
    let rows: Value = table.answer();
    let counts: Vec<&Value> = rows.as_array().expect("rows").iter().map(|row| &row["solutions"]).collect();
    assert_eq!(counts, ["4", "40", "92", "352"]);
    assert!(rows[3]["seconds"]["halves"].is_f64(), "{rows}");
}
