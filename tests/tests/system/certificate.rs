//! Certificates: export, check, merge, and an independent reader's program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use queens_tests::data_dir::counted;
use queens_tests::prelude::*;

/// Exports job 1 of a directory.
fn export(dir: &Path, file: &Path) -> Ended {
    queens_coordinator(&["export", "1", utf8(file), "--data-dir", utf8(dir)])
}

fn check(file: &Path, args: &[&str]) -> Ended {
    run(queens([&["check", utf8(file), "--output", "json"], args].concat()))
}

/// Returns the certificate in the repository.
fn of_16() -> PathBuf {
    Path::new(REPOSITORY).join("records/q16.certificate")
}

#[test]
fn a_job_that_is_done_is_exported_and_checked() {
    let (dir, out) = (counted(10), TempDir::new());
    let file = out.path().join("q10");
    let exported = export(dir.path(), &file);
    assert!(exported.stdout.contains("records of job 1 are in"), "{exported:?}");
    let key = queens_coordinator(&["key", "--data-dir", utf8(dir.path())]).stdout.trim().to_owned();
    let answer = check(&file, &["--key", &key, "--share", "100"]).answer();
    assert_eq!((&answer["solutions"], &answer["fundamental"]), (&Value::from("724"), &Value::from("92")));
    assert_eq!(answer["parts"][0]["signer"], key);
    assert_eq!(answer["parts"][0]["is_known"], true);
    assert_eq!(answer["sample"]["records"], answer["sample"]["recounted"]);
    // An export overwrites nothing, and no file contains the private key.
    let again = export(dir.path(), &file);
    assert!(again.complaint(1).contains("is there already"), "{again:?}");
    let private = fs::read(dir.join("signing.key")).expect("a key");
    let bytes = fs::read(&file).expect("a certificate");
    assert!(!bytes.windows(64).any(|window| window == &private[..64]));
    assert_eq!(fs::read_dir(out.path()).expect("readable").count(), 1);
    // Another key, or a damaged file.
    let strange = check(&file, &["--key", &"11".repeat(32)]);
    assert!(strange.complaint(1).contains("none of the keys"), "{strange:?}");
    fs::write(&file, &bytes[..bytes.len() / 2]).expect("written");
    assert!(check(&file, &[]).complaint(1).contains("ends here, too early"));
}

#[test]
fn what_can_t_be_exported_or_checked_is_told() {
    let (dir, out) = (counted(8), TempDir::new());
    let file = out.path().join("q8");
    let data = ["--data-dir", utf8(dir.path())];
    let unknown = queens_coordinator(&[&["export", "7", utf8(&file)][..], &data].concat());
    assert!(unknown.complaint(1).contains("there is no job 7"), "{unknown:?}");
    let nowhere = queens_coordinator(&["export", "1", utf8(&file), "--data-dir", utf8(out.path())]);
    assert!(nowhere.complaint(1).contains("there is no 'queens.db' in it"), "{nowhere:?}");
    let nowhere = queens_coordinator(&["key", "--data-dir", utf8(out.path())]);
    assert!(nowhere.complaint(1).contains("there is no 'queens.db' in it"), "{nowhere:?}");
    assert!(!file.exists() && fs::read_dir(out.path()).expect("readable").next().is_none());
    assert!(check(&file, &[]).complaint(1).contains("failed to open"));
    assert!(check(dir.path(), &[]).complaint(1).contains("it is a directory, and not a regular file"));
    for (args, expected) in [
        (["--seconds", "-1"], "a number of seconds"),
        (["--share", "101"], "from 0 to 100"),
        (["--share", "NaN"], "from 0 to 100"),
        (["--key", "anna"], "64 hexadecimal digits"),
        (["--threads", "0"], "from 1 to 4096"),
    ] {
        assert!(check(&file, &args).complaint(2).contains(expected), "{args:?}");
    }
    let merged = run(queens(["merge", "a", "-o", "b"]));
    assert!(merged.complaint(2).contains("2"), "{merged:?}");
    // A job that is not done.
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let job = coordinator.submit(8);
    coordinator.wait_for_state(&job, "queued");
    let early = coordinator.queens(["export", &job, utf8(&file)]);
    assert!(early.complaint(1).contains("a certificate is made of a job that is done"), "{early:?}");
    let unknown = coordinator.queens(["export", "9", utf8(&file)]);
    assert!(unknown.complaint(1).contains("there is no job 9"), "{unknown:?}");
    assert!(!file.exists());
}

