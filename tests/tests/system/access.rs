//! Authentication and permissions by gRPC, with real processes, TLS and tokens.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use queens_auth::{Credentials, Trust};
use queens_proto::client::{Route, endpoint};
use queens_proto::pb;
use queens_tests::directory::entries;
use queens_tests::prelude::*;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Code, Request};

/// Calls that only operators may make.
const DECISIONS: [&str; 4] = ["ListAuditEntries", "Submit", "ChangeJob", "ChangeWorkers"];

/// Returns all methods of our services, as the protocol's text names them.
fn methods() -> BTreeSet<String> {
    let text = include_str!("../../../proto/proto/queens/v1/queens.proto");
    let (mut service, mut found) = (String::new(), BTreeSet::new());
    for line in text.lines().map(str::trim) {
        let named = || line.split([' ', '(', '{']).nth(1).expect("a name").to_owned();
        if line.starts_with("service ") {
            service = named();
        } else if line.starts_with("rpc ") {
            found.insert(format!("/queens.v1.{service}/{}", named()));
        }
    }
    found
}

/// Returns a method's answer to a request without meaning.
async fn answer(guarded: &Guarded, invited: Option<&Invited>, path: &str) -> Code {
    let credentials = Credentials {
        trust: Trust::Authorities(guarded.authority().to_owned()),
        token: invited.map(|invited| invited.token.clone()),
        certificate: None,
    };
    let route = Route::new(endpoint(&guarded.url()).expect("a URL"), &credentials).expect("a route");
    let mut grpc = tonic::client::Grpc::new(route.open().await.expect("connected"));
    grpc.ready().await.expect("connected");
    // Job 0 does not exist, and an empty Hello is invalid.
    let codec = tonic_prost::ProstCodec::<pb::GetRequest, pb::GetRequest>::default();
    let path = PathAndQuery::try_from(path).expect("a path");
    let answer = grpc.server_streaming(Request::new(pb::GetRequest { job: 0 }), path, codec).await;
    let status = match answer {
        Err(status) => status,
        Ok(stream) => match stream.into_inner().message().await {
            Ok(_) => return Code::Ok,
            Err(status) => status,
        },
    };
    status.code()
}

#[test]
#[expect(clippy::print_stdout, reason = "the table is shown to whoever asks for it")]
fn each_role_may_call_what_is_its_own_and_nothing_else() {
    let guarded = Guarded::new(&[]);
    let [viewer, operator, worker] =
        ["viewer", "operator", "worker"].map(|role| guarded.invite(["--role", role]));
    let methods = methods();
    assert!(methods.len() >= 14, "{methods:?}");
    let runtime = runtime();
    for path in &methods {
        let name = path.rsplit('/').next().expect("a name");
        let is_decision = DECISIONS.contains(&name);
        let is_of_workers = ["Session", "GetOwnContribution"].contains(&name);
        for (who, invited, may) in [
            ("nobody", None, false),
            ("a viewer", Some(&viewer), !is_decision && !is_of_workers),
            ("an operator", Some(&operator), !is_of_workers),
            ("a worker", Some(&worker), is_of_workers),
        ] {
            let code = runtime.block_on(answer(&guarded, invited, path));
            let refused = if invited.is_none() { Code::Unauthenticated } else { Code::PermissionDenied };
            println!("{path:35} {who:11} {code:?}");
            assert_eq!(code != refused, may, "{who}: {path} {code:?}");
        }
    }
    for path in ["/queens.v1.Jobs/Unheard", "/queens.v2.Jobs/List", "/x"] {
        assert_eq!(runtime.block_on(answer(&guarded, None, path)), Code::Unauthenticated, "{path}");
        assert_eq!(
            runtime.block_on(answer(&guarded, Some(&operator), path)),
            Code::PermissionDenied,
            "{path}"
        );
    }
    let health = "/grpc.health.v1.Health/Check";
    assert_ne!(runtime.block_on(answer(&guarded, None, health)), Code::Unauthenticated);
}

#[test]
fn one_line_turns_a_machine_into_a_worker_and_a_board_is_counted() {
    let guarded = Guarded::new(&[]);
    let operator = guarded.invite(["--role", "operator", "--name", "ann"]);
    let worker = guarded.invite(["--role", "worker", "--expires", "30d"]);
    assert!(worker.line.starts_with(" QUEENS_TOKEN="), "kept out of the history of shells: {}", worker.line);
    // The printed line runs unchanged.
    let directory = binary("queens-worker").parent().expect("a directory").to_owned();
    let mut shell = clean(Command::new("/bin/sh"));
    let line = worker.line.trim_end();
    shell.arg("-c").arg(format!("PATH='{}':$PATH; exec env{line} --threads 1", directory.display()));
    let mut running = Running::start_redirected(shell.stderr(Stdio::null()));
    let answer = guarded.json(&operator, &["count", "12"]);
    assert_eq!(answer["solutions"], "14200");
    let listed = guarded.manage(["invitations"]).stdout;
    assert!(listed.contains("operator  open  'ann'") && listed.contains("1 of 1 names"), "{listed}");
    // A revoked invitation disconnects its user, who can't return.
    guarded.manage(["revoke", &worker.token.invitation().to_string()]);
    wait_for("the worker's end", || !running.is_running());
}

