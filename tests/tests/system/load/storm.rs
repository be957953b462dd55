//! All workers lose their coordinator at once and reconnect to its successor.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use queens_auth::Credentials;
use queens_proto::client::{Problem, Routes, Search, endpoint};
use queens_store::postgres::{Server, StoreLocation};
use queens_store::sqlite::audit;
use queens_tests::files;
use queens_tests::prelude::*;
use queens_worker::remote::Backoff;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, sleep, timeout};

use super::worker::{Lost, Worker, endpoint_of};
use super::{OPENING, alone, on_cores_apart};

/// The time in which all must be back.
const BACK: Duration = Duration::from_secs(30);

/// The limit of one connection attempt.
const CONNECTING: Duration = Duration::from_secs(10);

/// The parameters of a load.
#[derive(Clone, Copy, Debug)]
struct Storm {
    n: u8,
    n_workers: u64,
    period: Duration,
    /// The coordinator's downtime.
    gone: Duration,
}

#[test]
fn all_workers_come_back_after_a_restart_and_none_is_refused_for_good() {
    if is_full("QUEENS_LOAD") {
        let _alone = alone();
        // After a restart, when nearly all connect at the second or third attempt; and after a long outage.
        [2, 60].into_iter().for_each(|gone| check(long(gone), true));
    } else {
        let _files = files::take(150);
        let second = Duration::from_secs(1);
        check(Storm { n: 23, n_workers: 50, period: second, gone: second }, false);
    }
}

fn long(gone: u64) -> Storm {
    let gone = Duration::from_secs(gone);
    Storm { n: 27, n_workers: 10_000, period: Duration::from_secs(10), gone }
}

#[test]
#[ignore = "measures: .ci/long runs it"]
fn all_workers_go_over_to_the_coordinator_that_takes_the_place_of_another() {
    let _alone = alone();
    let Some((_postgres, address)) = Postgres::with_database("", "storm") else { return };
    let storm = long(0);
    let scratch = TempDir::new();
    let command = |name: &str| on_cores_apart(&with_store("127.0.0.1:0", &scratch.join(name), &address));
    let first = Coordinator::start_command(command("first"), &scratch.join("first"));
    let mut second = Service::start(command("second"), &scratch.join("second.log"));
    let second_url = format!("http://{}", second.logged("standing by address="));
    let swarm = Swarm::begin(storm, &first, &[first.url(), second_url]);
    first.kill();
    swarm.come_back(storm, "whose coordinator was killed while another stood by", true);
    second.kill();
    let jobs = StoreLocation::Server(Server::new(&address, None, None).expect("an address")).audit();
    assert!(jobs.expect("consistent records")[0].n_recorded > 0);
}

#[track_caller]
fn check(storm: Storm, full: bool) {
    let scratch = TempDir::new();
    let data_dir = scratch.join("data");
    let start = |listen: &str| {
        let command = coordinator_command(listen, &data_dir);
        Coordinator::start_command(if full { on_cores_apart(&command) } else { command }, &data_dir)
    };
    let coordinator = start("127.0.0.1:0");
    let url = coordinator.url();
    let swarm = Swarm::begin(storm, &coordinator, std::slice::from_ref(&url));
    coordinator.kill();
    std::thread::sleep(storm.gone);
    let coordinator = start(url.strip_prefix("http://").expect("without TLS"));
    swarm.come_back(storm, &format!("without a coordinator for {:.0?}", storm.gone), full);
    coordinator.kill();
    let jobs = audit(&data_dir).expect("consistent records");
    assert!(jobs[0].n_recorded > 0);
}

/// Workers that all count for one coordinator.
struct Swarm {
    runtime: tokio::runtime::Runtime,
    /// The times at which each worker's first report in a session was acknowledged.
    news: mpsc::UnboundedReceiver<Instant>,
    n_attempts: Arc<AtomicU64>,
}

