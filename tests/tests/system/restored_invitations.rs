//! Restoring invitations to an earlier state gives nobody another person's permissions.

use std::path::Path;
use std::process::Command;

use queens_tests::http::Answer;
use queens_tests::prelude::*;

/// A coordinator that requires invitations.
struct Site {
    // Dropped, and so killed, before its directory.
    coordinator: Coordinator,
    /// Options that name the store of invitations.
    place: Vec<String>,
}

impl Site {
    fn start(data_dir: &Path, store: Option<&str>) -> Self {
        let mut command = coordinator_command("127.0.0.1:0", data_dir);
        command.args(["--http", "127.0.0.1:0", "--require-tokens"]);
        let place = match store {
            Some(address) => vec!["--store".to_owned(), address.to_owned()],
            None => vec!["--data-dir".to_owned(), data_dir.display().to_string()],
        };
        command.args(store.into_iter().flat_map(|address| ["--store", address]));
        Self { coordinator: Coordinator::start_command(command, data_dir), place }
    }

    fn manage(&self, args: &[&str]) -> Ended {
        manage(&self.place, args)
    }

    fn invite(&self, role: &str) -> String {
        token_in(&self.manage(&["invite", "--role", role]).stdout)
    }

    fn get(&self, path: &str, header: (&str, &str)) -> Answer {
        http::request(&self.coordinator.http(), "GET", path, &[header], "")
    }

    /// Returns the identity behind a token.
    fn me(&self, token: &str) -> Answer {
        self.get("/api/v1/me", ("Authorization", &format!("Bearer {token}")))
    }

    fn audit(&self, operator: &str) -> Vec<Value> {
        let told = self.get("/api/v1/audit", ("Authorization", &format!("Bearer {operator}"))).json();
        told["audit_entries"].as_array().expect("a list").clone()
    }
}

fn manage(place: &[String], args: &[&str]) -> Ended {
    run(program("queens-coordinator").args(args).args(place)).good()
}

/// Runs a program of PostgreSQL on a database.
fn postgres_program(program: &str, address: &str, args: &[&str]) {
    _ = run(clean(Command::new(program)).args(args).args(["--dbname", address])).good();
}

/// The tables of invitations are restored under a running coordinator, and a number is assigned again.
#[test]
fn a_number_that_is_given_again_gives_nobody_the_rights_of_another() {
    let Some(postgres) = Postgres::start("") else { return };
    let address = postgres.database("back");
    let scratch = TempDir::new();
    let site = Site::start(&scratch.join("data"), Some(&address));
    let first = site.invite("operator");
    assert_eq!(site.me(&first).json()["role"], "operator");
    let copy = scratch.join("copy.sql");
    let copy = utf8(&copy);
    let tables = ["invitation", "name", "invitation_store"].map(|table| format!("--table=queens.{table}"));
    let dump: Vec<&str> = tables.iter().map(String::as_str).chain(["--clean", "--file", copy]).collect();
    postgres_program("pg_dump", &address, &dump);

    let viewer = site.invite("viewer");
    let body = format!("{{\"token\":\"{viewer}\"}}");
    let json = ("Content-Type", "application/json");
    let logged_in = http::request(&site.coordinator.http(), "POST", "/api/v1/login", &[json], &body);
    let cookie =
        logged_in.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
    assert_eq!(site.get("/api/v1/me", ("Cookie", cookie)).json()["role"], "viewer");
    postgres_program(
        "psql",
        &address,
        &["--quiet", "--single-transaction", "--set", "ON_ERROR_STOP=1", "--file", copy],
    );
    let second = site.invite("operator");
    assert!(viewer.starts_with("queens_2_") && second.starts_with("queens_2_"), "the number is given again");
    wait_for("the new operator", || site.me(&second).json()["role"] == "operator");

    let refused = site.get("/api/v1/me", ("Cookie", cookie));
    assert_eq!(refused.status, 401, "{refused:?}");
    assert!(refused.body.contains("your invitation no longer exists"), "{refused:?}");
    assert_eq!(site.me(&viewer).status, 401);
    let unknown = viewer.replace("queens_2_", "queens_77_");
    assert_eq!(site.me(&unknown).status, 401);
    // The log names the caller, as far as it is known.
    let audit = wait_until("what was refused", || {
        Some(site.audit(&first))
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
    assert!(site.coordinator.log().contains("invitations are gone"), "{}", site.coordinator.log());
}

/// A copy of a directory has old invitations: revoked ones are valid again, until one command revokes all.
#[test]
fn all_invitations_of_a_copy_are_ended_by_one_command() {
    let scratch = TempDir::new();
    let (data_dir, copy) = (scratch.join("data"), scratch.join("copy"));
    let site = Site::start(&data_dir, None);
    let [operator, viewer] = ["operator", "viewer"].map(|role| site.invite(role));
    site.coordinator.stop();
    let mut copying = Command::new("cp");
    copying.arg("-a").arg(&data_dir).arg(&copy);
    assert!(run(copying).status.success());
    let site = Site::start(&data_dir, None);
    site.manage(&["revoke", "1"]);
    let later = site.invite("operator");
    wait_for("the end of the operator", || site.me(&operator).status == 401);
    drop(site);

    let site = Site::start(&copy, None);
    assert_eq!(site.me(&operator).json()["role"], "operator", "as it was when the copy was made");
    let ended = site.manage(&["revoke", "--all"]);
    let expected = "invitation 1 of an operator is revoked\ninvitation 2 of a viewer is revoked\n";
    assert_eq!(ended.stdout, expected, "{ended:?}");
    assert!(ended.stderr.contains("invitations made after it are not in it"), "{ended:?}");
    wait_for("the end of all", || site.me(&operator).status == 401);
    for token in [&operator, &viewer, &later] {
        assert_eq!(site.me(token).status, 401);
    }
    let again = site.manage(&["revoke", "--all"]);
    assert!(again.stdout.is_empty() && again.stderr.contains("0 invitations are revoked"), "{again:?}");
    // A new invitation is another person's, whatever its number.
    assert_eq!(site.me(&site.invite("viewer")).json()["role"], "viewer");
    assert_eq!(site.me(&later).status, 401);
}
