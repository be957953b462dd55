//! `queens bench` and `queens estimate`: their output, their errors, and the check of every timed result.

use std::process::Command;
use std::time::Duration;

use queens_solver::{BoardSize, crosses_in_counting_order, published};
use queens_tests::prelude::*;

/// The limit for estimates. They take less than 10 seconds; a busy machine may need twice that.
const PATIENCE: Duration = Duration::from_secs(20);

fn json(args: &[&str]) -> Value {
    run(queens(args.iter().chain(&["--output", "json"]))).answer()
}

#[track_caller]
fn number(answer: &Value, field: &str) -> f64 {
    let number = answer[field].as_f64();
    number.filter(|number| *number >= 0.0).unwrap_or_else(|| panic!("'{field}' is no number: {answer}"))
}

#[track_caller]
fn range(answer: &Value, field: &str) -> [f64; 2] {
    [0, 1].map(|i| answer[field][i].as_f64().unwrap_or_else(|| panic!("'{field}' is no range: {answer}")))
}

/// Runs `queens bench` and checks the fields that don't depend on time.
#[track_caller]
fn bench(n: u8, args: &[&str]) -> Value {
    let n_text = n.to_string();
    let answer = json(&[&["bench", &n_text], args].concat())[0].take();
    let board = BoardSize::new(n).expect("a board size");
    assert_eq!(answer["n"], n);
    assert_eq!(answer["parts"], crosses_in_counting_order(board).len());
    assert_eq!(answer["agrees"], true);
    assert!(number(&answer, "core_seconds") <= number(&answer, "projected_core_seconds"), "{answer}");
    let solutions: f64 = answer["solutions"].as_str().and_then(|text| text.parse().ok()).expect("decimal");
    if solutions > 0.0 {
        let expected = number(&answer, "core_seconds") * 1e9 / solutions;
        assert!((number(&answer, "ns_per_solution") / expected - 1.0).abs() < 1e-6, "{answer}");
    } else {
        assert_eq!(answer["ns_per_solution"], Value::Null);
    }
    answer
}

#[test]
fn whole_boards_are_compared_with_the_published_counts() {
    for n in [0, 1, 2, 3, 8, 14, 16] {
        let answer = bench(n, &["--sample", "100000"]);
        let published = published(BoardSize::new(n).expect("a board size")).expect("it is small");
        assert_eq!(answer["solutions"], published.solutions.to_string());
        assert_eq!(answer["checked_against"], format!("the published count {}", published.solutions));
        assert_eq!(answer["sample"], answer["parts"]);
        assert_eq!(answer["projected_core_seconds"], answer["core_seconds"]);
    }
}

#[test]
fn samples_are_the_same_each_time_with_every_kernel_and_are_recounted() {
    for n in [16, 22, 32] {
        let answers: Vec<Value> = Kernel::ALL
            .into_iter()
            .filter(|kernel| kernel.is_available() && (n < 32 || *kernel == Kernel::best()))
            .map(|kernel| (kernel, "1"))
            .chain([(Kernel::best(), "2")])
            .map(|(kernel, threads)| {
                let answer = bench(n, &["--sample", "4", "--kernel", kernel.name(), "--threads", threads]);
                assert_eq!((&answer["kernel"], &answer["sample"]), (&kernel.name().into(), &4.into()));
                assert_eq!(answer["threads"].to_string(), threads);
                let against = answer["checked_against"].as_str().expect("text");
                assert!(against.contains("a textbook method on 1 of"), "{against}");
                answer
            })
            .collect();
        for answer in &answers {
            for field in ["solutions", "work"] {
                assert_eq!(answer[field], answers[0][field], "n = {n}, {field}");
            }
        }
    }
}