#[test]
fn nobody_else_is_taken_for_the_coordinator() {
    let guarded = Guarded::new(&[]);
    let viewer = guarded.invite(["--role", "viewer"]);
    let other = guarded.beside("other");
    certs(&other, &[]);
    let pin = viewer.line.split_whitespace().find(|word| word.starts_with("sha256:")).expect("a pin");
    let jobs = |flags: &[&str]| {
        let mut command = queens(["jobs", "--coordinator", &guarded.url()]);
        command.args(flags).env("QUEENS_TOKEN", viewer.token.secret());
        run(command)
    };
    for flags in [["--pin", pin], ["--ca", utf8(guarded.authority())]] {
        assert!(jobs(&flags).status.success(), "{flags:?}");
    }
    let first = if pin.starts_with("sha256:0") { '1' } else { '0' };
    let (strange, wrong) = (other.join("ca.pem"), format!("sha256:{first}{}", &pin["sha256:0".len()..]));
    for flags in [&["--ca", utf8(&strange)][..], &["--pin", &wrong], &[]] {
        let refused = jobs(flags);
        assert!(refused.complaint(1).contains("--pin or --ca says whom to take for it"), "{refused:?}");
    }
}

#[test]
fn names_are_different_people() {
    let guarded = Guarded::new(&[]);
    let operator = guarded.invite(["--role", "operator"]);
    let [one, other] = [(); 2].map(|()| guarded.invite(["--role", "worker"]));
    let _first = guarded.worker(&one, "first");
    wait_for("the worker", || guarded.json(&operator, &["workers"]).as_array().map(Vec::len) == Some(1));
    for (invited, name) in [(&one, "second"), (&other, "first")] {
        let mut refused = guarded.worker(invited, name);
        wait_for("the end of who uses a name of others", || !refused.is_running());
    }
    // A name in use can't be given away. It can after its user has gone.
    let data_dir = utf8(guarded.data_dir());
    let invite =
        || queens_coordinator(&["invite", "--role", "worker", "--name", "first", "--data-dir", data_dir]);
    assert!(invite().complaint(1).contains("belongs to invitation"));
    guarded.manage(["revoke", &one.token.invitation().to_string()]);
    assert!(invite().status.success());
    let log = guarded.coordinator().log();
    assert!(log.contains("names are different people") && log.contains("is not for a worker named"), "{log}");
}

#[test]
fn a_coordinator_that_others_reach_does_not_start_unguarded() {
    let scratch = TempDir::new();
    let data_dir = scratch.join("data");
    for address in
        [["--listen", "0.0.0.0:0", "--http", "127.0.0.1:0"], ["--listen", "127.0.0.1:0", "--http", "[::]:0"]]
    {
        let refused = run(program("queens-coordinator").args(address).arg("--data-dir").arg(&data_dir));
        let reason = refused.complaint(1);
        for way in ["--tls-cert", "SSH tunnel", "--insecure-no-auth"] {
            assert!(reason.contains(way), "{reason}");
        }
        assert!(!data_dir.exists(), "nothing is made");
    }
}

#[test]
fn behind_a_proxy_tokens_are_asked_for_though_nothing_is_encrypted_here() {
    let behind = Behind::new(&[]);
    let coordinator = behind.coordinator();
    assert!(!coordinator.queens(["jobs"]).status.success());
    assert_eq!(http::get(&coordinator.http(), "/api/v1/jobs").status, 401);
    assert_eq!(http::get(&coordinator.http(), "/healthz").status, 200);
    let token = behind.token("viewer");
    let ask = |method, path, body| behind.ask(&token, method, path, body).status;
    assert_eq!(ask("GET", "/api/v1/jobs", ""), 200);
    assert_eq!(ask("POST", "/api/v1/jobs", "{\"n\":8}"), 403);
    _ = behind.queens(&token, ["jobs"]).good();
}

