//! The command line of `queens count`: answers, refusals, and sources of its settings.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use queens_solver::{BoardSize, published};
use queens_tests::prelude::*;

const JSON: [&str; 2] = ["--output", "json"];

fn count(n: u8, args: &[&str]) -> Ended {
    let n = n.to_string();
    run(queens(["count", &n].iter().chain(args)))
}

/// Removes a field from an answer.
#[track_caller]
fn take(answer: &mut Value, field: &str) -> Value {
    answer.as_object_mut().and_then(|fields| fields.remove(field)).expect("the field is there")
}

/// Checks all fields of the answer; returns the nodes, which no table contains.
#[track_caller]
fn check_json(n: BoardSize, threads: usize) -> String {
    let outcome = count(n.get(), &["--output", "json", "--threads", &threads.to_string()]);
    let mut answer = outcome.answer();
    let seconds = take(&mut answer, "seconds").as_f64().expect("a number");
    assert!((0.0..=outcome.elapsed.as_secs_f64()).contains(&seconds), "{outcome:?}");
    let work = take(&mut answer, "work").as_str().expect("text").to_owned();
    let published = published(n).expect("it is small");
    let expected = json!({
        "n": n.get(),
        "method": "search",
        "solutions": published.solutions.to_string(),
        "fundamental": published.fundamental.to_string(),
        "threads": threads,
        "published": published.solutions.to_string(),
        "agrees": true,
        "counted_now": work,
    });
    let kernel = take(&mut answer, "kernel");
    let mut here = Kernel::ALL.into_iter().filter(|kernel| kernel.is_available());
    assert!(here.any(|one| kernel == one.name()), "{kernel}");
    assert!(take(&mut answer, "begun_at").as_str().is_some_and(|begun| begun.ends_with('Z')));
    assert_eq!(take(&mut answer, "counted_by"), json!([]), "nothing is stored");
    assert_eq!(answer, expected);
    work
}

#[test]
fn answers_agree_with_the_published_counts_on_any_number_of_threads() {
    // The release binary also counts 17 and 18: see .ci/run.
    let mut nodes_before = 0;
    for n in BoardSize::range(0, 16) {
        let [one, two] = [1, 2].map(|threads| check_json(n, threads));
        assert_eq!(one, two, "nodes of n = {n} on one and two threads");
        let work: u64 = one.parse().expect("decimal");
        assert!(n.get() < 8 || work > nodes_before, "nodes of n = {n}");
        nodes_before = work;
    }
}

