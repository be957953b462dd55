//! Structure of the code: no cycles, short files, no needless public items, no unwanted dependencies.

mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use self::source::{Crate, tokens, words};
use std::process::Command;

use queens_tests::prelude::*;

/// The most lines of a file, except tests and generated files.
const MOST_LINES: usize = 450;

/// Packages with their forbidden dependencies: a user who counts on one machine need not compile a server.
const BORDERS: [(&str, &[&str]); 6] = [
    ("queens-ledger", &["tokio", "tonic", "rusqlite", "axum", "prost", "hyper"]),
    ("queens-certificate", &["tokio", "tonic", "rusqlite", "axum", "prost", "hyper"]),
    ("queens-store", &["tonic", "axum", "prost", "hyper", "tokio-postgres"]),
    ("queens-event-loop", &["axum", "opentelemetry", "rcgen", "tokio-postgres", "tonic", "prost", "hyper"]),
    (
        "queens-counting",
        &["axum", "opentelemetry", "rcgen", "rusqlite", "tokio-postgres", "tonic", "prost", "hyper"],
    ),
    ("queens", &["axum", "opentelemetry", "rcgen", "tokio-postgres", "tonic-health", "tonic-reflection"]),
];

#[test]
fn files_form_no_circles() {
    let mut found = vec![];
    for member in members() {
        for root in roots(&member) {
            found.extend(circles(&Crate::read(&root)));
        }
    }
    none(found);
}

#[test]
fn files_are_not_long() {
    let mut found = vec![];
    for file in members().iter().flat_map(|member| files(member)) {
        let of_tests = |part: &str| ["tests", "benches", "generated", "tests.rs"].contains(&part);
        let n_lines = read(&file).lines().count();
        if n_lines > MOST_LINES && !short(&file).split('/').any(of_tests) {
            found.push(format!("{} has {n_lines} lines, more than {MOST_LINES}", short(&file)));
        }
    }
    none(found);
}

#[test]
fn nothing_is_public_that_no_other_crate_uses() {
    let mut used = BTreeMap::new();
    for file in members().iter().flat_map(|member| files(member)) {
        let mut all = BTreeSet::new();
        words(tokens(&file, &read(&file)), &mut all);
        used.insert(file, all);
    }
    let mut found = vec![];
    for root in members().iter().map(|member| member.join("src/lib.rs")).filter(|root| root.exists()) {
        let library = Crate::read(&root);
        let own: BTreeSet<&PathBuf> = library.modules.values().collect();
        let is_used = |name: &String| {
            let outside = used.iter().any(|(file, words)| !own.contains(file) && words.contains(name));
            outside || library.signatures.contains(name)
        };
        let unused = library.public.iter().filter(|(file, name)| !is_generated(file) && !is_used(name));
        found
            .extend(unused.map(|(file, name)| {
                format!("{}: {name} is public, and no other crate uses it", short(file))
            }));
    }
    none(found);
}

/// What differs between systems is in one crate, except for the kernels' instructions and for a type of a dependency
/// that only Unix has.
#[test]
fn code_for_one_system_is_in_the_crate_for_it() {
    const MARKS: [&str; 6] =
        ["target_os", "cfg(unix)", "cfg(windows)", "cfg!(windows)", "std::os::", "/proc/"];
    let is_exempt = |file: &str| {
        ["crates/platform/", "tests/", "crates/solver/src/tests/", "crates/store/src/postgres/server.rs"]
            .iter()
            .any(|start| file.starts_with(start))
            || file.split('/').any(|part| ["tests", "benches", "tests.rs"].contains(&part))
    };
    let mut found = vec![];
    for file in members().iter().flat_map(|member| files(member)) {
        let name = short(&file);
        if is_exempt(name.trim_start_matches('/')) {
            continue;
        }
        let text = read(&file);
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        found.extend(
            MARKS.iter().filter(|mark| product.contains(**mark)).map(|mark| format!("{name}: {mark}")),
        );
    }
    none(found);
}

#[test]
fn examples_in_documentation_are_run() {
    let has_example = |member: &PathBuf| {
        let lines = files(&member.join("src")).iter().map(|file| read(file)).collect::<String>();
        lines
            .lines()
            .any(|line| ["/// ```", "//! ```"].iter().any(|start| line.trim_start().starts_with(start)))
    };
    let left_out = |member: &PathBuf| read(&member.join("Cargo.toml")).contains("doctest = false");
    let found = members().into_iter().filter(|member| left_out(member) && has_example(member));
    none(found.map(|member| short(&member)).collect());
}

#[test]
fn packages_stay_within_their_borders() {
    let mut found = vec![];
    for (package, others) in BORDERS {
        let mut command = Command::new(env!("CARGO"));
        command.args(["tree", "--offline", "--locked", "--package", package, "--prefix", "none"]);
        command.args(["--edges", "normal"]);
        command.current_dir(REPOSITORY);
        let outcome = run(command).good();
        assert!(outcome.stdout.contains("queens-solver v"), "{outcome:?}");
        let names = outcome.stdout.lines().filter_map(|line| line.split(' ').next());
        let of_others = |name: &&str| others.iter().any(|other| *name == *other || of_family(name, other));
        found.extend(names.filter(of_others).map(|name| format!("{package} depends on {name}")));
    }
    none(found);
}