#[test]
fn a_coordinator_gives_certificates_and_a_stranger_s_program_reads_them() {
    let Scenario { scratch, data_dir, coordinator: cluster } = Scenario::start();
    assert!(data_dir.join("signing.key").exists(), "a key is made with the directory");
    let _worker = cluster.worker("anna");
    let job = cluster.submit(11);
    _ = cluster.queens(["watch", &job]).good();
    let far = scratch.join("far");
    _ = cluster.json(["export", &job, utf8(&far)]);
    wait_for("a job that is exported", || !cluster.status(&job)["exported_ms"].is_null());
    // From the directory while it is in use.
    let near = scratch.join("near");
    _ = export(&data_dir, &near).good();
    let [far, near] = [far, near].map(|file| check(&file, &["--seconds", "0"]).answer());
    assert_eq!(far["solutions"], "2680");
    assert_eq!(far["parts"][0]["passes"], near["parts"][0]["passes"]);
    assert_eq!(far["parts"][0]["signer"], near["parts"][0]["signer"]);
    // It is of this job, and of no other with the same number.
    assert_eq!(far["parts"][0]["passes"][0]["identity"], cluster.status(&job)["identity"]);
    let text = run(queens(["check", utf8(&scratch.join("far")), "--seconds", "0"])).stdout;
    let identity = cluster.status(&job)["identity"].as_str().expect("an identity").to_owned();
    assert!(text.contains(&format!("pass 1 is job {job}, identity {identity}")), "{text}");
    assert!(cluster.queens(["status", &job]).stdout.contains(&format!("\nidentity      {identity}\n")));
    compare_with_python(&scratch.join("far"));
}

/// Counts a part of n = 11, or all of it, at its own site; returns its certificate.
fn certified(site: &TempDir, args: &[&str]) -> PathBuf {
    let data_dir = site.path().join("data");
    let cluster = Coordinator::start(&data_dir);
    let _workers = [cluster.worker("anna"), cluster.worker("bert")];
    let job = cluster.submit_with(&[&["11", "--method", "search"], args].concat());
    _ = cluster.queens(["watch", &job]).good();
    let file = site.path().join("certificate");
    _ = cluster.json(["export", &job, utf8(&file)]);
    file
}

#[test]
fn a_board_that_was_counted_twice_has_one_certificate() {
    let site = TempDir::new();
    let answer = check(&certified(&site, &["--second-pass"]), &["--share", "100"]).answer();
    assert_eq!(
        (&answer["solutions"], &answer["parts"][0]["agreement"]),
        (&"2680".into(), &"each cross".into())
    );
    let passes = answer["parts"][0]["passes"].as_array().expect("passes");
    assert_eq!(passes.len(), 2);
    assert_ne!(passes[0]["work"], passes[1]["work"]);
    compare_with_python(&site.path().join("certificate"));
}

#[test]
fn sites_merge_what_each_has_counted() {
    let sites = [TempDir::new(), TempDir::new(), TempDir::new()];
    let all = certified(&sites[0], &[]);
    let n_parts = check(&all, &["--seconds", "0"]).answer()["crosses"].as_u64().expect("a number");
    let (first, second) = ("0..100".to_owned(), format!("100..{n_parts}"));
    let first = certified(&sites[1], &["--parts", &first]);
    let second = certified(&sites[2], &["--parts", &second]);
    let part = check(&first, &["--share", "100"]).answer();
    assert_eq!((&part["is_whole"], &part["crosses_until"]), (&false.into(), &100.into()));
    let merge = |files: &[&Path], out: &Path| {
        let files: Vec<&str> = files.iter().map(|file| utf8(file)).collect();
        run(queens([&["merge", "-o", utf8(out), "--output", "json"], &files[..]].concat()))
    };
    let out = sites[0].path().join("merged");
    let merged = merge(&[&second, &first], &out).answer();
    assert_eq!(merged["signers"].as_array().map(Vec::len), Some(2), "{merged}");
    let answer = check(&out, &["--share", "100"]).answer();
    assert_eq!((&answer["solutions"], &answer["fundamental"]), (&"2680".into(), &"341".into()));
    assert_eq!(answer["parts"][1]["crosses_from"], 100);
    // A merge overwrites nothing, and refuses gaps and overlaps with their ranges.
    assert!(merge(&[&second, &first], &out).complaint(1).contains("is there already"));
    let other = sites[0].path().join("other");
    let overlap = merge(&[&all, &first], &other);
    assert!(overlap.complaint(1).contains("overlap: crosses"), "{overlap:?}");
    let far = TempDir::new();
    let third = certified(&far, &["--parts", "101..103"]);
    let gap = merge(&[&first, &third], &other);
    assert!(gap.complaint(1).contains("a gap: crosses 100..101 are in no part"), "{gap:?}");
    assert!(!other.exists());
}

