//! Workers leave, or lose the coordinator of their session: no count is lost, and both sides agree on the state.

use queens_proto::pb::workers_client::WorkersClient;
use queens_proto::pb::{self, worker_message::Message};
use queens_solver::{DECOMPOSITION_VERSION, Kernel};
use queens_tests::cluster::{Coordinator, Scenario, solutions, worker_command};
use queens_tests::process::{Running, wait_for, wait_until};
use queens_tests::proxy::Proxy;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

/// A board that takes any machine here some hours, and one that takes some seconds.
const LONG: u8 = 22;
const SHORT: u8 = 15;

/// Starts a worker and captures its log.
fn worker(url: &str, name: &str) -> Running {
    Running::start(&mut worker_command(url, name, Kernel::Portable))
}

fn workers(coordinator: &Coordinator) -> Vec<Value> {
    coordinator.queens(["workers", "--output", "json"]).answer().as_array().expect("an array").clone()
}

fn is_begun(coordinator: &Coordinator, job: &str) {
    wait_for("a record", || coordinator.status(job)["recorded"] != "0");
}

#[test]
fn whoever_says_goodbye_knows_that_it_was_heard_and_is_never_given_up() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let job = coordinator.submit(LONG);
    for round in 0..2 {
        let mut running: Vec<Running> =
            (0..7).map(|number| worker(&coordinator.url(), &format!("worker {round}.{number}"))).collect();
        coordinator.wait_for_workers(7);
        is_begun(&coordinator, &job);
        running.iter_mut().for_each(|worker| worker.signal("TERM"));
        for worker in running {
            let ended = worker.wait();
            assert!(ended.status.success(), "{ended:?}");
            assert!(ended.stderr.contains("left; everything it counted is recorded"), "{ended:?}");
        }
        // No worker is left that it could miss later. The list may be a second old.
        coordinator.wait_for_workers(0);
    }
    let log = coordinator.log();
    assert!(!log.contains("nothing was heard") && !log.contains("connection to worker lost"), "{log}");
}

#[test]
fn whoever_gets_no_answer_to_its_goodbye_says_so() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let proxy = Proxy::start(coordinator.address());
    let mut worker = worker(&proxy.url(), "anna");
    coordinator.wait_for_workers(1);
    proxy.swallow(true);
    worker.signal("TERM");
    let ended = worker.wait();
    assert!(ended.status.success(), "{ended:?}");
    assert!(ended.stderr.contains("left without an answer to its goodbye"), "{ended:?}");
}

/// Opens a session as this worker, which lasts as long as the sender.
async fn pretend(
    url: String,
    worker: u64,
) -> (mpsc::Sender<pb::WorkerMessage>, tonic::Streaming<pb::CoordinatorMessage>) {
    let (sender, receiver) = mpsc::channel(4);
    let hello = pb::Hello {
        protocol: 2,
        decomposition: DECOMPOSITION_VERSION,
        worker,
        name: "mallory".to_owned(),
        build: "0".to_owned(),
        kernel: "none".to_owned(),
        threads: 1,
        work_per_second: 1e6,
        ..pb::Hello::default()
    };
    let message = pb::WorkerMessage { message: Some(Message::Hello(hello)) };
    sender.send(message).await.expect("there is room");
    let mut client = WorkersClient::connect(url).await.expect("connected");
    let answers = client.session(ReceiverStream::new(receiver)).await.expect("accepted").into_inner();
    (sender, answers)
}

#[test]
fn a_worker_whose_number_is_taken_draws_another_and_loses_nothing() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let proxy = Proxy::start(coordinator.address());
    let job = coordinator.submit(SHORT);
    let mut worker = worker(&proxy.url(), "anna");
    is_begun(&coordinator, &job);
    let number = wait_until("the worker", || {
        workers(&coordinator).first().map(|worker| worker["worker"].as_str().expect("a number").to_owned())
    });
    proxy.swallow(true);
    wait_for("its being given up", || workers(&coordinator).is_empty());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let taken = u64::from_str_radix(&number, 16).expect("a number");
    let thief = runtime.block_on(pretend(coordinator.url(), taken));
    wait_for("the thief", || workers(&coordinator).len() == 1);
    proxy.swallow(false);
    proxy.cut();
    let is_anna = |worker: &&Value| worker["name"] == "anna" && worker["worker"] != number.as_str();
    wait_until("its return", || workers(&coordinator).iter().find(is_anna).map(drop));
    assert!(worker.is_running());
    drop(thief);
    let status = coordinator.done(&job);
    assert_eq!(status["solutions"], solutions(SHORT));
    worker.signal("TERM");
    let ended = worker.wait();
    assert!(ended.status.success() && ended.stderr.contains("drawing another and going on"), "{ended:?}");
}