#[test]
fn only_an_operator_s_export_is_a_decision() {
    let guarded = Guarded::new(&[]);
    let [operator, viewer, worker] =
        ["operator", "viewer", "worker"].map(|role| guarded.invite(["--role", role]));
    let _worker = guarded.worker(&worker, "anna");
    _ = guarded.queens(&operator, ["count", "8"]).good();
    let is_exported = || !guarded.json(&viewer, &["status", "1"])["exported_ms"].is_null();
    let export = |invited, name| {
        let file = guarded.beside(name);
        _ = guarded.queens(invited, ["export", "1", utf8(&file)]).good();
        fs::metadata(file).expect("there").len()
    };
    assert!(export(&viewer, "seen.cert") > 0);
    let audit = || guarded.queens(&operator, ["audit"]).stdout;
    assert!(!is_exported() && !audit().contains("export job 1"), "{}", audit());
    assert!(export(&operator, "decided.cert") > 0);
    wait_for("the mark of the export", is_exported);
    wait_for("its record", || audit().contains("export job 1"));
}

#[test]
fn nobody_else_on_the_machine_reads_what_is_kept() {
    let guarded = Guarded::new(&[]);
    let operator = guarded.invite(["--role", "operator"]);
    _ = guarded.queens(&operator, ["submit", "8"]).good();
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(guarded.data_dir()), 0o700);
    let files = entries(guarded.data_dir());
    assert!(files.len() >= 4, "{files:?}");
    for path in files {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

/// Runs `queens-coordinator` with these arguments in a directory.
fn manage_in(dir: &Path, args: &[&str]) -> Running {
    Running::start(program("queens-coordinator").args(args).current_dir(dir))
}

#[test]
fn nobody_is_invited_to_where_no_coordinator_is() {
    let scratch = TempDir::new();
    let (dir, typo) = (scratch.path(), scratch.join("typo"));
    let invite = ["invite", "--data-dir", "typo", "--role", "worker"];
    for args in [&invite[..], &["invitations", "--data-dir", "typo"], &["revoke", "1", "--data-dir", "typo"]]
    {
        let refused = manage_in(dir, args).wait();
        let expected = "cannot use 'typo': no coordinator that keeps invitations has been started on it";
        assert!(refused.complaint(1).contains(expected), "{refused:?}");
        assert!(!typo.exists(), "{args:?}");
    }
    // A coordinator that is open to everybody asks for no token, and logs nothing. A command also waits for another
    // program's directory, as a coordinator might be starting there.
    let everybody = dir.join("everybody");
    _ = Coordinator::start(&everybody);
    fs::create_dir(dir.join("empty")).expect("made");
    let running = ["everybody", "empty"]
        .map(|place| (place, manage_in(dir, &["invite", "--data-dir", place, "--role", "viewer"])));
    for (place, running) in running {
        let refused = running.wait();
        assert_eq!((refused.status.code(), refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
        let mut said = refused.stderr.lines();
        assert_eq!(said.next(), Some("waiting for a coordinator to note where it is reached"), "{refused:?}");
        let expected = match place {
            "everybody" => "in 10 s no coordinator has noted where it is reached",
            _ => "no coordinator that keeps invitations has been started on it",
        };
        assert!(said.next().is_some_and(|line| line.contains(expected)), "{refused:?}");
        let listed = manage_in(dir, &["invitations", "--data-dir", place]).wait();
        assert!(!listed.stdout.contains("viewer"), "{listed:?}");
    }
    // Before there is a coordinator, if the user asks for that.
    let made = manage_in(dir, &["invite", "--new", "--data-dir", "typo", "--role", "worker"]).wait();
    assert!(made.stdout.ends_with(" queens-worker --coordinator https://HOST:50051\n"), "{made:?}");
    assert!(made.stderr.contains("HOST is where others reach the coordinator"), "{made:?}");
}

#[test]
fn who_is_invited_while_a_coordinator_starts_is_told_where_it_is() {
    let scratch = TempDir::new();
    let data_dir = scratch.join("data");
    fs::create_dir(&data_dir).expect("made");
    // While the directory is still empty, and as soon as it can keep invitations.
    let invite = || manage_in(scratch.path(), &["invite", "--data-dir", "data", "--role", "worker"]);
    let early = invite();
    let made =
        manage_in(scratch.path(), &["invite", "--new", "--data-dir", "data", "--role", "viewer"]).wait();
    assert!(made.status.success(), "{made:?}");
    let late = invite();
    let guarded = Guarded::start(&data_dir);
    for invited in [early, late] {
        let invited = invited.wait();
        let expected = format!(" queens-worker --coordinator {} --pin sha256:", guarded.url());
        assert!(invited.status.success() && invited.stdout.contains(&expected), "{invited:?}");
    }
}
