//! Output of commands: a closed stdout, a full one, and limited terminals.

use std::process::Command;

use queens_tests::help::commands;
use queens_tests::prelude::*;

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
    for format in ["text", "csv"] {
        let outcome = redirected(&format!("{table} --format {format}"), "| head -n 2");
        assert_eq!((outcome.status.code(), outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        assert_eq!(outcome.stdout.lines().count(), 2, "{outcome:?}");
    }
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
    for command in ["count", "estimate"] {
        let usage = format!("Usage: queens {command} ");
        assert!(run(queens([command])).stderr.contains(&usage), "{command}");
    }
    let names: Vec<&str> = alone.stderr.split_whitespace().collect();
    for command in commands(&run(queens(["--help"])).stdout) {
        assert!(names.contains(&command), "{command}: {alone:?}");
    }
}

#[test]
fn output_is_the_form_of_the_answer_in_every_command() {
    let help = |args: &[&str]| run(queens(args.iter().chain(&["--help"]))).stdout;
    let all = help(&[]);
    let mut n_commands = 0;
    for command in commands(&all) {
        n_commands += 1;
        for line in help(&[command]).lines().filter(|line| line.trim_start().starts_with("--output ")) {
            assert_eq!(line.trim(), "--output <FORMAT>", "queens {command}");
        }
    }
    assert!(n_commands >= 19, "{all}");
}
