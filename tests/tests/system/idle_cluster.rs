//! An idle cluster uses no resources. With `QUEENS_LOAD` set to `full`, on an idle machine, what little it uses is
//! limited.

use std::time::Duration;

use queens_proto::pb::workers_client::WorkersClient;
use queens_proto::pb::{self, worker_message::Message};
use queens_tests::files;
use queens_tests::http::get;
use queens_tests::prelude::*;
use queens_tests::session::{hello, lasting, said};
use tokio::time::Instant;
use tonic::Streaming;

/// Opens a connection with the session of a worker without leases.
async fn idle_worker(url: String, worker: u64) -> Streaming<pb::CoordinatorMessage> {
    let hello = said(Message::Hello(hello(worker, &format!("idle-{worker}"))));
    lasting(WorkersClient::connect(url).await.expect("connected"), hello).await
}

/// Returns the time of about five seconds, and the share of a core that each process takes meanwhile.
fn idle_use<const N: usize>(processes: [u32; N]) -> (f64, [f64; N]) {
    let (began, before) = (Instant::now(), processes.map(processor_time));
    std::thread::sleep(Duration::from_secs(5));
    let used = std::array::from_fn(|i| (processor_time(processes[i]) - before[i]).as_secs_f64());
    let seconds = began.elapsed().as_secs_f64();
    (seconds, used.map(|used: f64| used / seconds))
}

#[test]
fn an_idle_cluster_uses_no_processor_time() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let worker = coordinator.worker("idle");
    coordinator.wait_for_workers(1);
    // Its idle load is the same before, during and after a count.
    assert_eq!(coordinator.queens(["count", "12"]).status.code(), Some(0));
    let (_, used) = idle_use([coordinator.id(), worker.id()]);
    let most = if is_full("QUEENS_LOAD") { 0.006 } else { 0.2 };
    assert!(used.iter().all(|used| *used <= most), "shares of a core: coordinator, worker: {used:?}");
}

#[test]
fn many_idle_workers_are_no_trouble() {
    let n_workers = if is_full("QUEENS_LOAD") { 1000 } else { 50 };
    let _files = files::take(2 * n_workers);
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with_http();
    let runtime = runtime();
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
    let (seconds, [used]) = idle_use([coordinator.id()]);
    let n_steps = (steps() - n_before) as f64;
    // Each worker sends a heartbeat in five seconds, and time passes once a second.
    assert!(
        n_steps <= (seconds / 5.0 + 1.0) * n_workers as f64 + 10.0 * seconds,
        "{n_steps} steps in {seconds} s"
    );
    assert!(used <= 0.2, "{used} of a core, without optimisation");
    let workers = coordinator.workers();
    assert_eq!(workers.len(), n_workers);
    assert!(workers.iter().all(|worker| worker["connected"] == true));
    drop(sessions);
    runtime.shutdown_background();
    let job = coordinator.submit(12);
    let _worker = coordinator.worker("honest");
    _ = coordinator.queens(["watch", &job]).good();
}
