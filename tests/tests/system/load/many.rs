//! Far more workers than connections: the cost of each for a coordinator, and whether each gets work.

use std::sync::Arc;
use std::time::Duration;

use queens_tests::prelude::*;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tonic::transport::Channel;

use super::worker::{Worker, endpoint_of};
use super::{OPENING, alone, check_records, on_cores_apart};

/// Sessions on one connection.
const SHARING: u64 = 100;

/// The limits of a worker's memory, and of a delay that leaves no worker without work.
const MOST_KIB_PER_WORKER: f64 = 30.0;
const SLOWEST_ACKNOWLEDGEMENT: Duration = Duration::from_secs(1);

/// The time of the measurement, once it is known.
type Window = watch::Receiver<Option<(Instant, Instant)>>;

#[test]
#[ignore = "measures: .ci/long runs it"]
fn workers_report_as_often_as_they_are_told_and_none_starves() {
    let _alone = alone();
    let (n_workers, settled, measured) = (100_000, Duration::from_secs(70), Duration::from_secs(60));
    let Scenario { scratch: _scratch, data_dir, coordinator } =
        Scenario::by(|command| on_cores_apart(&command));
    let job = coordinator.submit(27);
    coordinator.wait_for_state(&job, "queued");
    let before_kib = memory_kib(coordinator.id());
    let runtime = runtime();
    let (workers, processor, connected) = runtime.block_on(async {
        let began = Instant::now();
        let (window, is_known) = watch::channel(None);
        let mut working = begin(n_workers, &coordinator.url(), &is_known).await;
        let connected = began.elapsed();
        let start = Instant::now() + settled;
        _ = window.send(Some((start, start + measured)));
        sleep_until(start).await;
        let before = processor_time(coordinator.id());
        sleep_until(start + measured).await;
        let processor = processor_time(coordinator.id()) - before;
        let mut workers = Vec::new();
        while let Some(worker) = working.join_next().await {
            workers.push(worker.expect("it does not panic"));
        }
        (workers, processor, connected)
    });
    let (peak_kib, last_kib) = (peak_memory_kib(coordinator.id()), memory_kib(coordinator.id()));
    coordinator.kill();
    drop(runtime);
    let mut times = Vec::new();
    let (mut n_starved, mut n_untold, mut acknowledged) = (0, 0, Vec::new());
    for (mut worker, start) in workers {
        times.append(&mut worker.times);
        acknowledged.append(&mut worker.acknowledged);
        n_starved += worker.starved.iter().filter(|at| **at >= start).count();
        let is_told = worker.interval.is_some_and(|interval| interval > Duration::from_secs(1));
        n_untold += usize::from(!is_told);
    }
    check_records(&data_dir, &acknowledged);
    times.sort_unstable();
    let percentile = |percent: usize| times[(times.len() - 1) * percent / 100];
    let per_worker = peak_kib.saturating_sub(before_kib) as f64 / n_workers as f64;
    say(&format!(
        "{n_workers} workers on {} connections, connected in {connected:.1?}: {:.0} reports a second, acknowledged when \
         durable after {:.1?} (median), {:.1?} (99th percentile), {:.1?} (longest); coordinator: {:.0} % of a core, \
         {before_kib} KiB before there were workers, then {peak_kib} KiB at most and {last_kib} KiB at last: \
         {per_worker:.1} KiB a worker; {n_starved} times one had less to count than it could",
        n_workers.div_ceil(SHARING),
        times.len() as f64 / measured.as_secs_f64(),
        percentile(50),
        percentile(99),
        percentile(100),
        100.0 * processor.as_secs_f64() / measured.as_secs_f64(),
    ));
    assert_eq!((n_starved, n_untold), (0, 0), "starved, and not told how often to report");
    assert!(per_worker <= MOST_KIB_PER_WORKER, "{per_worker} KiB a worker");
    assert!(percentile(99) <= SLOWEST_ACKNOWLEDGEMENT, "{:?}", percentile(99));
}

/// Connects all workers and starts their work.
async fn begin(n_workers: u64, url: &str, window: &Window) -> JoinSet<(Worker, Instant)> {
    let opening = Arc::new(Semaphore::new(OPENING));
    let mut connecting = JoinSet::new();
    for first in (0..n_workers).step_by(usize::try_from(SHARING).expect("few")) {
        let (url, opening, window) = (url.to_owned(), opening.clone(), window.clone());
        connecting.spawn(async move {
            let _permit = opening.acquire_owned().await.expect("it is not closed");
            let channel: Channel = endpoint_of(first, &url).connect().await.expect("connected");
            let mut working = Vec::new();
            for number in first..(first + SHARING).min(n_workers) {
                let mut worker = Worker::new(number, 1);
                worker.open(channel.clone().into()).await.expect("a session");
                working.push(tokio::spawn(work(worker, number as f64 / n_workers as f64, window.clone())));
            }
            working
        });
    }
    let mut all = JoinSet::new();
    while let Some(working) = connecting.join_next().await {
        for worker in working.expect("it does not panic") {
            all.spawn(async move { worker.await.expect("it does not panic") });
        }
    }
    all
}

/// Reports at the assigned interval, at the worker's own offset, and at the end of a lease, until the measurement ends.
/// Returns the start of its work.
async fn work(mut worker: Worker, place: f64, mut window: Window) -> (Worker, Instant) {
    let never = Instant::now() + Duration::from_secs(86_400);
    let mut reported = Instant::now();
    let mut next = reported + Duration::from_secs(1);
    loop {
        let (start, end) = window.borrow_and_update().unwrap_or((never, never));
        let due = worker.ends_in().map_or(next, |ends_in| next.min(reported + ends_in));
        tokio::select! {
            () = sleep_until(due) => {
                worker.report(due - reported).await.expect("the session goes on");
                reported = due;
                if due == next {
                    next += worker.interval.unwrap_or(Duration::from_secs(1));
                }
            }
            message = worker.next() => {
                let before = worker.interval;
                let message = message.expect("the session goes on");
                worker.hear(message, start, end).expect("with work for all, no other message");
                if let Some(interval) = worker.interval.filter(|_| worker.interval != before) {
                    next = (Instant::now() + interval.mul_f64(place)).min(reported + interval).max(next);
                }
            }
            () = sleep_until(end) => return (worker, start),
            _ = window.changed() => {}
        }
    }
}