#[test]
fn a_bench_reads_well() {
    let outcome = run(queens(["bench", "12"]));
    assert_eq!((outcome.status.code(), outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    let [what, counts, verdict, board] = lines[..] else { panic!("four lines: {outcome:?}") };
    let is_told = |kernel| what == format!("n = 12, 342 of 342 parts, {kernel} kernel on 1 thread");
    assert!(Kernel::ALL.into_iter().filter(|kernel| kernel.is_available()).any(is_told), "{what}");
    assert!(counts.starts_with("14200 weighted solutions, "), "{counts}");
    assert!(counts.contains(" ns per solution, ") && counts.ends_with(" ns per node"), "{counts}");
    assert_eq!(verdict, "agrees with the published count 14200");
    assert!(board.starts_with("whole board: ") && board.ends_with(" core-seconds ± 0 %"), "{board}");
}

/// Runs `queens estimate` and checks that its figures fit together.
#[track_caller]
fn estimate(n: u8, args: &[&str]) -> Value {
    let n_text = n.to_string();
    let outcome = run(queens([&["estimate", &n_text], args].concat()).args(["--output", "json"]));
    assert!(outcome.processor_time < PATIENCE, "{outcome:?}");
    let answer = outcome.answer();
    assert_eq!(answer["n"], n);
    let cores = number(&answer, "cores");
    for value in ["core_seconds", "wall_seconds", "expected_solutions"] {
        let [least, most] = range(&answer, &format!("{value}_range"));
        assert!((least..=most).contains(&number(&answer, value)), "{value}: {answer}");
    }
    let wall = number(&answer, "wall_seconds");
    assert!((wall * cores - number(&answer, "core_seconds")).abs() <= wall * cores * 1e-9, "{answer}");
    answer
}

#[test]
fn small_boards_are_estimated_by_counting_them() {
    for n in [0, 1, 2, 8, 14] {
        let answer = estimate(n, &[]);
        let published = published(BoardSize::new(n).expect("a board size")).expect("it is small");
        assert_eq!(answer["published"], published.solutions.to_string());
        assert_eq!(number(&answer, "expected_solutions").to_string(), published.solutions.to_string());
    }
}

/// The estimated solutions agree with the published numbers.
#[test]
fn large_boards_are_estimated_within_seconds() {
    let answer = estimate(27, &["--cores", "10000", "--method", "search", "--threads", "1"]);
    let published = published(BoardSize::new(27).expect("a board size")).expect("published").solutions as f64;
    let ratio = number(&answer, "expected_solutions") / published;
    // The sample's size depends on the machine's speed: three times the standard error, not two.
    let [least, most] = range(&answer, "expected_solutions_range");
    let error = (most / least).powf(0.75);
    assert!((1.0 / error..=error).contains(&ratio), "{answer}");
}

/// A thread's lists are bounded in memory, and the estimate reports the bound.
#[test]
fn an_estimate_tells_the_memory_of_a_thread() {
    let search = estimate(14, &["--method", "search"]);
    assert_eq!(search["bytes_per_thread"], 0, "{search}");
    let halves = estimate(14, &["--method", "halves"]);
    assert_eq!(halves["bytes_per_thread"], 16 << 20, "{halves}");
    let text = run(queens(["estimate", "14", "--method", "halves"])).stdout;
    assert!(text.contains("\nmemory: at most 16 MiB for each thread\n"), "{text}");
}

#[test]
fn the_largest_board_is_estimated_within_seconds() {
    for kernel in [Kernel::best(), Kernel::Portable] {
        let answer = estimate(32, &["--kernel", kernel.name(), "--method", "search", "--threads", "1"]);
        assert_eq!(answer["kernel"], kernel.name());
        assert_eq!(answer["published"], Value::Null);
        assert!((1e23..1e24).contains(&number(&answer, "expected_work")), "{answer}");
    }
}

#[test]
fn an_estimate_reads_well() {
    let outcome = run(queens([
        "estimate",
        "20",
        "--cores",
        "10000",
        "--kernel",
        "portable",
        "--method",
        "search",
        "--threads",
        "1",
    ]));
    assert_eq!((outcome.status.code(), outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    let [core_time, wall_time, work, sample] = lines[..] else { panic!("four lines: {outcome:?}") };
    assert!(core_time.starts_with("Q(20): "), "{core_time}");
    assert!(core_time.ends_with(") by search with the portable kernel of this machine"), "{core_time}");
    assert!(wall_time.starts_with("10,000 cores: ") && wall_time.contains(" seconds ("), "{wall_time}");
    assert!(work.ends_with("(published: 39029188884)"), "{work}");
    assert!(sample.contains(" of 6078 parts"), "{sample}");
    let smallest = run(queens(["estimate", "1"])).stdout;
    assert!(smallest.contains("; 1 solution (published: 1)"), "{smallest}");
}

#[track_caller]
fn check_usage(args: &[&str], expected: &[&str]) {
    let outcome = run(queens(args));
    let complaint = outcome.complaint(2);
    assert!(complaint.starts_with("error: "), "{complaint}");
    for part in expected {
        assert!(complaint.contains(part), "'{part}' is not in: {complaint}");
    }
}

#[test]
fn wrong_usage_is_one_line_that_says_what_is_wrong_and_what_is_expected() {
    for n in ["33", "-1", "x", ""] {
        check_usage(&["bench", n], &["[N]", "0 to 32"]);
        check_usage(&["estimate", n], &["<N>", "0 to 32"]);
    }
    for number in ["0", "-1", "x", "1.5", "99999999999999999999999"] {
        check_usage(&["bench", "--sample", number], &["--sample", "a number of samples, from 1"]);
        check_usage(&["estimate", "8", "--cores", number], &["--cores", "a number of cores, from 1"]);
        check_usage(&["bench", "--threads", number], &["--threads", "1 to 4096"]);
        check_usage(&["estimate", "8", "--threads", number], &["--threads", "1 to 4096"]);
    }
    for command in [&["bench"][..], &["estimate", "8"]] {
        check_usage(&[command, &["--kernel", "avx9"]].concat(), &["'avx9'", "--kernel", "portable"]);
        check_usage(&[command, &["--output", "xml"]].concat(), &["'xml'", "--output", "text, json"]);
    }
    check_usage(&["bench", "--n", "18"], &["'--n'"]);
}

/// valgrind's processor has no AVX-512: the choice at run time must detect that.
#[test]
fn the_kernel_is_one_that_the_processor_has_also_under_valgrind() {
    if !is_installed("valgrind") {
        return skipped("counting under valgrind, as there is none");
    }
    let mut command = clean(Command::new("valgrind"));
    command.args(["--quiet", "--tool=none"]).arg(binary("queens"));
    command.args(["bench", "10", "--output", "json"]);
    let outcome = run(command).good();
    let answer = serde_json::from_str::<Value>(&outcome.stdout).expect("JSON")[0].take();
    assert_ne!(answer["kernel"], "avx512");
    assert_eq!((&answer["solutions"], &answer["agrees"]), (&"724".into(), &true.into()));
}
