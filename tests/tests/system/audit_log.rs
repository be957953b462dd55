//! The audit log records the outcome of each operator action, for each reason of refusal, by gRPC and by HTTP.

use std::fmt::Debug;

use queens_proto::pb::jobs_client::JobsClient;
use queens_proto::pb::{self, change_job_request::Change, change_workers_request::Change as WorkersChange};
use queens_tests::prelude::*;
use tokio::runtime::Runtime;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Request, Status};

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

/// An operator action by gRPC, and by HTTP if that is possible.
#[derive(Clone, Debug)]
struct Asked {
    grpc: Call,
    http: Option<(String, Value)>,
}

#[derive(Clone, Debug)]
enum Call {
    Submit(pb::SubmitRequest),
    Job(u64, Change),
    Workers(&'static str, WorkersChange),
    Export(u64),
}

impl Asked {
    fn job(job: u64, change: Change, what: &str, body: Value) -> Self {
        Self { grpc: Call::Job(job, change), http: Some((format!("/api/v1/jobs/{job}/{what}"), body)) }
    }

    fn workers(name: &'static str, change: WorkersChange, what: &str) -> Self {
        let http = Some((format!("/api/v1/workers/{what}"), json!({ "name": name })));
        Self { grpc: Call::Workers(name, change), http }
    }

    /// Asks by gRPC; returns the reason of a refusal.
    async fn by_grpc(&self, client: &mut Client) -> Result<(), String> {
        let answer = match self.grpc.clone() {
            Call::Submit(request) => client.submit(request).await.map(drop),
            Call::Job(job, change) => {
                client.change_job(pb::ChangeJobRequest { job, change: Some(change) }).await.map(drop)
            }
            Call::Workers(name, change) => {
                let (name, change) = (name.to_owned(), Some(change));
                client.change_workers(pb::ChangeWorkersRequest { name, change }).await.map(drop)
            }
            Call::Export(job) => export(client, job).await,
        };
        answer.map_err(|status| status.message().to_owned())
    }