/// The map in docs/ARCHITECTURE.md: each arrow is a dependency, each dependency is an arrow or follows from arrows, and
/// each crate has a box.
#[test]
fn crates_depend_as_the_map_shows() {
    let page = read(&Path::new(REPOSITORY).join("docs/ARCHITECTURE.md"));
    let mut blocks = page.split("```text\n").skip(1).filter_map(|block| block.split("```").next());
    let drawing = blocks.next().expect("a drawing");
    let arrows = blocks.next().expect("the arrows of the drawing").lines();
    let mut arrows: BTreeMap<&str, BTreeSet<&str>> = arrows
        .filter_map(|line| line.split_once(" -> "))
        .map(|(from, to)| (from, to.split(", ").collect()))
        .collect();
    let bases = arrows.remove("all").expect("what all may use");
    let mut found = vec![];
    for (name, uses) in dependencies() {
        let name = name.as_str();
        if bases.contains(name) || ["fuzz", "tests"].contains(&name) {
            continue;
        }
        if !drawing.contains(&format!(" {name} ")) {
            found.push(format!("{name} has no box"));
        }
        let direct = arrows.get(name).cloned().unwrap_or_default();
        let is_used = |other: &str| uses.iter().any(|used| used == other);
        found.extend(
            direct.iter().filter(|other| !is_used(other)).map(|other| format!("{name} does not use {other}")),
        );
        let mut reached = direct.clone();
        while let Some(next) =
            reached.iter().filter_map(|one| arrows.get(one)).flatten().find(|one| !reached.contains(*one))
        {
            reached.insert(next);
        }
        let is_shown = |other: &&String| bases.contains(other.as_str()) || reached.contains(other.as_str());
        found
            .extend(uses.iter().filter(|other| !is_shown(other)).map(|other| format!("{name} uses {other}")));
    }
    none(found);
}

/// Returns the packages of the workspace with those of them that they use, without the prefix `queens-`.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["metadata", "--offline", "--locked", "--no-deps", "--format-version", "1"])
        .current_dir(REPOSITORY);
    let metadata = run(command).answer();
    let packages = metadata["packages"].as_array().expect("an array").iter();
    let name = |of: &Value| {
        let name = of["name"].as_str().expect("a name");
        if name == "queens" {
            Some("cli".to_owned())
        } else {
            name.strip_prefix("queens-").map(str::to_owned)
        }
    };
    let uses = |package: &Value| {
        let all = package["dependencies"].as_array().expect("an array").iter();
        all.filter(|one| one["kind"].is_null()).filter_map(name).collect()
    };
    packages.map(|package| (name(package).expect("a name of ours"), uses(package))).collect()
}

/// Whether a package belongs to another's family: `tonic-prost` to `tonic`.
fn of_family(name: &str, other: &str) -> bool {
    name.strip_prefix(other).is_some_and(|rest| rest.starts_with('-'))
}

/// Fails with all findings.
#[track_caller]
fn none(found: Vec<String>) {
    assert!(found.is_empty(), "{} found:\n{}", found.len(), found.join("\n"));
}

/// Returns the directories of the workspace's packages.
fn members() -> Vec<PathBuf> {
    let manifest = read(&Path::new(REPOSITORY).join("Cargo.toml"));
    let line = manifest.lines().find(|line| line.starts_with("members = ")).expect("a workspace has members");
    line.split('"').skip(1).step_by(2).map(|member| Path::new(REPOSITORY).join(member)).collect()
}

/// Returns the roots of a package's crates: library, program and tests.
fn roots(member: &Path) -> Vec<PathBuf> {
    let tests = fs::read_dir(member.join("tests")).into_iter().flatten();
    let tests = tests.map(|entry| entry.expect("a directory can be read").path());
    let tests = tests.map(|test| if test.is_dir() { test.join("main.rs") } else { test });
    let programs = ["src/lib.rs", "src/main.rs"].map(|root| member.join(root));
    let is_root =
        |file: &PathBuf| file.extension().is_some_and(|extension| extension == "rs") && file.exists();
    programs.into_iter().chain(tests).filter(is_root).collect()
}

/// Returns all Rust files of a package.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(dir).expect("a directory can be read") {
        let path = entry.expect("a directory can be read").path();
        if path.is_dir() {
            // A package in it is another member.
            if !path.join("Cargo.toml").exists() {
                found.extend(files(&path));
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

fn is_generated(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "generated")
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Returns a path relative to the workspace.
fn short(file: &Path) -> String {
    file.strip_prefix(REPOSITORY).unwrap_or(file).display().to_string()
}

/// Returns the cycles of a crate's files: for each strongly connected set of files, the paths between them.
fn circles(of: &Crate) -> Vec<String> {
    let edges = of.edges();
    let reach = |from: &Path| {
        let (mut reached, mut ahead) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(file) = ahead.pop() {
            for (_, to) in edges.keys().filter(|(from, _)| *from == file) {
                if reached.insert(to.to_path_buf()) {
                    ahead.push(to.to_path_buf());
                }
            }
        }
        reached
    };
    let files: BTreeSet<&PathBuf> = of.modules.values().collect();
    let reached: BTreeMap<&Path, BTreeSet<PathBuf>> =
        files.into_iter().map(|file| (file.as_path(), reach(file))).collect();
    let mut circles = BTreeMap::<BTreeSet<&Path>, Vec<String>>::new();
    for ((from, to), path) in &edges {
        let circle: BTreeSet<&Path> = reached
            .keys()
            .copied()
            .filter(|file| reached[file].contains(*from) && reached[from].contains(*file))
            .collect();
        if circle.contains(to) {
            circles.entry(circle).or_default().push(format!("  {} -> {} by {path}", short(from), short(to)));
        }
    }
    circles
        .into_iter()
        .map(|(files, lines)| format!("a circle of {} files:\n{}", files.len(), lines.join("\n")))
        .collect()
}
