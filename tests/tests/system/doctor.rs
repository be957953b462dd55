//! `queens doctor`: its output where all is well, and its advice where something is not.

use queens_tests::prelude::*;

/// Returns the line about a subject.
#[track_caller]
fn line<'a>(ended: &'a Ended, of: &str) -> &'a str {
    let mut lines = ended.stdout.lines();
    lines
        .find(|line| line.get(6..).is_some_and(|line| line.starts_with(of)))
        .unwrap_or_else(|| panic!("{ended:?}"))
}

#[test]
fn where_all_is_well_it_says_so_of_each_thing() {
    let guarded = Guarded::new(&[]);
    let viewer = guarded.invite(["--role", "viewer"]);
    let ended = guarded.queens(&viewer, ["doctor"]).good();
    assert!(!ended.stdout.contains("BAD"), "{ended:?}");
    assert!(line(&ended, "kernels").contains("portable count n = 12 right"), "{ended:?}");
    assert!(line(&ended, "processors").contains("may be used"), "{ended:?}");
    assert!(line(&ended, "memory").contains("GiB are available"), "{ended:?}");
    assert!(line(&ended, "coordinator").contains(&format!("{}/ answers after ", guarded.url())), "{ended:?}");
    assert!(
        line(&ended, "versions").contains(&format!("both are {}", queens_platform::VERSION)),
        "{ended:?}"
    );
    assert!(line(&ended, "role").contains("you were invited as viewer"), "{ended:?}");
    assert!(line(&ended, "clock").starts_with("ok"), "{ended:?}");
    assert!(line(&ended, "certificate").starts_with("ok"), "{ended:?}");

    // A worker's invitation permits no queries, and the output says so.
    let worker = guarded.invite(["--role", "worker"]);
    let ended = guarded.queens(&worker, ["doctor"]).good();
    assert!(line(&ended, "coordinator").ends_with("answers; you were invited as a worker"), "{ended:?}");

    let Scenario { scratch: _scratch, coordinator: plain, .. } = Scenario::start();
    let findings = plain.json(["doctor"]);
    let findings = findings.as_array().expect("a list");
    let role = findings.iter().find(|finding| finding["of"] == "role").expect("a role");
    assert_eq!((&role["state"], &role["do"]), (&"ok".into(), &Value::Null), "{role}");
    assert!(findings.iter().all(|finding| finding["of"] != "certificate"), "there is none: {findings:?}");
}

#[test]
fn where_something_is_wrong_it_says_what_to_do() {
    let guarded = Guarded::new(&[]);
    let doctor = |url: &str, more: &[&str], token: Option<&str>| {
        let mut command = queens(["doctor", "--coordinator", url]);
        command.args(more).env("QUEENS_TOKEN", token.unwrap_or_default());
        let ended = run(command);
        assert_eq!(ended.status.code(), Some(1), "{ended:?}");
        let line = line(&ended, "coordinator").to_owned();
        assert!(line.starts_with("BAD"), "{line}");
        line
    };
    let nobody = Port::draw().address();
    assert!(
        doctor(&format!("http://{nobody}"), &[], None).contains("is it running there, and does a firewall")
    );

    let uninvited = doctor(&guarded.url(), &["--ca", utf8(guarded.authority())], None);
    assert!(uninvited.contains("ask who runs it for an invitation, and give its token"), "{uninvited}");
    let plain = doctor(&guarded.url().replace("https", "http"), &[], None);
    assert!(plain.contains("check port and scheme: http where it does not encrypt"), "{plain}");

    // Another authority did not sign this coordinator's certificate.
    let other = Guarded::new(&[]);
    let untrusted = doctor(&guarded.url(), &["--ca", utf8(other.authority())], None);
    assert!(untrusted.contains("check --ca or --pin against the line"), "{untrusted}");
}
