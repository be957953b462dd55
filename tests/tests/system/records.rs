//! The record book in records/: each certificate holds, and the table says what the files say.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use queens_solver::{BoardSize, published};
use queens_tests::directory::entries;
use queens_tests::prelude::*;

const BOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../records");

/// Everything is checked up to this board; of larger ones, `QUEENS_RECORDS=full` recounts a part, too.
const ALWAYS: u64 = 18;

/// The boards that are counted by two methods.
const TWO_METHODS: RangeInclusive<u64> = 8..=22;

/// The keys that signed the certificates.
const KEYS: [&str; 2] = ["key", "key-2"];

/// Returns the certificates in the order of their boards.
fn files() -> Vec<PathBuf> {
    let all = entries(BOOK).into_iter();
    all.filter(|path| path.extension().is_some_and(|it| it == "certificate")).collect()
}

/// Checks a certificate with the keys of the book.
fn check(file: &Path, args: &[&str]) -> Value {
    let keys = KEYS.map(|key| fs::read_to_string(Path::new(BOOK).join(key)).expect("a public key"));
    let keys = keys.iter().flat_map(|key| ["--key", key.trim()]);
    let file = file.to_str().expect("UTF-8");
    let args = ["check", file, "--output", "json"].into_iter().chain(keys).chain(args.iter().copied());
    run(queens(args)).answer()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("{field}: {value}"))
}

/// Returns the passes of all parts of a certificate.
fn passes(answer: &Value) -> impl Iterator<Item = &Value> {
    parts(answer).iter().flat_map(|part| part["passes"].as_array().expect("passes"))
}

fn parts(answer: &Value) -> &[Value] {
    answer["parts"].as_array().expect("parts")
}

fn sum(answer: &Value, field: &str) -> u64 {
    passes(answer).map(|pass| pass[field].as_u64().expect("a number")).sum()
}

/// Returns different texts, sorted and separated by commas.
fn list<T: Ord + AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let texts: BTreeSet<T> = texts.into_iter().collect();
    texts.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

/// Returns the row of a file.
fn row(file: &Path, answer: &Value) -> String {
    let name = file.file_name().and_then(|name| name.to_str()).expect("UTF-8");
    let part = &parts(answer)[0];
    let methods: Vec<&str> =
        part["passes"].as_array().expect("passes").iter().map(|pass| text(pass, "method")).collect();
    let work_of = |method: &&str| -> u128 {
        let counted = passes(answer).filter(|pass| text(pass, "method") == *method);
        counted.map(|pass| text(pass, "work").parse::<u128>().expect("a number")).sum()
    };
    let work: Vec<String> = methods.iter().map(|method| work_of(method).to_string()).collect();
    let kernels = passes(answer).flat_map(|pass| pass["kernels"].as_array().expect("kernels"));
    let seconds: f64 = passes(answer).map(|pass| pass["core_seconds"].as_f64().expect("a time")).sum();
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.4} | {} | {} | {} | [{name}]({name}) |\n",
        answer["n"],
        text(answer, "solutions"),
        text(answer, "fundamental"),
        part["half_turn"],
        part["quarter_turn"],
        methods.join(", "),
        work.join(", "),
        sum(answer, "records"),
        sum(answer, "further_counts"),
        seconds / 3600.0,
        list(kernels.map(|kernel| kernel.as_str().expect("a kernel"))),
        list(parts(answer).iter().map(|part| text(part, "program"))),
        list(parts(answer).iter().map(|part| text(part, "made_at")[..10].to_owned())),
    )
}

/// To make the table again from the files: `QUEENS_GENERATE=1 cargo test -p queens-tests --test system records::`.
#[test]
fn every_certificate_holds_and_the_table_is_made_of_them() {
    let is_full = is_full("QUEENS_RECORDS");
    let files = files();
    let mut rows = String::new();
    for (expected, file) in (1..).zip(&files) {
        let args: &[&str] = match expected {
            n if n <= ALWAYS => &["--share", "1"],
            _ if is_full => &["--seconds", "60"],
            _ => &["--seconds", "0"],
        };
        let answer = check(file, args);
        // No board is left out.
        assert_eq!(answer["n"].as_u64(), Some(expected), "{}", file.display());
        let known =
            u8::try_from(expected).ok().and_then(|n| published(BoardSize::new(n).ok()?)).expect("published");
        assert_eq!(text(&answer, "solutions"), known.solutions.to_string());
        assert_eq!(answer["is_published"], true);
        for part in parts(&answer) {
            assert_eq!(part["is_known"], true);
            let methods = part["passes"].as_array().expect("passes").iter().map(|pass| text(pass, "method"));
            let n_methods = methods.collect::<BTreeSet<_>>().len();
            assert_eq!(n_methods, if TWO_METHODS.contains(&expected) { 2 } else { 1 }, "n = {expected}");
        }
        if args[0] == "--share" && sum(&answer, "records") > 0 {
            assert_ne!(answer["sample"]["recounted"], 0, "n = {expected}");
        }
        rows += &row(file, &answer);
    }
    assert!(files.len() >= 23, "the book has n = 1 to {}", files.len());
    let page = Path::new(BOOK).join("README.md");
    let kept = fs::read_to_string(&page).expect("the page");
    let (before, rest) = kept.split_once("|---|\n").expect("a table");
    let old: usize = rest.split_inclusive('\n').take_while(|line| line.starts_with('|')).map(str::len).sum();
    let after = &rest[old..];
    let mut made = String::new();
    write!(made, "{before}|---|\n{rows}{after}").expect("into a text");
    if env::var_os("QUEENS_GENERATE").is_some() {
        return fs::write(&page, &made).expect("written");
    }
    assert!(kept == made, "the table is not that of the files: run this test with QUEENS_GENERATE=1");
}

#[test]
fn the_sums_are_those_of_the_files() {
    if !is_installed("sha256sum") {
        return skipped("sha256sum is not installed");
    }
    let mut command = clean(Command::new("sha256sum"));
    command.current_dir(BOOK).arg("--");
    command.args(files().iter().map(|file| file.file_name().expect("a name")));
    let made = run(command).stdout;
    let page = Path::new(BOOK).join("SHA256SUMS");
    if env::var_os("QUEENS_GENERATE").is_some() {
        fs::write(&page, &made).expect("written");
    }
    let kept = fs::read_to_string(&page).expect("the sums");
    assert_eq!(kept, made, "run this test with QUEENS_GENERATE=1");
}