/// Compares the answer of the program in `docs` with that of `queens check`.
fn compare_with_python(file: &Path) {
    if !is_installed("python3") {
        return skipped("python3 is not installed");
    }
    let program = Path::new(REPOSITORY).join("docs/read_certificate.py");
    let read = |file: &Path| run(Command::new("python3").arg(&program).arg(file));
    let said = read(file).good();
    let answer = check(file, &["--seconds", "0"]).answer();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let mut lines = Vec::new();
    for (number, pass) in (1..).zip(answer["parts"][0]["passes"].as_array().expect("passes")) {
        let [solutions, work] = ["solutions", "work"].map(|field| text(&pass[field]));
        let (method, version) = (text(&pass["method"]), &pass["decomposition"]);
        lines.push(format!(
            "pass {number} by {method} {version}: {} records, {solutions} solutions, {work} nodes",
            pass["records"]
        ));
        lines.extend(pass["identity"].as_str().map(|identity| format!("pass {number} is job {identity}")));
    }
    lines.push(format!("signed by {}", text(&answer["parts"][0]["signer"])));
    let [solutions, fundamental] = ["solutions", "fundamental"].map(|field| text(&answer[field]));
    lines.push(format!("Q({}) = {solutions}, {fundamental} of them fundamental", answer["n"]));
    assert_eq!(said.stdout.lines().collect::<Vec<_>>(), lines);
    // It does not accept everything.
    let scratch = TempDir::new();
    let cut = scratch.join("cut");
    let bytes = fs::read(file).expect("readable");
    fs::write(&cut, &bytes[..bytes.len() - 100]).expect("written");
    assert_ne!(read(&cut).status.code(), Some(0));
}

#[test]
fn the_certificate_in_the_repository_holds() {
    let answer = check(&of_16(), &["--share", "10", "--seed", "1"]).answer();
    assert_eq!((&answer["solutions"], &answer["is_whole"]), (&Value::from("14772512"), &Value::from(true)));
    assert_eq!(answer["is_published"], true);
    let part = &answer["parts"][0];
    assert_eq!(part["agreement"], "whole");
    assert!(answer["sample"]["recounted"].as_u64().is_some_and(|n| n > 100), "{answer}");
    let text = run(queens(["check", utf8(&of_16()), "--seconds", "0"])).stdout;
    assert!(text.contains("by methods that share nothing but the board"), "{text}");
    // The first line says what the count rests on, and the second one whether it holds.
    let proof = answer["proof"].as_str().expect("a sentence");
    let count = "Q(16) = 14772512 solutions, 1846955 of them fundamental; agrees with the published count; both methods agree; ";
    assert!(proof.starts_with(count), "{proof}");
    let unchecked =
        "complete and consistent; nothing was counted again now, so a false record would not be noticed";
    assert!(text.starts_with(&format!("{proof}\n{unchecked}")), "{text}");
    let text = run(queens(["check", utf8(&of_16()), "--share", "1"])).stdout;
    assert!(text.starts_with(&format!("{proof}\nall of it holds\nsample: ")), "{text}");
    // A share above zero draws at least one.
    for (share, n_recounted) in [("0.000001", 1), ("0", 0)] {
        let answer = check(&of_16(), &["--share", share]).answer();
        assert_eq!(answer["sample"]["recounted"], n_recounted, "{share} %: {answer}");
    }
    compare_with_python(&of_16());
}
