//! How many reports a coordinator makes durable in a second, by store: each worker sends the next when the last is
//! acknowledged, so that as many wait as there are workers, and go into a transaction together.

use std::env;
use std::time::Duration;

use queens_process::allow_many_files;
use queens_tests::cluster::{Coordinator, coordinator_command};
use queens_tests::postgres::Postgres;
use queens_tests::process::wait_at_most;
use queens_tests::say;
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::worker::Worker;
use crate::{alone, on_cores_apart};

/// A flood of reports.
#[derive(Clone, Copy, Debug)]
struct Flood {
    n: u8,
    settled: Duration,
    measured: Duration,
    full: bool,
}

/// Both stores in turns, on the same machine.
#[test]
fn reports_are_durable_in_either_store() {
    let full = env::var("QUEENS_LOAD").is_ok_and(|load| load == "full");
    let _alone = alone(full);
    allow_many_files().expect("the limit can be raised");
    let Some(postgres) = Postgres::start("") else { return };
    let seconds = Duration::from_secs;
    let (floods, n_rounds, flood) = if full {
        (&[1, 10, 100, 1000][..], 3, Flood { n: 27, settled: seconds(3), measured: seconds(10), full })
    } else {
        (&[20][..], 1, Flood { n: 23, settled: seconds(1), measured: seconds(2), full })
    };
    for n_workers in floods {
        let mut rates = [Vec::new(), Vec::new()];
        for round in 0..n_rounds {
            let store = postgres.database(&format!("flood_{n_workers}_{round}"));
            rates[0].push(rate(flood, *n_workers, None));
            rates[1].push(rate(flood, *n_workers, Some(&store)));
        }
        let [sqlite, server] = rates.map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            rates[rates.len() / 2]
        });
        say(&format!(
            "{n_workers} workers, each with one report on its way: durable in SQLite {sqlite:.0}/s, in PostgreSQL \
             {server:.0}/s, ratio {:.2}",
            server / sqlite
        ));
        assert!(sqlite > 0.0 && server > 0.0);
    }
}

/// Reports acknowledged in a second.
fn rate(flood: Flood, n_workers: u64, store: Option<&str>) -> f64 {
    let scratch = TempDir::new().expect("a temporary directory");
    let data_dir = scratch.path().join("data");
    let mut command = coordinator_command("127.0.0.1:0", &data_dir);
    command.args(store.map_or_else(Vec::new, |store| vec!["--store", store]));
    let command = if flood.full { on_cores_apart(&command) } else { command };
    let coordinator = Coordinator::start_command(command, &data_dir);
    let job = coordinator.submit(flood.n);
    wait_at_most(Duration::from_secs(300), "the plan", || {
        (coordinator.status(&job)["state"] == "queued").then_some(())
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let url = coordinator.url();
    let n_reports: usize = runtime.block_on(async {
        let mut workers = Vec::new();
        for number in 0..n_workers {
            workers.push(Worker::connect_plainly(number, 1, url.clone()).await);
        }
        let from = Instant::now() + flood.settled;
        let floods = workers.into_iter().map(|worker| worker.flood(from, from + flood.measured));
        floods.collect::<JoinSet<_>>().join_all().await.into_iter().sum()
    });
    coordinator.kill();
    n_reports as f64 / flood.measured.as_secs_f64()
}

impl Worker {
    /// Sends one report after the other, each when the last is acknowledged; how many of those that were
    /// sent from then on.
    async fn flood(mut self, from: Instant, end: Instant) -> usize {
        loop {
            if self.has_only_leases() {
                self.report(Duration::from_secs(1)).await.expect("the session goes on");
            }
            tokio::select! {
                message = self.next() => {
                    if let Err(other) = self.hear(message.expect("the session goes on"), from, end) {
                        self.give_up(other);
                    }
                }
                () = tokio::time::sleep_until(end) => return self.times.len(),
            }
        }
    }
}