impl Swarm {
    /// Submits a job and lets all workers count it.
    fn begin(storm: Storm, coordinator: &Coordinator, urls: &[String]) -> Self {
        let job = coordinator.submit(storm.n);
        coordinator.wait_for_state(&job, "queued");
        let runtime = runtime();
        let (said, mut news) = mpsc::unbounded_channel();
        let n_attempts = Arc::new(AtomicU64::new(0));
        let endpoints = urls.iter().map(|url| endpoint(url).expect("a URL")).collect();
        let routes = Routes::new(endpoints, Credentials::default()).expect("no credentials");
        runtime.block_on(async {
            let opening = Arc::new(Semaphore::new(OPENING));
            for number in 0..storm.n_workers {
                let (opening, url, routes) = (opening.clone(), urls[0].clone(), routes.clone());
                let (said, n_attempts) = (said.clone(), n_attempts.clone());
                tokio::spawn(async move {
                    let permit = opening.acquire().await.expect("it is not closed");
                    let worker = Worker::connect_plainly(number, 1, url).await;
                    drop(permit);
                    live(worker, number, routes, storm, &said, &n_attempts).await;
                });
            }
            // Each sends the time of its first acknowledgement in a session.
            for _ in 0..storm.n_workers {
                timeout(Duration::from_secs(900), news.recv()).await.expect("all work").expect("they live");
            }
        });
        Self { runtime, news, n_attempts }
    }

    /// Waits until all work again, and prints the time from now on.
    #[track_caller]
    fn come_back(mut self, storm: Storm, which: &str, full: bool) {
        let began = Instant::now();
        self.n_attempts.store(0, Ordering::Relaxed);
        let mut back: Vec<Duration> = self.runtime.block_on(async {
            let mut back = Vec::new();
            while back.len() as u64 != storm.n_workers {
                let at = timeout(Duration::from_secs(900), self.news.recv()).await;
                back.push(at.expect("all come back").expect("they live").saturating_duration_since(began));
            }
            back
        });
        back.sort_unstable();
        let percentile = |percent: usize| back[(back.len() - 1) * percent / 100];
        say(&format!(
            "{} workers {which}: back and their first report acknowledged after {:.1?} (median), {:.1?} (99th \
             percentile), {:.1?} (the last), with {} attempts",
            storm.n_workers,
            percentile(50),
            percentile(99),
            percentile(100),
            self.n_attempts.load(Ordering::Relaxed),
        ));
        if full {
            assert!(percentile(100) <= BACK, "{:?}", percentile(100));
        }
    }
}

/// Runs one session after the other, like a worker, and sends the time of each session's first acknowledgement.
async fn live(
    mut worker: Worker,
    number: u64,
    routes: Routes,
    storm: Storm,
    said: &mpsc::UnboundedSender<Instant>,
    n_attempts: &AtomicU64,
) {
    let are_several = routes.are_several();
    let mut search = Search::new(routes);
    loop {
        let Err(Lost) = work(&mut worker, number, storm, said).await;
        let (mut pauses, since) = (Backoff::new(are_several), Instant::now());
        'lost: loop {
            sleep(pauses.next(since.elapsed())).await;
            search.begin();
            while let Some(attempt) = search.next(pauses.are_short(since.elapsed())) {
                n_attempts.fetch_add(1, Ordering::Relaxed);
                let url = attempt.route.uri().to_string();
                let open = async {
                    let connection = endpoint_of(number, &url).connect().await?;
                    worker.open(connection.into()).await.map_err(Problem::from)
                };
                match timeout(attempt.patience.unwrap_or(CONNECTING), open).await {
                    Ok(Ok(())) => {
                        search.leads(&attempt.route);
                        break 'lost;
                    }
                    Ok(Err(problem)) => {
                        assert!(!problem.is_final(), "{problem}");
                        search.failed(&attempt.route, &problem);
                    }
                    Err(_) => search.failed(&attempt.route, &Problem::Silent),
                }
            }
        }
    }
}

/// Runs one session: reports the work done meanwhile, then once a period, until it ends.
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
