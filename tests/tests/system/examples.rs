//! Runs the unchanged examples of docs/examples against a real coordinator.

use std::fs;
use std::path::{Path, PathBuf};

use queens_tests::directory::names;
use queens_tests::prelude::*;
use std::process::Command;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples");

/// A coordinator with pages, and two workers with different names.
struct Site {
    _workers: [Running; 2],
    coordinator: Coordinator,
    dir: TempDir,
}

impl Site {
    fn start() -> Self {
        let Scenario { scratch: dir, coordinator, .. } = Scenario::with_http();
        let workers = ["anna", "bert"].map(|name| worker_with(&coordinator.url(), name, Kernel::best()));
        coordinator.wait_for_workers(2);
        Self { dir, coordinator, _workers: workers }
    }

    fn pages(&self) -> String {
        format!("http://{}", self.coordinator.http())
    }

    /// Runs a command in the site's directory.
    fn run(&self, command: Command) -> Ended {
        let mut command = clean(command);
        command.current_dir(self.dir.path()).env("QUEENS_PAGES", self.pages());
        // matplotlib keeps its font cache there.
        command.env("HOME", self.dir.path());
        run(command)
    }
}

/// Returns a Python that has these modules, or records a skipped test.
fn python(modules: &str) -> Option<PathBuf> {
    let found = ["python3", "/usr/bin/python3"].into_iter().find(|python| {
        is_installed(python) && {
            // Matplotlib would keep its settings in the user's home directory.
            let settings = TempDir::new();
            let mut import = Command::new(python);
            import.env("MPLCONFIGDIR", settings.path()).args(["-c", &format!("import {modules}")]);
            run(import).status.success()
        }
    });
    if found.is_none() {
        skipped(&format!("an example, as there is no Python with {modules}"));
    }
    found.map(PathBuf::from)
}

fn example(name: &str) -> PathBuf {
    Path::new(EXAMPLES).join(name)
}

#[test]
fn python_counts_a_board() {
    let Some(python) = python("requests") else { return };
    let site = Site::start();
    let ask = |args: &[&str]| {
        let mut command = Command::new(&python);
        command.arg(example("count.py")).args(args).args(["--url", &site.pages()]);
        site.run(command)
    };
    let counted = ask(&["13", "--recount", "10"]);
    assert_eq!(
        (counted.status.code(), counted.stdout.trim_end()),
        (Some(0), solutions(13).as_str()),
        "{counted:?}"
    );
    let refused = ask(&["99"]);
    assert_eq!((refused.status.code(), refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
    assert!(refused.stderr.starts_with("/jobs: 400 "), "{refused:?}");
}

#[test]
fn curl_and_jq_count_boards() {
    if let Some(missing) = ["bash", "curl", "jq"].into_iter().find(|program| !is_installed(program)) {
        return skipped(&format!("an example, as there is no '{missing}'"));
    }
    let site = Site::start();
    let mut command = Command::new(example("count.sh"));
    command.args(["8", "12"]);
    let counted = site.run(command).good();
    let lines: Vec<Vec<&str>> = counted.stdout.lines().map(|line| line.split('\t').collect()).collect();
    let [eight, twelve] = &lines[..] else { panic!("{counted:?}") };
    assert_eq!((eight[0], eight[1].to_owned()), ("8", solutions(8)));
    assert_eq!((twelve[0], twelve[1].to_owned()), ("12", solutions(12)));
    assert!(twelve[2].parse::<f64>().is_ok(), "{counted:?}");
}

#[test]
fn matplotlib_draws_what_was_counted() {
    let Some(python) = python("requests, matplotlib") else { return };
    let site = Site::start();
    for n in [6, 8, 10] {
        let job = site.coordinator.submit(n);
        assert!(site.coordinator.queens(["watch", &job]).status.success());
    }
    let mut command = Command::new(python);
    command.arg(example("plot.py")).arg("growth.svg").args(["--url", &site.pages()]);
    command.env("MPLCONFIGDIR", site.dir.path());
    let drawn = site.run(command);
    assert_eq!(
        (drawn.status.code(), drawn.stdout.as_str()),
        (Some(0), "3 boards are in growth.svg\n"),
        "{drawn:?}"
    );
    let svg = fs::read_to_string(site.dir.join("growth.svg")).expect("drawn");
    roxmltree::Document::parse_with_options(
        &svg,
        roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() },
    )
    .expect("an SVG");
}

#[test]
fn every_example_is_listed() {
    let list = fs::read_to_string(example("README.md")).expect("there");
    for name in names(EXAMPLES) {
        assert!(name == "README.md" || list.contains(&format!("]({name})")), "{name}");
    }
}
