//! The commands about boards: they find, list and count solutions, compare methods, and explain mistakes.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use queens_solver::{BoardSize, published};
use queens_tests::prelude::*;

fn outcome(args: &str) -> Ended {
    run(queens(args.split_whitespace()))
}

/// Returns the stdout of a successful run without stderr.
#[track_caller]
fn answer(args: &str) -> String {
    let outcome = outcome(args);
    assert_eq!((outcome.status.code(), outcome.stderr.as_str()), (Some(0), ""), "{args}: {outcome:?}");
    outcome.stdout
}

/// Parses `[1 3 0 2]`.
#[track_caller]
fn columns(vector: &str) -> Vec<usize> {
    let inner =
        vector.trim_end().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).expect("brackets");
    inner.split(' ').filter(|word| !word.is_empty()).map(|word| word.parse().expect("a column")).collect()
}

/// Checks all four kinds of lines, without code of the program under test.
#[track_caller]
fn check_solution(n: usize, columns: &[usize]) {
    let queens = || columns.iter().enumerate();
    let distinct = |lines: BTreeSet<usize>| assert_eq!(lines.len(), n);
    distinct(queens().map(|(row, _)| row).collect());
    distinct(queens().map(|(_, &column)| column).collect());
    distinct(queens().map(|(row, &column)| n + column - row).collect());
    distinct(queens().map(|(row, &column)| row + column).collect());
    assert!(columns.iter().all(|&column| column < n));
}

#[track_caller]
fn check_list(args: &str, expected: &[&str]) {
    assert_eq!(answer(&format!("list {args}")).lines().collect::<Vec<_>>(), expected, "{args}");
}

#[test]
fn the_smallest_boards_are_listed_exactly() {
    check_list("0", &["[]"]);
    check_list("1", &["[0]"]);
    check_list("2", &[]);
    check_list("3", &[]);
    check_list("4", &["[1 3 0 2]", "[2 0 3 1]"]);
    let five = ["[0 2 4 1 3]", "[0 3 1 4 2]", "[1 3 0 2 4]", "[1 4 2 0 3]", "[2 0 3 1 4]", "[2 4 1 3 0]"];
    check_list("5 --limit 6", &five);
    check_list("5 --fundamental", &[five[0], five[3]]);
    check_list("5 --limit 0", &[]);
    check_list("6", &["[1 3 5 0 2 4]", "[2 5 1 4 0 3]", "[3 0 4 1 5 2]", "[4 2 0 5 3 1]"]);
    check_list("4 --output json", &["[[1,3,0,2],", "[2,0,3,1]]"]);
    check_list("3 --output json", &["[]"]);
    assert_eq!(answer("solve 4 --output json"), "{\"n\":4,\"columns\":[1,3,0,2]}\n");
    check_list("4 --format coordinates", &["0:1,1:3,2:0,3:2", "0:2,1:0,2:3,3:1"]);
    let boards = [". Q . .", ". . . Q", "Q . . .", ". . Q .", "", ". . Q .", "Q . . .", ". . . Q", ". Q . ."];
    check_list("4 --format board", &boards);
    let framed = ["┌──┐", "│♛ │", "└──┘"];
    check_list("1 --format unicode", &framed);
    check_list("1 --format color", &framed);
}

#[test]
fn lists_are_as_long_as_published_in_order_and_of_solutions() {
    for n in BoardSize::range(0, 10) {
        let all = answer(&format!("list {n}"));
        let all: Vec<Vec<usize>> = all.lines().map(columns).collect();
        assert!(all.is_sorted_by(|a, b| a < b), "n = {n}");
        all.iter().for_each(|columns| check_solution(n.get().into(), columns));
        let fundamental = answer(&format!("list {n} --fundamental")).lines().count();
        let published = published(n).expect("it is small");
        let expected = (published.solutions, published.fundamental);
        assert_eq!((all.len() as u128, fundamental as u128), expected, "n = {n}");
    }
    assert_eq!(answer("list 12").lines().count(), 14200);
    assert_eq!(answer("list 12 --fundamental").lines().count(), 1787);
}

