//! An idle cluster uses no resources.

use std::time::Duration;

use queens_proto::pb::workers_client::WorkersClient;
use queens_proto::pb::{self, worker_message::Message};
use queens_solver::DECOMPOSITION_VERSION;
use queens_tests::cluster::Coordinator;
use queens_tests::http::get;
use queens_tests::process::processor_time;
use queens_tests::{TempDir, files};
use tokio::time::Instant;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::IntervalStream;
use tonic::Streaming;

/// The heartbeat interval of a worker without leases.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// Opens a connection with a session that sends a Hello and then a heartbeat every five seconds, like a worker without
/// leases.
async fn idle_worker(url: String, worker: u64) -> Streaming<pb::CoordinatorMessage> {
    let hello = pb::Hello {
        protocol: 2,
        decomposition: DECOMPOSITION_VERSION,
        worker,
        name: format!("idle-{worker}"),
        build: "0".to_owned(),
        kernel: "none".to_owned(),
        threads: 1,
        work_per_second: 1e6,
        held: None,
        ..pb::Hello::default()
    };
    let first = Instant::now() + SIGN_OF_LIFE;
    let alive = IntervalStream::new(tokio::time::interval_at(first, SIGN_OF_LIFE));
    let reports =
        alive.map(|_| Message::Report(pb::Report { sequence: 1, deltas: vec![], finished: vec![] }));
    let messages = tokio_stream::iter([Message::Hello(hello)]).chain(reports);
    let messages = messages.map(|message| pb::WorkerMessage { message: Some(message) });
    let mut client = WorkersClient::connect(url).await.expect("connected");
    client.session(messages).await.expect("a session").into_inner()
}

/// Returns the processor time of a process in five seconds.
fn idle_use(process: u32) -> Duration {
    let before = processor_time(process);
    std::thread::sleep(Duration::from_secs(5));
    processor_time(process) - before
}

#[test]
fn an_idle_cluster_uses_no_processor_time() {
    let scratch = TempDir::new().expect("a temporary directory");
    let coordinator = Coordinator::start(&scratch.path().join("data"));
    let worker = coordinator.worker("idle");
    coordinator.wait_for_workers(1);
    // Its idle load is the same before, during and after a count.
    assert_eq!(coordinator.queens(["count", "12"]).status.code(), Some(0));
    let worker_before = processor_time(worker.id());
    let used = idle_use(coordinator.id());
    let worker_used = processor_time(worker.id()) - worker_before;
    let most = Duration::from_millis(30);
    assert!(used <= most && worker_used <= most, "in 5 s: coordinator {used:?}, worker {worker_used:?}");
}

#[test]
fn a_thousand_idle_workers_are_no_trouble() {
    let n_workers = if files::limit() < 4096 { 300 } else { 1000 };
    let _files = files::take(2 * n_workers);
    let scratch = TempDir::new().expect("a temporary directory");
    let coordinator = Coordinator::start_with_http(&scratch.path().join("data"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let url = coordinator.url();
    let sessions: Vec<_> = runtime.block_on(async {
        let mut sessions = Vec::new();
        for worker in 0..n_workers as u64 {
            sessions.push(idle_worker(url.clone(), worker).await);
        }
        sessions
    });
    coordinator.wait_for_workers(n_workers);
    let steps = || {
        let metrics = get(&coordinator.http(), "/metrics").body;
        let steps = metrics.lines().find_map(|line| line.strip_prefix("queens_step_seconds_count "));
        steps.and_then(|steps| steps.parse::<usize>().ok()).expect("it counts its steps")
    };
    let n_before = steps();
    let used = idle_use(coordinator.id());
    let n_steps = steps() - n_before;
    // Each worker sends one heartbeat, and time passes once a second.
    assert!(n_steps <= n_workers + 50, "{n_steps} steps");
    // A fifth of a core, without optimisation and on a busy machine.
    assert!(used <= Duration::from_secs(1), "{used:?} in 5 s");
    let answer = coordinator.queens(["workers", "--output", "json"]).answer();
    assert_eq!(answer.as_array().map(Vec::len), Some(n_workers));
    assert!(answer.as_array().expect("an array").iter().all(|worker| worker["connected"] == true));
    drop(sessions);
    runtime.shutdown_background();
    let job = coordinator.submit(12);
    let _worker = coordinator.worker("honest");
    let watched = coordinator.queens(["watch", &job]);
    assert_eq!(watched.status.code(), Some(0), "{watched:?}");
}
