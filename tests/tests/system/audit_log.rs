//! The audit log records the outcome of each operator action, for each reason of refusal, by gRPC and by HTTP.

use std::fmt::Debug;

use queens_proto::pb::jobs_client::JobsClient;
use queens_proto::pb::{self, change_job_request::Change, change_workers_request::Change as WorkersChange};
use queens_tests::cluster::Coordinator;
use queens_tests::guarded::Behind;
use queens_tests::process::{Running, clean, wait_for, wait_until};
use queens_tests::{TempDir, binary, http};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

type Client = JobsClient<InterceptedService<Channel, Bearer>>;

/// Adds a token to each request.
#[derive(Clone)]
struct Bearer(String);

impl tonic::service::Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let shown = format!("Bearer {}", self.0).parse().expect("a header");
        request.metadata_mut().insert("authorization", shown);
        Ok(request)
    }
}

/// An operator action, for either protocol.
#[derive(Clone, Debug)]
enum Asked {
    Submit(pb::SubmitRequest, Value),
    Cancel(u64),
    Pause(u64),
    Resume(u64),
    Priority(u64, i32),
    VerifyMore(u64, pb::VerifyMore, Value),
    Drain(&'static str),
    Block(&'static str),
    Unblock(&'static str),
    Export(u64),
}

impl Asked {
    /// Asks by gRPC; returns the reason of a refusal.
    async fn by_grpc(&self, client: &mut Client) -> Result<(), String> {
        fn said<T>(answer: Result<Response<T>, Status>) -> Result<(), String> {
            answer.map(drop).map_err(|status| status.message().to_owned())
        }
        let job = |job, change| pb::ChangeJobRequest { job, change: Some(change) };
        let named =
            |name: &str, change| pb::ChangeWorkersRequest { name: name.to_owned(), change: Some(change) };
        let nothing = pb::Empty {};
        match self.clone() {
            Self::Submit(request, _) => said(client.submit(request).await),
            Self::Cancel(id) => said(client.change_job(job(id, Change::Cancel(nothing))).await),
            Self::Pause(id) => said(client.change_job(job(id, Change::Pause(nothing))).await),
            Self::Resume(id) => said(client.change_job(job(id, Change::Resume(nothing))).await),
            Self::Priority(id, priority) => {
                said(client.change_job(job(id, Change::Priority(priority))).await)
            }
            Self::VerifyMore(id, more, _) => said(client.change_job(job(id, Change::VerifyMore(more))).await),
            Self::Drain(name) => {
                said(client.change_workers(named(name, WorkersChange::Drain(nothing))).await)
            }
            Self::Block(name) => {
                said(client.change_workers(named(name, WorkersChange::Block(nothing))).await)
            }
            Self::Unblock(name) => {
                said(client.change_workers(named(name, WorkersChange::Unblock(nothing))).await)
            }
            Self::Export(job) => {
                let answer = client.export(pb::GetRequest { job }).await;
                let mut pieces = answer.map_err(|status| status.message().to_owned())?.into_inner();
                while let Some(_piece) =
                    pieces.message().await.map_err(|status| status.message().to_owned())?
                {}
                Ok(())
            }
        }
    }

    /// Asks by HTTP; `None` if that is not possible by HTTP.
    fn by_http(&self, site: &str, token: &str) -> Option<Result<(), String>> {
        let of_job = |job: u64, what: &str| format!("/api/v1/jobs/{job}/{what}");
        let (path, body) = match self {
            Self::Submit(_, body) => ("/api/v1/jobs".to_owned(), body.clone()),
            Self::Cancel(job) => (of_job(*job, "cancel"), json!({})),
            Self::Pause(job) => (of_job(*job, "pause"), json!({})),
            Self::Resume(job) => (of_job(*job, "resume"), json!({})),
            Self::Priority(job, priority) => (of_job(*job, "priority"), json!({ "priority": priority })),
            Self::VerifyMore(job, _, body) => (of_job(*job, "verify-more"), body.clone()),
            Self::Drain(name) => ("/api/v1/workers/drain".to_owned(), json!({ "name": name })),
            Self::Block(name) => ("/api/v1/workers/block".to_owned(), json!({ "name": name })),
            Self::Unblock(name) => ("/api/v1/workers/unblock".to_owned(), json!({ "name": name })),
            Self::Export(_) => return None,
        };
        let headers = [("Content-Type", "application/json"), ("Authorization", &*format!("Bearer {token}"))];
        let answer = http::request(site, "POST", &path, &headers, &body.to_string());
        Some(match answer.status {
            200..300 => Ok(()),
            _ => Err(answer.json()["error"].as_str().expect("a reason").to_owned()),
        })
    }
}

/// A coordinator with jobs in all states, and an operator.
struct Fixture {
    // Dropped, and so killed, before its directory.
    behind: Behind,
    _worker: Running,
    operator: String,
    _scratch: TempDir,
}

/// Jobs of the fixture.
const DONE: u64 = 1;
const CANCELLED: u64 = 2;
const OPEN: u64 = 3;
const TWICE: u64 = 4;
const SECOND: u64 = 5;
const UNKNOWN: u64 = 99;

impl Fixture {
    fn new() -> Self {
        let scratch = TempDir::new();
        let behind = Behind::start(&scratch.path().join("data"), &[]);
        let [operator, token] = ["operator", "worker"].map(|role| behind.token(role));
        let mut command = clean(std::process::Command::new(binary("queens-worker")));
        command.args(["--coordinator", &behind.coordinator().url(), "--name", "anna", "--threads", "1"]);
        command.args(["--kernel", "portable"]).env("QUEENS_TOKEN", token);
        let worker = Running::start_redirected(&mut command);
        let fixture = Self { behind, _worker: worker, operator, _scratch: scratch };
        let post = |path: &str, body: Value| {
            let bearer = format!("Bearer {}", fixture.operator);
            let headers = [("Content-Type", "application/json"), ("Authorization", &*bearer)];
            let answer = http::request(&fixture.site(), "POST", path, &headers, &body.to_string());
            assert!((200..300).contains(&answer.status), "{path}: {answer:?}");
        };
        post("/api/v1/jobs", json!({ "n": 8 }));
        wait_for("a job that is done", || fixture.get("/api/v1/jobs/1")["state"] == "done");
        for body in [json!({ "n": 17 }), json!({ "n": 18 }), json!({ "n": 16, "second_pass": "search" })] {
            post("/api/v1/jobs", body);
        }
        post("/api/v1/jobs/2/cancel", json!({}));
        wait_for("a worker that counts", || fixture.get("/api/v1/workers")["workers"][0]["name"] == "anna");
        fixture
    }

    fn coordinator(&self) -> &Coordinator {
        self.behind.coordinator()
    }

    fn site(&self) -> String {
        self.coordinator().http()
    }

    fn get(&self, path: &str) -> Value {
        let bearer = format!("Bearer {}", self.operator);
        http::request(&self.site(), "GET", path, &[("Authorization", &bearer)], "").json()
    }

    /// Returns the latest entry of the log, and the number of entries.
    fn log(&self) -> (Value, usize) {
        let all = self.get("/api/v1/audit")["audit_entries"].as_array().expect("a list").clone();
        (all.first().cloned().unwrap_or_default(), all.len())
    }

    /// Checks that the log has one entry for the answer, as done or as refused for the same reason.
    #[track_caller]
    fn check(&self, what: &dyn Debug, answer: &Result<(), String>, expected: &str, n_before: usize) {
        let (entry, n) = self.log();
        let outcome = match answer {
            Ok(()) => "done".to_owned(),
            Err(reason) => format!("refused: {reason}"),
        };
        assert_eq!((entry["outcome"].as_str(), n), (Some(&*outcome), n_before + 1), "{what:?}: {entry}");
        let by = ["who", "role", "peer"].map(|field| entry[field].as_str().unwrap_or_default());
        assert_eq!(by, ["invitation 1", "operator", "127.0.0.1"], "{what:?}");
        match expected {
            "done" => assert_eq!(outcome, "done", "{what:?}"),
            reason => {
                assert!(outcome.starts_with("refused: ") && outcome.contains(reason), "{what:?}: {outcome}");
            }
        }
    }
}

fn submit(n: u32, more: impl FnOnce(&mut pb::SubmitRequest), body: Value) -> Asked {
    let mut request =
        pb::SubmitRequest { n, method: pb::Method::Search.into(), ..pb::SubmitRequest::default() };
    more(&mut request);
    let mut all = json!({ "n": n });
    all.as_object_mut().expect("an object").extend(body.as_object().expect("an object").clone());
    Asked::Submit(request, all)
}

fn verify_more(job: u64, recount_ppm: u32, second_pass: Option<&str>) -> Asked {
    let method = second_pass.map(|_| pb::Method::Search.into());
    let request = pb::VerifyMore {
        recount: Some(recount_ppm),
        second_pass: method.unwrap_or_default(),
        ..pb::VerifyMore::default()
    };
    let percent = (recount_ppm / 10_000).to_string();
    let body = match second_pass {
        None => json!({ "recount": percent }),
        Some(method) => json!({ "recount": percent, "second_pass": method }),
    };
    Asked::VerifyMore(job, request, body)
}

/// Returns each action with its expected outcome: a part of the reason, or "done".
fn table() -> Vec<(Asked, &'static str)> {
    let mut all = Vec::new();
    // A finished job can't be changed, and a job that does not exist can't either.
    for (job, reason) in [
        (UNKNOWN, "there is no job 99"),
        (DONE, "job 1 is done and stays so"),
        (CANCELLED, "job 2 is cancelled and stays so"),
    ] {
        all.push((Asked::Pause(job), reason));
        all.push((Asked::Resume(job), reason));
        all.push((Asked::Priority(job, 3), reason));
    }
    all.extend([
        (Asked::Pause(OPEN), "done"),
        (Asked::Resume(OPEN), "done"),
        (Asked::Priority(OPEN, 3), "done"),
        (Asked::Priority(OPEN, 1001), "-1000 to 1000"),
        (verify_more(UNKNOWN, 10_000, None), "there is no job 99"),
        (verify_more(CANCELLED, 10_000, None), "job 2 is cancelled and stays so"),
        (verify_more(SECOND, 10_000, None), "job 5 is the second pass of job 4"),
        (verify_more(TWICE, 10_000, Some("search")), "job 4 has a second pass, job 5"),
        (verify_more(OPEN, 1_010_000, None), "a share in per cent"),
        (verify_more(OPEN, 10_000, None), "done"),
        (submit(33, |_| {}, json!({})), "from 0 to 32"),
        (submit(12, |it| it.priority = -1001, json!({ "priority": -1001 })), "-1000 to 1000"),
        (submit(12, |_| {}, json!({})), "done"),
        (Asked::Drain("nobody"), "there is no worker named 'nobody'"),
        (Asked::Drain(" "), ""),
        (Asked::Block(" "), ""),
        (Asked::Unblock(" "), ""),
        (Asked::Unblock("nobody"), "there is no worker named 'nobody'"),
        (Asked::Block("someone"), "done"),
        (Asked::Unblock("someone"), "done"),
        (Asked::Export(UNKNOWN), "there is no job 99"),
        (Asked::Export(OPEN), "a certificate is made of a job that is done"),
        (Asked::Export(CANCELLED), "a certificate is made of a job that is done"),
        (Asked::Export(DONE), "done"),
        (Asked::Cancel(UNKNOWN), "there is no job 99"),
        (Asked::Cancel(DONE), "job 1 is done and stays so"),
        // The job is in the requested state already.
        (Asked::Cancel(CANCELLED), "done"),
        (Asked::Cancel(SECOND), "done"),
        (Asked::Cancel(TWICE), "done"),
        (Asked::Drain("anna"), "done"),
    ]);
    all
}

#[test]
fn each_decision_and_each_refusal_is_in_the_log_as_it_was_answered() {
    let runtime = Runtime::new().expect("a runtime");
    // One protocol after the other, so that each finds the same jobs.
    let fixture = Fixture::new();
    let bearer = Bearer(fixture.operator.clone());
    let channel = Channel::from_shared(fixture.coordinator().url()).expect("a URL");
    let channel = runtime.block_on(channel.connect()).expect("connected");
    let mut client = JobsClient::with_interceptor(channel, bearer);
    for (asked, expected) in table() {
        let (_, n_before) = fixture.log();
        let answer = runtime.block_on(asked.by_grpc(&mut client));
        fixture.check(&("by gRPC", &asked), &answer, expected, n_before);
    }
    drop(client);
    let fixture = Fixture::new();
    for (asked, expected) in table() {
        let (_, n_before) = fixture.log();
        if let Some(answer) = asked.by_http(&fixture.site(), &fixture.operator) {
            fixture.check(&("by HTTP", &asked), &answer, expected, n_before);
        }
    }
}

#[test]
fn what_a_viewer_may_not_decide_is_not_in_the_log_as_done() {
    let runtime = Runtime::new().expect("a runtime");
    let fixture = Fixture::new();
    let viewer = fixture.behind.token("viewer");
    let channel = Channel::from_shared(fixture.coordinator().url()).expect("a URL");
    let channel = runtime.block_on(channel.connect()).expect("connected");
    let mut client = JobsClient::with_interceptor(channel, Bearer(viewer.clone()));
    let (_, n_before) = fixture.log();
    // A viewer may export, which is no action then.
    let decisions = table().into_iter().filter(|(asked, _)| !matches!(asked, Asked::Export(_)));
    for (asked, _) in decisions {
        for answer in
            [Some(runtime.block_on(asked.by_grpc(&mut client))), asked.by_http(&fixture.site(), &viewer)]
        {
            let refusal = answer.expect("it can be asked").expect_err("a viewer");
            assert!(refusal.contains("this takes an operator"), "{asked:?}: {refusal}");
        }
    }
    // A separate thread records refusals.
    let refusals = wait_until("refusals in the log", || {
        let all = fixture.get("/api/v1/audit")["audit_entries"].as_array().expect("a list").clone();
        Some(all).filter(|all| all.len() > n_before)
    });
    for entry in &refusals[..refusals.len() - n_before] {
        let outcome = entry["outcome"].as_str().expect("a text");
        assert!(outcome.starts_with("refused: this takes an operator"), "{entry}");
        assert_eq!((&entry["role"], &entry["who"]), (&json!("viewer"), &json!("invitation 3")));
    }
}