#[track_caller]
fn check_text(n: u8, expected: &str) {
    let outcome = count(n, &[]);
    assert_eq!((outcome.status.code(), outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    let [counts, published, work] = lines[..] else { panic!("three lines: {outcome:?}") };
    assert_eq!(counts, expected);
    assert_eq!(published, "agrees with the published count");
    assert!(work.contains(" nodes in ") || work.starts_with("1 node in "), "{work}");
}

#[test]
fn text_says_the_counts_first() {
    check_text(0, "Q(0) = 1 solution, 1 of them fundamental");
    check_text(2, "Q(2) = 0 solutions, 0 of them fundamental");
    check_text(8, "Q(8) = 92 solutions, 12 of them fundamental");
    check_text(13, "Q(13) = 73712 solutions, 9233 of them fundamental");
}

#[track_caller]
fn check_usage(args: &[&str], env: &[(&str, &str)], expected: &[&str]) {
    let outcome = run(with_env(queens(args), env));
    let complaint = outcome.complaint(2);
    assert!(complaint.starts_with("error: "), "{complaint}");
    for part in expected.iter().chain(&["--help"]) {
        assert!(complaint.contains(part), "'{part}' is not in: {complaint}");
    }
}

fn with_env(mut command: Command, env: &[(&str, &str)]) -> Command {
    command.envs(env.iter().copied());
    command
}

#[test]
fn wrong_usage_is_one_line_that_says_what_is_wrong_and_what_is_expected() {
    for n in ["33", "-1", "x", "8.5", "", "1e1", "99999999999999999999999"] {
        check_usage(&["count", n], &[], &[&format!("'{n}'"), "<N>", "0 to 32"]);
    }
    check_usage(&["count", "8", "--threads", "0"], &[], &["--threads 0 leaves nothing that counts"]);
    for threads in ["-1", "x", "4097", "99999999999999999999999"] {
        let expected = [&format!("'{threads}'"), "--threads", "0 to 4096"];
        check_usage(&["count", "8", "--threads", threads], &[], &expected);
        check_usage(&["count", "8"], &[("QUEENS_THREADS", threads)], &expected);
    }
    let rows: &[(&[&str], &[&str])] = &[
        (&["count", "8", "--kernel", "avx9"], &["'avx9'", "--kernel", "auto", "portable"]),
        (&["count", "8", "--output", "xml"], &["'xml'", "--output", "text, json"]),
        (&["count", "8", "--threads"], &["--threads"]),
        (&["count", "8", "--data-dir", ""], &["--data-dir"]),
        (&["count", "8", "--bogus"], &["'--bogus'"]),
        (&["count", "8", "9"], &["'9'"]),
        (&["count", "--threads", "2"], &["<N>"]),
        (&["bogus"], &["'bogus'"]),
        (&["8"], &["'8'"]),
        (&["--bogus"], &["'--bogus'"]),
    ];
    for (args, expected) in rows {
        check_usage(args, &[], expected);
    }
    check_usage(&["count", "8"], &[("QUEENS_KERNEL", "avx9")], &["'avx9'", "--kernel", "auto", "portable"]);
    check_usage(&["count", "8"], &[("QUEENS_OUTPUT", "xml")], &["'xml'", "--output", "text, json"]);
}

#[test]
fn mistakes_are_told_with_what_mends_them() {
    let rows: &[(&[&str], &[&str])] = &[
        (&["count", "8", "--bogus"], &["(see 'queens count --help')"]),
        (&["workers", "drain"], &["(see 'queens workers drain --help')"]),
        (&["solve", "8", "--seed", "1"], &["(see 'queens solve --help')"]),
        (&["bogus"], &["(see 'queens --help')"]),
        (&["cuont", "8"], &["did you mean 'count'?", "(see 'queens --help')"]),
        (&["count", "8", "--thread", "2"], &["did you mean '--threads'?"]),
        (&["submit", "8", "--second-pass", "halves"], &["did you mean '--second-pass=halves'?"]),
        (&["count", "8", "--local", "--coordinator", "http://127.0.0.1:1"], &["--local", "--coordinator"]),
    ];
    for (args, expected) in rows {
        check_usage(args, &[], expected);
    }
    let coordinator = ("QUEENS_COORDINATOR", "http://127.0.0.1:1");
    let said = "QUEENS_COORDINATOR is set to 'http://127.0.0.1:1', which stands for --coordinator: \
                unset it or use --local";
    check_usage(&["count", "8", "--threads", "2"], &[coordinator], &[said]);
    check_usage(
        &["count", "8"],
        &[coordinator, ("QUEENS_THREADS", "2")],
        &[said, "; QUEENS_THREADS is set to '2'"],
    );
    check_usage(
        &["count", "8", "--given", "0:0"],
        &[("QUEENS_DATA_DIR", "x")],
        &["QUEENS_DATA_DIR is set to 'x', which stands for --data-dir: unset it"],
    );
    // Counted locally nevertheless.
    let local = run(with_env(queens(["count", "8", "--local", "--threads", "2"]), &[coordinator]));
    assert!(local.stdout.starts_with("Q(8) = 92"), "{local:?}");
}

#[test]
fn versions_say_what_was_built_from_what() {
    for name in ["queens", "queens-coordinator", "queens-worker"] {
        let version = |option: &str| run(program(name).arg(option)).stdout;
        assert_eq!(version("-V"), format!("{name} {}\n", queens_platform::VERSION));
        let kernels = Kernel::list();
        assert!(
            kernels.starts_with("avx512, avx2, v128, portable; here ") && kernels.ends_with("portable"),
            "{kernels}"
        );
        assert_eq!(version("--version"), format!("{name} {}\n", queens_platform::version_in_full(&kernels)));
    }
    let (version, commit) =
        queens_platform::VERSION.split_once('+').unwrap_or((queens_platform::VERSION, ""));
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    assert!(commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{commit}");
    let told = queens_platform::version_in_full("");
    assert_eq!(told.contains("commit   not known"), commit.is_empty(), "{told}");
    assert!(told.contains("target   x86_64-unknown-linux-gnu\n"), "{told}");
}

/// Checks that `env` and `args` lead to `expected` in the answer.
#[track_caller]
fn check_setting(env: (&str, &str), args: &[&str], field: &str, expected: &Value) {
    let args = ["count", "8"].iter().chain(args);
    let answer = run(with_env(queens(args), &[env])).answer();
    assert_eq!(&answer[field], expected, "{env:?}");
}

#[test]
fn settings_come_from_the_environment_unless_flags_say_otherwise() {
    check_setting(("QUEENS_OUTPUT", "json"), &[], "n", &json!(8));
    check_setting(("QUEENS_OUTPUT", "text"), &JSON, "n", &json!(8));
    check_setting(("QUEENS_THREADS", "3"), &JSON, "threads", &json!(3));
    check_setting(("QUEENS_THREADS", "3"), &["--threads", "5", "--output", "json"], "threads", &json!(5));
    let portable = json!("portable");
    check_setting(("QUEENS_KERNEL", "portable"), &JSON, "kernel", &portable);
    let halves = json!("halves");
    check_setting(("QUEENS_METHOD", "halves"), &JSON, "method", &halves);
    // An invalid value is refused, so it is read.
    check_setting(
        ("QUEENS_KERNEL", "avx9"),
        &["--kernel", "portable", "--output", "json"],
        "kernel",
        &portable,
    );
}

#[test]
fn empty_variables_are_none() {
    let names = ["QUEENS_THREADS", "QUEENS_KERNEL", "QUEENS_DATA_DIR", "QUEENS_OUTPUT", "QUEENS_COORDINATOR"];
    let outcome = run(queens(["count", "8"]).envs(names.map(|name| (name, "")))).good();
    assert!(outcome.stdout.starts_with("Q(8) = 92"), "{outcome:?}");
    let mut command = program("queens-coordinator");
    command.args(["backup", "--data-dir", "nowhere", "x.db"]).env("QUEENS_HTTP", "").env("QUEENS_OTLP", "");
    assert!(run(command).complaint(1).contains("nowhere"));
}

/// Checks whether a progress bar is drawn on a terminal.
#[track_caller]
fn check_bar(env: &[(&str, &str)], args: &str, expected: bool) {
    let mut script = clean(Command::new("script"));
    let command = format!("{} count 15 --threads 1 --kernel portable {args}", binary("queens").display());
    script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
    let outcome = run(with_env(script, env)).good();
    assert!(outcome.stdout.contains("Q(15) = 2279184"), "{outcome:?}");
    assert_eq!(outcome.stdout.contains("░ n = 15"), expected, "{env:?} {outcome:?}");
}

#[test]
fn a_progress_bar_is_drawn_on_terminals_unless_it_is_not_wanted() {
    if !is_installed("script") {
        return skipped("the progress bar, as there is no program 'script' to make a terminal");
    }
    check_bar(&[], "", true);
    check_bar(&[("QUEENS_PROGRESS", "plain")], "", false);
    check_bar(&[("QUEENS_PROGRESS", "none")], "--progress bar", true);
    check_bar(&[], "--progress none", false);
}

#[test]
fn without_a_terminal_progress_is_a_line_at_times() {
    let portable = ["count", "20", "--kernel", "portable", "--method", "search", "--threads", "1"];
    let mut command = queens(portable);
    let scratch = TempDir::new();
    let said = scratch.join("stderr");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(File::create(&said).expect("created"));
    let mut running = Running::start_redirected(&mut command);
    let line = wait_until("a line of progress", || {
        assert!(running.is_running(), "it takes longer");
        fs::read_to_string(&said).ok().filter(|text| text.ends_with('\n'))
    });
    running.kill();
    assert_eq!(line.lines().count(), 1, "{line}");
    let expected = |part| assert!(line.contains(part), "no '{part}': {line}");
    ["n = 20  ", " %  ", "M nodes/s", "found"].into_iter().for_each(expected);
    assert!(run(queens(portable).arg("--progress").arg("often")).complaint(2).contains("plain, bar, none"));
}

#[test]
fn what_takes_more_than_a_year_is_begun_only_if_that_is_meant() {
    for args in [&["count", "28"][..], &["submit", "28"], &["count", "28", "--output", "json"]] {
        check_usage(args, &[], &["n = 28", "core-years", "--yes"]);
    }
    check_usage(
        &["count", "27", "--kernel", "portable"],
        &[],
        &["core-years by halves on this machine", "--yes"],
    );
    // It continues, and finds no coordinator.
    for args in [&["submit", "28", "--yes"][..], &["submit", "25"]] {
        let outcome = run(queens(args.iter().chain(&["--coordinator", "http://127.0.0.1:1"])));
        assert!(outcome.complaint(1).contains("failed to reach"), "{outcome:?}");
    }
}

#[test]
fn on_a_terminal_it_is_asked() {
    if !is_installed("script") {
        return skipped("the question on a terminal, as there is no program 'script' to make one");
    }
    let scratch = TempDir::new();
    let answers = scratch.join("answers");
    fs::write(&answers, "n\n").expect("written");
    let mut script = clean(Command::new("script"));
    let command = format!("{} count 28", binary("queens").display());
    script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
    script.stdin(File::open(&answers).expect("readable")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let outcome = Running::start_redirected(&mut script).wait();
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    for part in ["core-years", "Go on? [y/N]", "not done"] {
        assert!(outcome.stdout.contains(part), "{outcome:?}");
    }
}

#[test]
fn on_a_terminal_an_estimate_says_what_it_does() {
    if !is_installed("script") {
        return skipped("progress of an estimate, as there is no program 'script' to make a terminal");
    }
    let mut script = clean(Command::new("script"));
    let command = format!("{} estimate 20", binary("queens").display());
    script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
    let outcome = run(script);
    assert!(outcome.stdout.contains("counting samples"), "{outcome:?}");
    assert_eq!(run(queens(["estimate", "20"])).stderr, "");
}