#[test]
fn listing_takes_no_more_memory_the_longer_it_goes_on() {
    let mut command = queens(["list", "17"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the program can be started");
    let stdout = child.stdout.take().expect("piped");
    // It runs while its output is not read to the end.
    let peak_kib = || peak_memory_kib(child.id());
    let mut lines = BufReader::new(stdout).lines();
    assert!(lines.by_ref().take(5_000).all(|line| line.is_ok()));
    let before = peak_kib();
    assert!(lines.by_ref().take(300_000).all(|line| line.is_ok()));
    let after = peak_kib();
    // The reader closes the pipe, which ends the program.
    drop(lines);
    let ended = child.wait().expect("our child");
    assert_eq!(ended.code(), Some(0));
    // At a hundred bytes per solution, it would be 30 MB.
    assert!(after < before + 1000, "{before} kB, then {after} kB");
}

#[test]
fn every_board_that_has_a_solution_is_solved() {
    for n in [0, 1, 4, 5, 6, 7, 8, 9, 14, 15, 25, 100, 1000, 1_000_000] {
        let solution = columns(&answer(&format!("solve {n}")));
        check_solution(n, &solution);
    }
    for n in [2, 3] {
        let none = format!("there is no solution for n = {n}");
        for method in ["", "--random --seed 1", "--given 0:0", "--method naive"] {
            let outcome = outcome(&format!("solve {n} {method}"));
            assert_eq!((outcome.status.code(), outcome.stdout.as_str()), (Some(1), ""), "{outcome:?}");
            let message = outcome.stderr.lines().last().unwrap_or_default();
            let given = format!("no solution for n = {n} has queens on 0:0");
            assert!(message == none || message == given, "{outcome:?}");
        }
    }
}

#[test]
fn solutions_are_found_at_random_and_again_by_their_seed() {
    for n in [4, 8, 31, 500] {
        let first = answer(&format!("solve {n} --random --seed 7"));
        check_solution(n, &columns(&first));
        assert_eq!(answer(&format!("solve {n} --random --seed 7")), first);
    }
    assert_ne!(answer("solve 500 --random --seed 7"), answer("solve 500 --random --seed 8"));
    // Without a given seed, the output has the flag that repeats the run.
    let outcome = outcome("solve 100 --random").good();
    let again = answer(&format!("solve 100 --random {}", outcome.stderr.trim()));
    assert_eq!(again, outcome.stdout);
}

#[test]
fn given_queens_are_completed_or_it_is_said_that_they_can_not_be() {
    for random in ["", "--random --seed 3", "--method naive", "--method propagation", "--method backtracking"]
    {
        let outcome = outcome(&format!("solve 8 --given 1:2,0:0 {random}"));
        assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
        assert!(outcome.stderr.ends_with("no solution for n = 8 has queens on 1:2,0:0\n"), "{outcome:?}");
        let outcome = outcome_of_given(random);
        let solution = columns(&outcome.stdout);
        check_solution(8, &solution);
        assert_eq!((solution[0], solution[3]), (2, 7), "{outcome:?}");
    }
    let large = columns(&answer("solve 300 --given 0:0,299:150"));
    check_solution(300, &large);
    assert_eq!((large[0], large[299]), (0, 150));
    // Printed coordinates can be given as input.
    let coordinates = answer("solve 20 --format coordinates");
    assert_eq!(answer(&format!("solve 20 --given {coordinates}")), answer("solve 20"));
}

#[track_caller]
fn outcome_of_given(method: &str) -> Ended {
    outcome(&format!("solve 8 --given 0:2,3:7 {method}")).good()
}

#[test]
fn methods_say_what_they_tried() {
    for (method, tried) in [
        ("backtracking", "876 squares tried, 113 queens placed, 105 taken back"),
        ("naive", "17207 squares tried, 1969 queens placed, 1961 taken back"),
        ("propagation", "70 squares tried, 70 queens placed, 62 taken back, 367 squares pruned"),
    ] {
        let outcome = outcome(&format!("solve 8 --method {method}"));
        assert_eq!(outcome.stdout, "[0 4 7 5 2 6 1 3]\n", "{outcome:?}");
        assert_eq!(outcome.stderr, format!("{method}: {tried}\n"));
    }
}

#[test]
fn a_search_that_takes_too_long_says_that_the_time_ran_out() {
    for args in ["solve 40 --method naive", "solve 60 --method backtracking"] {
        let outcome = outcome(&format!("{args} --time-limit 0.2"));
        assert_eq!((outcome.status.code(), outcome.stdout.as_str()), (Some(1), ""), "{outcome:?}");
        assert!(outcome.stderr.contains("time ran out: no solution for n = "), "{outcome:?}");
        assert!(outcome.stderr.contains("found in 0.2 s, but there may be one\n"), "{outcome:?}");
    }
}

#[test]
fn completions_of_given_queens_are_counted() {
    let count = |n: u8, given: &str| {
        let outcome = run(queens(["count", &n.to_string(), "--given", given, "--output", "json"]));
        let mut answer = outcome.answer();
        let fields = answer.as_object_mut().expect("an object");
        for field in ["method", "work", "seconds", "threads", "kernel"] {
            assert!(fields.remove(field).is_some(), "{outcome:?}");
        }
        let solutions = fields.remove("solutions").expect("counted");
        assert_eq!(answer, json!({ "n": n, "given": given }));
        solutions.as_str().expect("text").parse::<u128>().expect("decimal")
    };
    for n in [1, 4, 5, 8, 11] {
        // Each solution has one queen in row 2, or the last one.
        let row = 2.min(n - 1);
        let sum: u128 = (0..n).map(|column| count(n, &format!("{row}:{column}"))).sum();
        let size = BoardSize::new(n).expect("a board size");
        assert_eq!(sum, published(size).expect("it is small").solutions, "n = {n}");
    }
    assert_eq!(count(12, ""), 14200);
    assert_eq!(count(8, "0:0,1:4,2:7"), 1);
    assert_eq!(count(0, ""), 1);
    let text = answer("count 8 --given 0:0");
    assert!(text.starts_with("4 solutions of n = 8 with queens on 0:0\n"), "{text}");
}

#[test]
fn methods_agree_in_the_table() {
    let table: Value = serde_json::from_str(&answer("table 0-9 --output json")).expect("JSON");
    let rows = table.as_array().expect("an array");
    assert_eq!(rows.len(), 10);
    let methods = ["permutations", "backtracking", "propagation", "bitcode", "bitmask", "kernel", "halves"];
    for (n, row) in (0..).zip(rows) {
        let published = published(BoardSize::new(n).expect("a board size")).expect("it is small");
        assert_eq!(row["n"], json!(n));
        assert_eq!(row["solutions"], json!(published.solutions.to_string()));
        assert_eq!(row["fundamental"], json!(published.fundamental.to_string()));
        let seconds = row["seconds"].as_object().expect("an object");
        assert_eq!(seconds.keys().map(String::as_str).collect::<BTreeSet<_>>(), BTreeSet::from(methods));
        assert!(seconds.values().all(|s| s.as_f64().is_some_and(|s| s > 0.0)), "{row}");
    }
}

#[test]
fn tables_have_a_column_for_each_method_asked_for() {
    let text = answer("table 7-8 --method bitmask,kernel --method bitmask");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["n", "solutions", "fundamental", "bitmask", "kernel"]);
    assert_eq!((&lines[1][..3], &lines[2][..3]), (&["7", "40", "6"][..], &["8", "92", "12"][..]));
    assert!(lines[1..].iter().all(|line| line[3..].iter().all(|s| s.parse::<f64>().is_ok())), "{text}");
}

#[test]
fn a_method_that_takes_too_long_is_given_up() {
    let table = "table 16-18 --method permutations --method kernel --time-limit 0.05 --output json";
    let table: Value = serde_json::from_str(&outcome(table).good().stdout).expect("JSON");
    assert_eq!(table[0]["seconds"]["permutations"], Value::Null, "16! permutations take hours: {table}");
    // No method comes near to its end, and each stops early.
    let slow = "backtracking,propagation,bitmask,kernel";
    let outcome = run(queens(["table", "24-30", "--method", slow, "--time-limit", "0.1", "--yes"]));
    let rows: Vec<Vec<&str>> = outcome.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[1..], [["24", "-", "-", ">", "0.1", ">", "0.1", ">", "0.1", ">", "0.1"]], "{outcome:?}");
    assert!(outcome.stderr.contains("no method is left for n = 25"), "{outcome:?}");
    // Bitcode has no such board, so it needs no confirmation.
    let outcome = run(queens(["table", "14", "--method", "bitcode"]));
    assert!(outcome.stderr.contains("no method is left for n = 14"), "{outcome:?}");
}

