//! Output of commands: a closed stdout, a full one, and limited terminals.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use queens_tests::help::commands;
use queens_tests::prelude::*;
use queens_tests::schema::check_shape;

/// Runs `queens` with its stdout redirected by a shell.
#[track_caller]
fn redirected(args: &str, to: &str) -> Ended {
    run(clean(Command::new("sh")).args(["-c", &format!("exec \"$0\" {args} {to}")]).arg(binary("queens")))
}

const ANSWERS: [&str; 9] = [
    "count 8",
    "count 8 --given 0:0",
    "solve 8",
    "list 6",
    "render 8",
    "render 8 -o - --format svg",
    "animate 4",
    "table 4-5",
    "--help",
];

#[test]
fn an_answer_that_nobody_can_have_is_an_error() {
    for args in ANSWERS {
        let outcome = redirected(args, ">&-");
        let complaint = outcome.complaint(1);
        assert!(
            complaint.contains("failed to write") && complaint.contains("stdout is closed"),
            "{outcome:?}"
        );
        let outcome = redirected(args, ">/dev/full");
        assert!(outcome.complaint(1).contains("No space left"), "{outcome:?}");
    }
}

#[test]
fn an_answer_that_nobody_wants_is_none() {
    let dir = TempDir::new();
    let file = dir.join("board.svg");
    for args in ANSWERS {
        for to in [">/dev/null", "1<>/dev/null", "2>&- | true"] {
            let outcome = redirected(args, to);
            assert_eq!(
                (outcome.status.code(), outcome.stderr.as_str()),
                (Some(0), ""),
                "{args} {to}: {outcome:?}"
            );
        }
    }
    let outcome = redirected(&format!("render 8 -o '{}'", file.display()), ">&-");
    assert_eq!((outcome.status.code(), outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    assert!(file.exists());
}

/// The rest of the table would take hours.
#[test]
fn a_table_of_which_enough_is_read_is_counted_no_further() {
    let table = "table 4-22 --method search --time-limit 1000000";
    let outcome = redirected(table, "| head -n 2");
    assert_eq!((outcome.status.code(), outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    assert_eq!(outcome.stdout.lines().count(), 2, "{outcome:?}");
}

/// Returns the output of `queens` on a terminal.
#[track_caller]
fn on_terminal(args: &str, variables: &[(&str, &str)]) -> String {
    let mut command = clean(Command::new("script"));
    command.args(["-qec", &format!("{} {args}", binary("queens").display()), "/dev/null"]);
    command.env_remove("NO_COLOR").env("TERM", "xterm-256color").envs(variables.iter().copied());
    let outcome = run(command).good();
    outcome.stdout
}

/// Whether a text has colours, or styles such as bold.
fn has_colours(text: &str) -> bool {
    let codes = text.split("\u{1b}[").skip(1);
    codes
        .map(|code| code.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'))
        .any(|end| end.starts_with('m'))
}

#[test]
fn terminals_that_can_do_little_get_plain_lines() {
    if !is_installed("script") {
        return skipped("plain terminals, as there is no script(1) to make one");
    }
    let count = "count 15 --threads 1 --kernel portable";
    assert!(on_terminal(count, &[]).contains('\u{1b}'), "there is a bar");
    for (locale, bar) in [("C.UTF-8", '░'), ("C", '-')] {
        let shown = on_terminal(count, &[("LC_ALL", locale)]);
        assert!(shown.contains(bar) && (shown.is_ascii() == (locale == "C")), "{locale}: {shown:?}");
    }
    let logged = [("QUEENS_LOG", "info")];
    assert!(has_colours(&on_terminal("count 8", &logged)));
    assert!(has_colours(&on_terminal("animate 4 --delay 20", &[])));
    for args in [count, "count 8", "animate 4 --delay 20"] {
        let shown = on_terminal(args, &[("TERM", "dumb"), logged[0]]);
        assert!(!shown.contains('\u{1b}') && !shown.replace("\r\n", "").contains('\r'), "{args}: {shown:?}");
        let shown = on_terminal(args, &[("NO_COLOR", "1"), logged[0]]);
        assert!(!has_colours(&shown), "{args}: {shown:?}");
    }
    assert!(
        has_colours(&on_terminal("count 8", &[("NO_COLOR", ""), logged[0]])),
        "empty counts as not given"
    );
}

#[test]
fn help_and_boards_have_colours_on_terminals_alone() {
    if !is_installed("script") {
        return skipped("colours of help, as there is no script(1) to make a terminal");
    }
    for (args, plain) in [
        ("--help", run(queens(["--help"]))),
        ("workers drain -h", run(queens(["workers", "drain", "-h"]))),
        ("solve 8 --format color", run(queens(["solve", "8", "--format", "unicode"]))),
    ] {
        assert!(has_colours(&on_terminal(args, &[])), "{args}");
        for without in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let shown = on_terminal(args, &[without]).replace("\r\n", "\n");
            assert!(!has_colours(&shown), "{args}: {shown:?}");
        }
        let piped = run(queens(args.split(' ')));
        assert_eq!(piped.stdout, plain.stdout, "{args}");
        assert!(!piped.stdout.contains('\u{1b}'), "{args}: {piped:?}");
    }
    // Without arguments, it prints the most important help on stderr.
    let alone = run(queens([""; 0]));
    assert_eq!((alone.status.code(), alone.stdout.as_str()), (Some(2), ""), "{alone:?}");
    assert!(alone.stderr.contains("\nJobs ") && !alone.stderr.contains('\u{1b}'), "{alone:?}");
    for command in
        ["count", "estimate", "solve", "list", "render", "animate", "check", "merge", "watch", "submit"]
    {
        let missing = run(queens([command]));
        assert!(missing.complaint(2).contains(&format!("(see 'queens {command} --help')")), "{missing:?}");
    }
    let names: Vec<&str> = alone.stderr.split_whitespace().collect();
    for command in commands(&run(queens(["--help"])).stdout) {
        assert!(names.contains(&command), "{command}: {alone:?}");
    }
}

/// Returns the commands, "workers drain" among them, that have `--output FORMAT`.
fn with_output(path: &str) -> BTreeSet<String> {
    let help = run(queens(path.split_whitespace().chain(["--help"]))).stdout;
    let below =
        commands(&help).into_iter().flat_map(|name| with_output(format!("{path} {name}").trim_start()));
    let has_output = help.lines().any(|line| line.trim() == "--output <FORMAT>");
    below.chain(has_output.then(|| path.to_owned())).collect()
}

/// docs/reference/output.json has the shape of the JSON of each command that has an answer.
#[test]
fn every_answer_in_json_has_its_written_shape() {
    let read = |path: &str| {
        let text = fs::read_to_string(Path::new(REPOSITORY).join(path)).expect("it is there");
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    let (document, shapes) = (read("coordinator/src/http/openapi.json"), read("docs/reference/output.json"));
    let mut unchecked = with_output("");
    let without: Vec<&str> = ["animate", "completions", "render", "top"].to_vec();
    let all = run(queens(["--help"])).stdout;
    assert!(
        commands(&all).iter().all(|name| unchecked.contains(*name) != without.contains(name)),
        "{unchecked:?}"
    );
    let written: BTreeSet<String> = shapes.as_object().expect("shapes").keys().cloned().collect();
    assert!(unchecked.iter().all(|command| written.contains(command)), "{unchecked:?}");
    let mut check = |command: &str, answer: &Ended| {
        let shape = &shapes[command];
        assert!(answer.status.success(), "{answer:?}");
        let lines = ["submit", "watch"].contains(&command);
        let values = if lines { answer.stdout.lines().collect() } else { vec![answer.stdout.as_str()] };
        for value in values {
            check_shape(&document, &serde_json::from_str(value).expect("JSON"), shape, command);
        }
        unchecked.remove(command);
    };
    for (command, more) in [
        ("count", "8"),
        ("count --given", "0:0 8"),
        ("estimate", "8"),
        ("bench", "8"),
        ("bench", "8 --kernel all"),
        ("gpus", ""),
        ("table", "4-5"),
        ("table", "9 --method permutations --time-limit 0.000001"),
        ("solve", "8"),
        ("list", "6"),
        ("list", "3"),
    ] {
        let args = format!("{command} {more} --output json");
        check(command, &run(queens(args.split_whitespace())));
    }
    let Scenario { scratch, coordinator, .. } = Scenario::start();
    let _worker = coordinator.worker("first");
    let ask =
        |args: &str| run(coordinator.queens_command(args.split_whitespace()).args(["--output", "json"]));
    check("submit", &ask("submit 9-10"));
    check("watch", &ask("watch 2"));
    let n_parts = coordinator.status("2")["parts"].as_u64().expect("a number");
    let (half, files) = (n_parts / 2, ["3", "4"].map(|job| scratch.join(job)));
    for (job, parts, file) in
        [("3", format!("0..{half}"), &files[0]), ("4", format!("{half}..{n_parts}"), &files[1])]
    {
        _ = ask(&format!("submit 10 --parts {parts}")).good();
        check("watch", &ask(&format!("watch {job}")));
        check("export", &ask(&format!("export {job} {}", utf8(file))));
    }
    let [first, second] = [&files[0], &files[1]].map(|file| utf8(file));
    let whole = scratch.join("whole");
    for (command, args) in [
        ("merge", format!("merge {first} {second} -o {}", utf8(&whole))),
        ("check", format!("check {} --share 100", utf8(&whole))),
        ("check", format!("check {first} --seconds 0")),
    ] {
        check(command, &run(queens(args.split_whitespace().chain(["--output", "json"]))));
    }
    for (command, more) in [
        ("count", "8"),
        ("jobs", ""),
        ("status", "1"),
        ("contributions", "1"),
        ("verdicts", "1"),
        ("workers", ""),
        ("submit", "22"),
        ("pause", "6"),
        ("priority", "6 3"),
        ("resume", "6"),
        ("verify-more", "6 --recount 2"),
        ("cancel", "6"),
        ("workers block", "first"),
        ("workers unblock", "first"),
        ("workers drain", "first"),
        ("audit", ""),
        ("doctor", ""),
    ] {
        check(command, &ask(&format!("{command} {more}")));
    }
    assert_eq!(unchecked, BTreeSet::new());
}
