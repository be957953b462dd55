//! The workflows beside the code.

use std::fs;
use std::path::Path;

use queens_tests::directory::entries;
use queens_tests::prelude::*;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(REPOSITORY).join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The workflows run elsewhere. So they only call our scripts, which also run here, and actions pinned by hash.
#[test]
fn workflows_only_call_scripts() {
    let mut n_scripts = 0;
    let toolchain = read("rust-toolchain.toml");
    let version = toolchain.split('"').nth(1).expect("a version");
    for path in entries(Path::new(REPOSITORY).join(".github/workflows")) {
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
