//! All workers lose their coordinator at once, and come back when it is there again.

use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use queens_coordinator::store::sqlite::audit;
use queens_process::allow_many_files;
use queens_tests::cluster::{Coordinator, coordinator_command};
use queens_tests::process::wait_at_most;
use queens_tests::say;
use queens_worker::remote::pauses;
use tempfile::TempDir;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, sleep, timeout};
use tonic::Code;

use crate::worker::{Lost, Worker, endpoint_of};
use crate::{OPENING, alone, on_cores_apart};

/// In which all are to be back.
const BACK: Duration = Duration::from_secs(30);

/// How long one connection may take.
const CONNECTING: Duration = Duration::from_secs(10);

/// What is played.
#[derive(Clone, Copy, Debug)]
struct Storm {
    n: u8,
    n_workers: u64,
    period: Duration,
    /// How long there is no coordinator.
    gone: Duration,
}

#[test]
fn all_workers_come_back_after_a_restart_and_none_is_refused_for_good() {
    let full = env::var("QUEENS_LOAD").is_ok_and(|load| load == "full");
    let _alone = alone(full);
    allow_many_files().expect("the limit can be raised");
    let short = Storm { n: 23, n_workers: 100, period: Duration::from_secs(1), gone: Duration::from_secs(1) };
    let long = |gone| Storm { n: 27, n_workers: 10_000, period: Duration::from_secs(10), gone };
    if full {
        // After a restart, when nearly all come at the second or third attempt, and after a long outage.
        [2, 60].into_iter().for_each(|gone| check(long(Duration::from_secs(gone)), true));
    } else {
        check(short, false);
    }
}

#[track_caller]
fn check(storm: Storm, full: bool) {
    let scratch = TempDir::new().expect("a temporary directory");
    let data_dir = scratch.path().join("data");
    let start = |listen: &str| {
        let command = coordinator_command(listen, &data_dir);
        Coordinator::start_command(if full { on_cores_apart(&command) } else { command }, &data_dir)
    };
    let coordinator = start("127.0.0.1:0");
    let (url, job) = (coordinator.url(), coordinator.submit(storm.n));
    wait_at_most(Duration::from_secs(300), "the plan", || {
        (coordinator.status(&job)["state"] == "queued").then_some(())
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let (said, mut news) = mpsc::unbounded_channel();
    let n_attempts = Arc::new(AtomicU64::new(0));
    runtime.block_on(async {
        let opening = Arc::new(Semaphore::new(OPENING));
        for number in 0..storm.n_workers {
            let (opening, url, said, n_attempts) =
                (opening.clone(), url.clone(), said.clone(), n_attempts.clone());
            tokio::spawn(async move {
                let permit = opening.acquire().await.expect("it is not closed");
                let worker = Worker::connect_plainly(number, 1, url.clone()).await;
                drop(permit);
                live(worker, number, &url, storm, &said, &n_attempts).await;
            });
        }
        // Each says when its first report in a session is acknowledged.
        for _ in 0..storm.n_workers {
            timeout(Duration::from_secs(120), news.recv()).await.expect("all work").expect("they live");
        }
    });
    coordinator.kill();
    while news.try_recv().is_ok() {}
    std::thread::sleep(storm.gone);
    n_attempts.store(0, Ordering::Relaxed);
    let address = url.strip_prefix("http://").expect("without TLS");
    let coordinator = start(address);
    let began = Instant::now();
    let mut back: Vec<Duration> = runtime.block_on(async {
        let mut back = Vec::new();
        for _ in 0..storm.n_workers {
            let at: Instant =
                timeout(BACK * 4, news.recv()).await.expect("all come back").expect("they live");
            back.push(at.saturating_duration_since(began));
        }
        back
    });
    coordinator.kill();
    drop(runtime);
    let jobs = audit(&data_dir).expect("nothing contradicts");
    assert!(jobs[0].n_recorded > 0);
    back.sort_unstable();
    let percentile = |percent: usize| back[(back.len() - 1) * percent / 100];
    say(&format!(
        "{} workers without a coordinator for {:.0?}: back and their first report acknowledged after {:.1?} (median), \
         {:.1?} (99th percentile), {:.1?} (the last), with {} attempts since it was there again",
        storm.n_workers,
        storm.gone,
        percentile(50),
        percentile(99),
        percentile(100),
        n_attempts.load(Ordering::Relaxed),
    ));
    if full {
        assert!(percentile(100) <= BACK, "{:?}", percentile(100));
    }
}

/// Works in one session after the other, as a worker does, and says when the first report of each is acknowledged.
async fn live(
    mut worker: Worker,
    number: u64,
    url: &str,
    storm: Storm,
    said: &mpsc::UnboundedSender<Instant>,
    n_attempts: &AtomicU64,
) {
    loop {
        let Err(Lost) = work(&mut worker, number, storm, said).await;
        for pause in pauses() {
            sleep(pause).await;
            n_attempts.fetch_add(1, Ordering::Relaxed);
            let Ok(Ok(connection)) = timeout(CONNECTING, endpoint_of(number, url).connect()).await else {
                continue;
            };
            match timeout(CONNECTING, worker.open(connection.into())).await {
                Ok(Ok(())) => break,
                Ok(Err(status)) => {
                    let for_good = [Code::FailedPrecondition, Code::InvalidArgument, Code::PermissionDenied];
                    assert!(!for_good.contains(&status.code()), "{status:?}");
                }
                Err(_) => {}
            }
        }
    }
}

/// One session: reports what was counted meanwhile, then once a period, until it ends.
async fn work(
    worker: &mut Worker,
    number: u64,
    storm: Storm,
    said: &mpsc::UnboundedSender<Instant>,
) -> Result<std::convert::Infallible, Lost> {
    let mut has_said = false;
    let now = Instant::now();
    let n_acknowledged = worker.acknowledged.len();
    worker.report(storm.period).await?;
    let place = storm.period.mul_f64(number as f64 / storm.n_workers as f64);
    let mut reports = tokio::time::interval_at(now + storm.period / 10 + place, storm.period);
    loop {
        tokio::select! {
            _ = reports.tick() => worker.report(storm.period).await?,
            message = worker.next() => {
                if let Err(other) = worker.hear(message?, now, now) {
                    worker.give_up(other);
                }
                if worker.acknowledged.len() > n_acknowledged && !std::mem::replace(&mut has_said, true) {
                    _ = said.send(Instant::now());
                }
            }
        }
    }
}
