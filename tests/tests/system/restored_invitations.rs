//! Restoring invitations to an earlier state gives nobody another person's permissions.

use std::process::Command;

use queens_tests::data_dir::snapshot;
use queens_tests::http::Answer;
use queens_tests::prelude::*;

/// Returns the answer of the pages to a request with this header.
fn get(site: &Behind, path: &str, header: (&str, &str)) -> Answer {
    http::request(&site.coordinator().http(), "GET", path, &[header], "")
}

/// Returns the identity behind a token.
fn me(site: &Behind, token: &str) -> Answer {
    site.ask(token, "GET", "/api/v1/me", "")
}

fn audit(site: &Behind, operator: &str) -> Vec<Value> {
    let told = site.ask(operator, "GET", "/api/v1/audit", "").json();
    told["audit_entries"].as_array().expect("a list").clone()
}

/// Runs a program of PostgreSQL on a database.
fn postgres_program(program: &str, address: &str, args: &[&str]) {
    _ = run(clean(Command::new(program)).args(args).args(["--dbname", address])).good();
}

/// The tables of invitations are restored under a running coordinator, and a number is assigned again.
#[test]
fn a_number_that_is_given_again_gives_nobody_the_rights_of_another() {
    let Some((_postgres, address)) = Postgres::with_database("", "back") else { return };
    let scratch = TempDir::new();
    let site = Behind::new(&["--store", &address]);
    let first = site.token("operator");
    assert_eq!(me(&site, &first).json()["role"], "operator");
    let copy = scratch.join("copy.sql");
    let copy = utf8(&copy);
    let tables = ["invitation", "name", "invitation_store"].map(|table| format!("--table=queens.{table}"));
    let dump: Vec<&str> = tables.iter().map(String::as_str).chain(["--clean", "--file", copy]).collect();
    postgres_program("pg_dump", &address, &dump);

    let viewer = site.token("viewer");
    let logged_in = http::log_in(&site.coordinator().http(), &viewer);
    let cookie = logged_in.cookie();
    assert_eq!(get(&site, "/api/v1/me", ("Cookie", cookie)).json()["role"], "viewer");
    postgres_program(
        "psql",
        &address,
        &["--quiet", "--single-transaction", "--set", "ON_ERROR_STOP=1", "--file", copy],
    );
    let second = site.token("operator");
    assert!(viewer.starts_with("queens_2_") && second.starts_with("queens_2_"), "the number is given again");
    wait_for("the new operator", || me(&site, &second).json()["role"] == "operator");

    let refused = get(&site, "/api/v1/me", ("Cookie", cookie));
    assert_eq!(refused.status, 401, "{refused:?}");
    assert!(refused.body.contains("your invitation no longer exists"), "{refused:?}");
    assert_eq!(me(&site, &viewer).status, 401);
    let unknown = viewer.replace("queens_2_", "queens_77_");
    assert_eq!(me(&site, &unknown).status, 401);
    // The log names the caller, as far as it is known.
    let audit = wait_until("what was refused", || {
        Some(audit(&site, &first))
            .filter(|audit| audit.iter().filter(|it| it["what"] == "/api/v1/me").count() >= 3)
            .filter(|audit| audit[0]["who"].as_str().is_some_and(|who| who.contains("invitation 77")))
    });
    let whos: Vec<&str> = audit.iter().filter_map(|it| it["who"].as_str()).collect();
    assert_eq!(whos[0], "a stranger with a token of invitation 77, which is not here");
    assert_eq!(whos[1], "a stranger with another token than that of invitation 2");
    let party = audit[2]["party"].as_str().expect("the cookie's party");
    assert_eq!(whos[2], format!("a stranger, logged in by invitation {party}, which is not here any more"));
    let gone = audit.iter().find(|it| it["who"] == "the coordinator").expect("it is logged");
    assert_eq!(gone["what"], "invitation 2: gone, removed by hand or put back to an earlier state");
    assert!(site.coordinator().log().contains("invitations are gone"), "{}", site.coordinator().log());
}

/// A copy of a directory has old invitations: revoked ones are valid again, until one command revokes all.
#[test]
fn all_invitations_of_a_copy_are_ended_by_one_command() {
    let scratch = TempDir::new();
    let (data_dir, copy) = (scratch.join("data"), scratch.join("copy"));
    let site = Behind::start(&data_dir, &[]);
    let [operator, viewer] = ["operator", "viewer"].map(|role| site.token(role));
    site.stop();
    snapshot(&data_dir, &copy);
    let site = Behind::start(&data_dir, &[]);
    site.manage(["revoke", "1"]);
    let later = site.token("operator");
    wait_for("the end of the operator", || me(&site, &operator).status == 401);
    drop(site);

    let site = Behind::start(&copy, &[]);
    assert_eq!(me(&site, &operator).json()["role"], "operator", "as it was when the copy was made");
    let ended = site.manage(["revoke", "--all"]);
    let expected = "invitation 1 of an operator is revoked\ninvitation 2 of a viewer is revoked\n";
    assert_eq!(ended.stdout, expected, "{ended:?}");
    assert!(ended.stderr.contains("invitations made after it are not in it"), "{ended:?}");
    wait_for("the end of all", || me(&site, &operator).status == 401);
    for token in [&operator, &viewer, &later] {
        assert_eq!(me(&site, token).status, 401);
    }
    let again = site.manage(["revoke", "--all"]);
    assert!(again.stdout.is_empty() && again.stderr.contains("0 invitations are revoked"), "{again:?}");
    // A new invitation is another person's, whatever its number.
    assert_eq!(me(&site, &site.token("viewer")).json()["role"], "viewer");
    assert_eq!(me(&site, &later).status, 401);
}