#[track_caller]
fn check_usage(args: &[&str], expected: &[&str]) {
    let outcome = run(queens(args));
    let complaint = outcome.complaint(2);
    for part in expected {
        assert!(complaint.contains(part), "'{part}' is not in: {complaint}");
    }
}

#[test]
fn wrong_usage_names_what_is_wrong() {
    let rows: &[(&[&str], &[&str])] = &[
        (&["solve", "10000001"], &["'10000001'", "0 to 10000000"]),
        (&["solve", "-1"], &["'-1'", "0 to 10000000"]),
        (&["solve", "8", "--given", "0:0,1:1"], &["0:0 and 1:1 attack each other"]),
        (&["solve", "8", "--given", "0:0,0:0"], &["0:0 and 0:0 attack each other"]),
        (&["solve", "8", "--given", "0:8"], &["0:8", "not on the board", "below n = 8"]),
        (&["solve", "8", "--given", "0-8"], &["'0-8'", "row:column"]),
        (&["solve", "8", "--given", "0:-1"], &["'0:-1'", "row:column"]),
        (&["solve", "8", "--given", "1:1,"], &["''", "row:column"]),
        (&["solve", "8", "--given", "99999999999:1"], &["'99999999999:1'", "row:column"]),
        (&["solve", "8", "--format", "xml"], &["'xml'", "vector, board, unicode, color, coordinates"]),
        (&["solve", "8", "--format", "board", "--output", "json"], &["--format", "--output json"]),
        (&["solve", "10001", "--format", "unicode"], &["up to n = 10000", "--format"]),
        (&["solve", "8", "--method", "magic"], &["'magic'", "naive"]),
        (&["solve", "8", "--method", "construction", "--given", "0:0"], &["construction", "given"]),
        (&["solve", "8", "--random", "--method", "naive"], &["--random", "--method"]),
        (&["solve", "8", "--seed", "1"], &["--seed", "--random"]),
        (&["solve", "8", "--random", "--seed", "-1"], &["'-1'", "--seed"]),
        (&["solve", "10001", "--random"], &["10000", "10001"]),
        (&["solve", "10001", "--method", "naive"], &["10000", "10001"]),
        (&["solve", "8", "--time-limit", "0"], &["'0'", "more than 0"]),
        (&["solve", "8", "--time-limit", "nan"], &["'nan'", "more than 0"]),
        (&["list", "33"], &["'33'", "0 to 32"]),
        (&["list", "8", "--format", "png"], &["'png'", "vector, board, unicode, color, coordinates"]),
        (&["list", "8", "--limit", "-1"], &["'-1'", "--limit"]),
        (&["count", "8", "--given", "0:0,5:0"], &["0:0 and 5:0 attack each other"]),
        (&["count", "8", "--given", "8:0"], &["8:0", "below n = 8"]),
        (&["count", "8", "--given", "0:0", "--data-dir", "x"], &["--given", "--data-dir"]),
        (&["count", "8", "--given", "0:0", "--coordinator", "http://h:1"], &["--given", "--coordinator"]),
        (&["table", "9-8"], &["'9-8'", "the smaller first"]),
        (&["table", "33"], &["'33'", "0 to 32"]),
        (&["table", "30"], &["n = 30", "core-years", "--yes"]),
        (&["table", "--method", "abacus"], &["'abacus'", "permutations"]),
        (&["table", "--plot", "x.png"], &["'x.png'", ".svg"]),
        (&["render", "8", "--vector", "1 3 0 2"], &["--vector"]),
        (&["render", "1001"], &["'1001'", "0 to 1000"]),
        (&["render", "--vector", "0 1 2 3"], &["0:0 and 1:1", "attack each other"]),
        (&["render", "--vector", "1 3 0 4"], &["3:4", "not on a board of 4 rows"]),
        (&["render", "--vector", "a b"], &["'a'", "column"]),
        (&["render", "8", "-o", "x.bmp"], &["'x.bmp'", ".svg, .png or .txt"]),
        (&["render", "8", "-o", "x"], &["'x'", ".svg, .png or .txt"]),
        (&["render", "8", "-o", "x.svg", "--format", "gif"], &["'gif'", "text, svg, png"]),
        (&["render", "8", "-o", "x.svg", "--tile-size", "3"], &["'3'", "4 to 400"]),
        (&["render", "8", "-o", "x.svg", "--theme", "blue"], &["'blue'", "wood, light, dark, print"]),
        (&["render", "8", "--coordinates"], &["--coordinates", "pictures", "-o"]),
        (&["render", "8", "-o", "x.txt", "--theme", "dark"], &["--theme", "pictures"]),
        (&["render", "8", "-o", "x.png", "--caption", "a"], &["caption", "SVG"]),
        (&["render", "8", "-o", "x.svg", "--caption", "a\nb"], &["--caption", "200 visible characters"]),
        (&["submit", "28-24"], &["'28-24'", "the smaller first", "24-28"]),
        (&["submit", "9", "--priority", "high"], &["'high' is no priority"]),
        (&["priority", "1", "1001"], &["from -1000 to 1000"]),
        (&["submit", "16-17", "--parts", "0..3"], &["--parts", "16 to 17", "each by itself"]),
        (&["submit", "26-28"], &["n = 26 to 28", "core-years", "--yes"]),
        (&["jobs", "--state", "running,tired"], &["'tired'", "planning, queued, running, paused, done"]),
        (&["render", "8", "--all", "--fundamental"], &["--all", "--fundamental"]),
        (&["render", "14", "--all", "-o", "x.svg"], &["n = 14", "more than 2000"]),
        (&["render", "40", "--all", "-o", "x.svg"], &["n = 40", "more than 2000"]),
        (&["animate", "8", "-o", "x.mp4"], &["'x.mp4'", ".gif or .svg"]),
        (&["animate", "33"], &["'33'", "0 to 32"]),
        (&["animate", "8", "--delay", "5"], &["'5'", "20 to 10000"]),
    ];
    for (args, expected) in rows {
        check_usage(args, expected);
    }
}

