//! Files beside the code for citation, contribution and independent checks.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(REPOSITORY).join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The fields of the Citation File Format 1.2.0 that we use; the file must have no others.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Citation {
    cff_version: String,
    title: String,
    message: String,
    r#type: String,
    authors: Vec<Entity>,
    version: String,
    date_released: String,
    license: Vec<String>,
    r#abstract: String,
    keywords: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entity {
    name: String,
}

/// Returns version and date of the first release in the change log.
fn released(log: &str) -> (&str, &str) {
    let line = log.lines().find_map(|line| line.strip_prefix("## ")?.split_once(", "));
    line.expect("a release in the change log")
}

#[test]
fn the_citation_is_that_of_the_release() {
    let citation: Citation = serde_saphyr::from_str(&read("CITATION.cff")).expect("a citation");
    assert_eq!((citation.cff_version.as_str(), citation.r#type.as_str()), ("1.2.0", "software"));
    let log = read("CHANGELOG.md");
    assert_eq!((citation.version.as_str(), citation.date_released.as_str()), released(&log));
    assert_eq!(citation.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(citation.license.join(" OR "), "MIT OR Apache-2.0");
    let authors = citation.authors.iter().map(|author| &author.name);
    for text in
        authors.chain(&citation.keywords).chain([&citation.title, &citation.message, &citation.r#abstract])
    {
        assert!(!text.is_empty());
    }
}

#[test]
fn the_change_log_has_releases_in_order() {
    let log = read("CHANGELOG.md");
    let heads: Vec<&str> = log.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert!(heads.contains(&"0.2.0, 2026-11-23"), "{heads:?}");
    assert!(heads[0] == "Unreleased" || heads[0].starts_with(env!("CARGO_PKG_VERSION")), "{heads:?}");
}

/// The solver's tests run the kernel that CONTRIBUTING.md shows.
#[test]
fn the_example_of_a_kernel_is_tested() {
    let text = read("CONTRIBUTING.md");
    let shown = text.split("```rust\n").nth(1).and_then(|rest| rest.split_once("```")).expect("an example").0;
    assert!(read("solver/src/tests/example.rs").contains(shown), "it is not what is tested:\n{shown}");
}

/// A README must be readable in minutes.
#[test]
fn the_readme_is_short() {
    let n_lines = read("README.md").lines().count();
    assert!(n_lines <= 150, "{n_lines} lines");
}

/// The workflows run elsewhere. So they only call our scripts, which also run here, and actions pinned by hash.
#[test]
fn workflows_only_call_scripts() {
    let mut n_scripts = 0;
    let toolchain = read("rust-toolchain.toml");
    let version = toolchain.split('"').nth(1).expect("a version");
    for file in fs::read_dir(Path::new(REPOSITORY).join(".github/workflows")).expect("a directory") {
        let path = file.expect("a directory can be read").path();
        let name = path.display();
        let text = fs::read_to_string(&path).expect("UTF-8");
        let workflow: Value = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(workflow["permissions"], serde_json::json!({ "contents": "read" }), "{name}");
        for (_, job) in workflow["jobs"].as_object().expect("jobs") {
            let image = job["container"].as_str().or_else(|| job["container"]["image"].as_str());
            assert!(
                image.is_none_or(|image| image == format!("rust:{version}-bookworm")),
                "{name}: {image:?}"
            );
            for step in job["steps"].as_array().expect("steps") {
                let Some(script) = step["run"].as_str() else {
                    let action = step["uses"].as_str().expect("a script or an action");
                    let hash = action.split_once('@').expect("a version").1;
                    assert!(
                        hash.len() == 40 && hash.chars().all(|c| c.is_ascii_hexdigit()),
                        "{name}: {action}"
                    );
                    continue;
                };
                let program = script.split(' ').next().expect("a program");
                let is_ours = program.starts_with(".ci/") && Path::new(REPOSITORY).join(program).is_file();
                assert!(is_ours || script.starts_with("gh release create "), "{name}: {script}");
                n_scripts += usize::from(is_ours);
            }
        }
    }
    assert!(n_scripts >= 4, "{n_scripts}");
}
