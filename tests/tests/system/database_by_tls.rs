//! A PostgreSQL server with TLS and passwords: authentication, error messages, and reconnection.

use std::fs;
use std::path::{Path, PathBuf};

use queens_tests::postgres::proved;
use queens_tests::prelude::*;
use queens_tests::proxy::Proxy;

const PASSWORD: &str = "hidden-from-logs";

/// A server with a certificate for `localhost`, and a user who needs a password and TLS.
struct Site {
    server: Postgres,
    scratch: TempDir,
}

impl Site {
    fn start() -> Option<Self> {
        let scratch = TempDir::new();
        for name in ["keys", "others"] {
            certs(&scratch.join(name), &["--host", "localhost"]);
        }
        let rules = "hostssl all guarded all scram-sha-256\nhost all guarded all reject";
        let server = Postgres::start_guarded("", rules, Some(&scratch.join("keys")))?;
        _ = server.database("jobs");
        let user = format!("CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'");
        server.sql("jobs", &user).expect("makes a user");
        server.sql("jobs", "GRANT CREATE ON DATABASE jobs TO guarded").expect("grants");
        for (file, password) in [("password", PASSWORD), ("wrong", "something-else")] {
            fs::write(scratch.join(file), format!("{password}\n")).expect("a file");
        }
        Some(Self { server, scratch })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    fn address(&self, host: &str) -> String {
        let server = self.server.address().replace("127.0.0.1", host);
        format!("postgres://guarded@{server}/jobs?sslmode=require")
    }
}

/// Checks that a coordinator ends at once with this message.
#[track_caller]
fn refused(address: &str, authority: &Path, password: Option<&Path>, expected: &str) {
    let scratch = TempDir::new();
    let mut command = with_store("127.0.0.1:0", scratch.path(), address);
    command.env("QUEENS_LOG", "error").arg("--store-ca").arg(authority);
    if let Some(password) = password {
        command.arg("--store-password-file").arg(password);
    }
    let ended = run(command);
    let complaint = ended.complaint(1);
    assert!(complaint.contains(expected), "{complaint}");
    assert!(complaint.contains("cannot use database "), "{complaint}");
    assert!(!complaint.contains(PASSWORD) && !complaint.contains("damaged"), "{complaint}");
}

#[test]
fn who_is_not_let_in_is_told_why() {
    let Some(site) = Site::start() else { return };
    let (address, ours) = (site.address("localhost"), site.path("keys/ca.pem"));
    let password = site.path("password");
    let who = "password authentication failed for user \"guarded\"";
    refused(&address, &ours, Some(&site.path("wrong")), who);
    refused(&address, &ours, None, "--store-password-file names a file with it");
    refused(&address, &site.path("others/ca.pem"), Some(&password), "invalid peer certificate");
    let by_number = "certificate not valid for name \"127.0.0.1\"";
    refused(&site.address("127.0.0.1"), &ours, Some(&password), by_number);
    let nothing = address.replace("/jobs", "/nothing");
    refused(&nothing, &ours, Some(&password), "database \"nothing\" does not exist");
    let stranger = address.replace("guarded@", "stranger@");
    refused(&stranger, &ours, Some(&password), "role \"stranger\" does not exist");
    site.server.sql("jobs", "REVOKE CREATE ON DATABASE jobs FROM guarded").expect("revokes");
    refused(&address, &ours, Some(&password), "permission denied for database jobs");
    let Some(plain) = Postgres::start("") else { return };
    let plain = format!("{}?sslmode=require", plain.database("jobs"));
    refused(&plain, &ours, Some(&password), "server does not support TLS");
}

/// A coordinator counts with the right password and authority. It continues after its connections were cut, or refused
/// for a while.
#[test]
fn a_connection_that_is_cut_is_made_again() {
    let Some(site) = Site::start() else { return };
    let proxy = Proxy::start(&site.server.address());
    let address = proxy.url().replace("http://127.0.0.1", "postgres://guarded@localhost") + "/jobs";
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::by(|mut command| {
        command.args(["--store", &address, "--store-ca"]).arg(site.path("keys/ca.pem"));
        command.arg("--store-password-file").arg(site.path("password"));
        command
    });
    let _worker = coordinator.worker("anna");
    let job = coordinator.submit(16);
    let goes_on = || {
        let recorded = || {
            let sql = "SELECT coalesce(sum(until - first), 0) FROM queens.record";
            site.server.number("jobs", sql)
        };
        let before = recorded();
        wait_for("more to be recorded", || recorded() > before);
    };
    coordinator.wait_for_records(&job);
    proxy.cut();
    goes_on();
    let no_login =
        |no: &str| site.server.sql("jobs", &format!("ALTER ROLE guarded {no}LOGIN")).expect("alters");
    no_login("NO");
    proxy.cut();
    coordinator.wait_for_log("role \"guarded\" is not permitted to log in");
    no_login("");
    goes_on();
    let waited = coordinator.queens(["watch", &job]);
    assert!(waited.stdout.contains("14772512"), "{} {}", waited.stdout, waited.stderr);
    let encrypted =
        "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'guarded'";
    assert_eq!(site.server.sql("jobs", encrypted).as_deref(), Ok("t"));
    coordinator.stop();
    let proof = proved(&site.server.address_of("jobs"));
    assert!(proof.contains(": 14772512 solutions"), "{proof}");
}