#[test]
fn the_search_is_shown_in_the_terminal() {
    if !is_installed("script") {
        return skipped("the search in a terminal, as there is no program 'script' to make one");
    }
    let shown = |n: u32, size: &str| {
        let temp = TempDir::new();
        let command = format!("stty {size}; {} animate {n} --delay 20", binary("queens").display());
        let mut script = clean(Command::new("script"));
        script.args(["--quiet", "--return", "--command", &command, "/dev/null"]).current_dir(temp.path());
        script.env("TERM", "xterm-256color");
        run(script)
    };
    let outcome = shown(4, "rows 24 cols 80").good();
    assert!(outcome.stdout.contains("26 squares tried, 1 solution\r\n"), "{outcome:?}");
    // The animation hides the cursor, overwrites lines, and draws a green and a red square.
    for code in ["\x1b[?25l", "\x1b[?25h", "\x1b[48;5;113mQ ", "\x1b[48;5;203mx "] {
        assert!(outcome.stdout.contains(code), "{code:?} is not there");
    }
    let outcome = shown(30, "rows 24 cols 80");
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    assert!(outcome.stdout.contains("needs a terminal of 32 lines and 60 columns"), "{outcome:?}");
}

#[test]
fn the_search_is_written_to_a_pipe_without_codes() {
    let text = answer("animate 4");
    let pictures: Vec<&str> = text.trim_end().split("\n\n").collect();
    assert_eq!(pictures[0], ". . . .\n. . . .\n. . . .\n. . . .\n0 squares tried, 0 solutions");
    assert_eq!(pictures[2], "Q . . .\nx . . .\n. . . .\n. . . .\n2 squares tried, 0 solutions");
    let last = pictures.last().expect("there are some");
    assert_eq!(*last, ". Q . .\n. . . Q\nQ . . .\n. . Q .\n26 squares tried, 1 solution");
    // The limit on pictures admits the 12 solutions of n = 8, but not all of n = 9.
    let outcome = outcome("animate 9 --all");
    assert_eq!(outcome.status.code(), Some(0));
    assert_eq!(outcome.stderr, "the search goes on: only its first 20000 pictures are shown\n");
    assert_eq!(outcome.stdout.matches("squares tried").count(), 20_000);
}