    /// Asks by HTTP; `None` if that is not possible.
    fn by_http(&self, site: &Behind, token: &str) -> Option<Result<(), String>> {
        let (path, body) = self.http.as_ref()?;
        let answer = site.ask(token, "POST", path, &body.to_string());
        Some(match answer.status {
            200..300 => Ok(()),
            _ => Err(answer.json()["error"].as_str().expect("a reason").to_owned()),
        })
    }
}

async fn export(client: &mut Client, job: u64) -> Result<(), Status> {
    let mut pieces = client.export(pb::GetRequest { job }).await?.into_inner();
    while pieces.message().await?.is_some() {}
    Ok(())
}

fn pause(job: u64) -> Asked {
    Asked::job(job, Change::Pause(pb::Empty {}), "pause", json!({}))
}

fn resume(job: u64) -> Asked {
    Asked::job(job, Change::Resume(pb::Empty {}), "resume", json!({}))
}

fn cancel(job: u64) -> Asked {
    Asked::job(job, Change::Cancel(pb::Empty {}), "cancel", json!({}))
}

fn end_verification(job: u64) -> Asked {
    Asked::job(job, Change::EndVerification(pb::Empty {}), "end-verification", json!({}))
}

fn priority(job: u64, priority: i32) -> Asked {
    Asked::job(job, Change::Priority(priority), "priority", json!({ "priority": priority }))
}

fn drain(name: &'static str) -> Asked {
    Asked::workers(name, WorkersChange::Drain(pb::Empty {}), "drain")
}

fn block(name: &'static str) -> Asked {
    Asked::workers(name, WorkersChange::Block(pb::Empty {}), "block")
}

fn unblock(name: &'static str) -> Asked {
    Asked::workers(name, WorkersChange::Unblock(pb::Empty {}), "unblock")
}

fn exported(job: u64) -> Asked {
    Asked { grpc: Call::Export(job), http: None }
}

/// A coordinator with jobs in all states, and an operator.
struct Fixture {
    behind: Behind,
    _worker: Running,
    operator: String,
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
        let behind = Behind::new(&[]);
        let [operator, token] = ["operator", "worker"].map(|role| behind.token(role));
        let mut command = worker_command(&behind.coordinator().url(), "anna", Kernel::Portable);
        let worker = Running::start_silent(command.env("QUEENS_TOKEN", token));
        let fixture = Self { behind, _worker: worker, operator };
        let post = |path: &str, body: Value| {
            let answer = fixture.behind.ask(&fixture.operator, "POST", path, &body.to_string());
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

    fn get(&self, path: &str) -> Value {
        self.behind.ask(&self.operator, "GET", path, "").json()
    }

    /// Connects by gRPC with a token.
    fn connect(&self, runtime: &Runtime, token: &str) -> Client {
        let channel = Channel::from_shared(self.behind.coordinator().url()).expect("a URL");
        let channel = runtime.block_on(channel.connect()).expect("connected");
        JobsClient::with_interceptor(channel, Bearer(token.to_owned()))
    }

    /// Returns the entries of the log, the latest first.
    fn entries(&self) -> Vec<Value> {
        self.get("/api/v1/audit")["audit_entries"].as_array().expect("a list").clone()
    }

    /// Returns the latest entry of the log, and the number of entries.
    fn log(&self) -> (Value, usize) {
        let all = self.entries();
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
    Asked { grpc: Call::Submit(request), http: Some(("/api/v1/jobs".to_owned(), all)) }
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
    Asked::job(job, Change::VerifyMore(request), "verify-more", body)
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
        all.push((pause(job), reason));
        all.push((resume(job), reason));
        all.push((priority(job, 3), reason));
    }
    all.extend([
        (pause(OPEN), "done"),
        (resume(OPEN), "done"),
        (priority(OPEN, 3), "done"),
        (priority(OPEN, 1001), "-1000 to 1000"),
        (verify_more(UNKNOWN, 10_000, None), "there is no job 99"),
        (verify_more(CANCELLED, 10_000, None), "job 2 is cancelled and stays so"),
        (verify_more(SECOND, 10_000, None), "job 5 is the second pass of job 4"),
        (verify_more(TWICE, 10_000, Some("search")), "job 4 has a second pass, job 5"),
        (verify_more(OPEN, 1_010_000, None), "a share in per cent"),
        (verify_more(OPEN, 10_000, None), "done"),
        (end_verification(UNKNOWN), "there is no job 99"),
        (end_verification(CANCELLED), "job 2 is cancelled and stays so"),
        (end_verification(SECOND), "job 5 is the second pass of job 4"),
        (end_verification(DONE), "done"),
        (end_verification(OPEN), "done"),
        (submit(33, |_| {}, json!({})), "from 0 to 32"),
        (submit(12, |it| it.priority = -1001, json!({ "priority": -1001 })), "-1000 to 1000"),
        (submit(12, |_| {}, json!({})), "done"),
        (drain("nobody"), "there is no worker named 'nobody'"),
        (drain(" "), ""),
        (block(" "), ""),
        (unblock(" "), ""),
        (unblock("nobody"), "there is no worker named 'nobody'"),
        (block("someone"), "done"),
        (unblock("someone"), "done"),
        (exported(UNKNOWN), "there is no job 99"),
        (exported(OPEN), "a certificate is made of a job that is done"),
        (exported(CANCELLED), "a certificate is made of a job that is done"),
        (exported(DONE), "done"),
        (cancel(UNKNOWN), "there is no job 99"),
        (cancel(DONE), "job 1 is done and stays so"),
        // The job is in the requested state already.
        (cancel(CANCELLED), "done"),
        (cancel(SECOND), "done"),
        (cancel(TWICE), "done"),
        (drain("anna"), "done"),
    ]);
    all
}

#[test]
fn each_decision_and_each_refusal_is_in_the_log_as_it_was_answered() {
    let runtime = Runtime::new().expect("a runtime");
    // One protocol after the other, so that each finds the same jobs.
    let fixture = Fixture::new();
    let mut client = fixture.connect(&runtime, &fixture.operator);
    for (asked, expected) in table() {
        let (_, n_before) = fixture.log();
        let answer = runtime.block_on(asked.by_grpc(&mut client));
        fixture.check(&("by gRPC", &asked), &answer, expected, n_before);
    }
    drop(client);
    let fixture = Fixture::new();
    for (asked, expected) in table() {
        let (_, n_before) = fixture.log();
        if let Some(answer) = asked.by_http(&fixture.behind, &fixture.operator) {
            fixture.check(&("by HTTP", &asked), &answer, expected, n_before);
        }
    }
}

#[test]
fn what_a_viewer_may_not_decide_is_not_in_the_log_as_done() {
    let runtime = Runtime::new().expect("a runtime");
    let fixture = Fixture::new();
    let viewer = fixture.behind.token("viewer");
    let mut client = fixture.connect(&runtime, &viewer);
    let (_, n_before) = fixture.log();
    // A viewer may export, which is no action then.
    let decisions = table().into_iter().filter(|(asked, _)| asked.http.is_some());
    for (asked, _) in decisions {
        let by_grpc = runtime.block_on(asked.by_grpc(&mut client));
        for answer in [Some(by_grpc), asked.by_http(&fixture.behind, &viewer)] {
            let refusal = answer.expect("it can be asked").expect_err("a viewer");
            assert!(refusal.contains("this takes an operator"), "{asked:?}: {refusal}");
        }
    }
    // A separate thread records refusals.
    let refusals =
        wait_until("refusals in the log", || Some(fixture.entries()).filter(|all| all.len() > n_before));
    for entry in &refusals[..refusals.len() - n_before] {
        let outcome = entry["outcome"].as_str().expect("a text");
        assert!(outcome.starts_with("refused: this takes an operator"), "{entry}");
        assert_eq!((&entry["role"], &entry["who"]), (&json!("viewer"), &json!("invitation 3")));
    }
}
