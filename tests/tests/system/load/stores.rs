//! The rate at which a coordinator makes reports durable, by store. Each worker sends the next report after the last
//! acknowledgement, so that one transaction takes a report of each. Also the rate of leases, when every report
//! completes all work of its worker.

use std::time::Duration;

use queens_model::ToWorker;
use queens_tests::prelude::*;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::worker::Worker;
use super::{alone, on_cores_apart};

/// Rates per second.
#[derive(Clone, Copy, Debug)]
struct Rates {
    reports: f64,
    leases: f64,
}

/// The times before and of a measurement.
const SETTLED: Duration = Duration::from_secs(3);
const MEASURED: Duration = Duration::from_secs(10);

/// The work in a report: a second's, or all that the worker holds.
const SECOND: Duration = Duration::from_secs(1);
const ALL: Duration = Duration::from_secs(24 * 3600);

/// Alternates between both stores on the same machine.
#[test]
#[ignore = "measures: .ci/long runs it"]
fn reports_are_durable_in_either_store() {
    let _alone = alone();
    // The server's processes may run on all cores.
    pin(std::process::id(), "0,1");
    let Some(postgres) = Postgres::start("") else { return };
    for (n_workers, counted) in &[(1, SECOND), (10, SECOND), (100, SECOND), (1000, SECOND), (1000, ALL)] {
        let mut rates = [Vec::new(), Vec::new()];
        for round in 0..3 {
            let store = postgres.database(&format!("flood_{n_workers}_{}_{round}", counted.as_secs()));
            rates[0].push(measure(*n_workers, *counted, None));
            rates[1].push(measure(*n_workers, *counted, Some(&store)));
        }
        let [sqlite, server] = rates.map(|mut rates| {
            rates.sort_by(|left, right| left.reports.total_cmp(&right.reports));
            rates[rates.len() / 2]
        });
        let what = if *counted == ALL { " that ends all it holds" } else { "" };
        say(&format!(
            "{n_workers} workers, each with one report on its way{what}: durable in SQLite {:.0}/s, and {:.0} leases \
             granted; in PostgreSQL {:.0}/s, and {:.0}; ratio {:.2}",
            sqlite.reports,
            sqlite.leases,
            server.reports,
            server.leases,
            server.reports / sqlite.reports
        ));
        assert!(sqlite.reports > 0.0 && server.reports > 0.0);
        assert!(*counted == SECOND || (sqlite.leases > 0.0 && server.leases > 0.0));
    }
}

/// Measures the rates of reports and leases.
fn measure(n_workers: u64, counted: Duration, store: Option<&str>) -> Rates {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::by(|mut command| {
        command.args(store.map_or_else(Vec::new, |store| vec!["--store", store]));
        on_cores_apart(&command)
    });
    let job = coordinator.submit(27);
    coordinator.wait_for_state(&job, "queued");
    let runtime = runtime();
    let url = coordinator.url();
    let all: Vec<(usize, usize)> = runtime.block_on(async {
        let mut workers = Vec::new();
        for number in 0..n_workers {
            workers.push(Worker::connect_plainly(number, 1, url.clone()).await);
        }
        let from = Instant::now() + SETTLED;
        let floods = workers.into_iter().map(|worker| worker.flood(counted, from, from + MEASURED));
        floods.collect::<JoinSet<_>>().join_all().await
    });
    coordinator.kill();
    let per_second = |n: usize| n as f64 / MEASURED.as_secs_f64();
    Rates {
        reports: per_second(all.iter().map(|(n_reports, _)| n_reports).sum()),
        leases: per_second(all.iter().map(|(_, n_leases)| n_leases).sum()),
    }
}

impl Worker {
    /// Sends one report after the other, each after the last acknowledgement. Returns the reports and leases since
    /// `from`.
    async fn flood(mut self, counted: Duration, from: Instant, end: Instant) -> (usize, usize) {
        let mut n_leases = 0;
        loop {
            if self.has_only_leases() {
                self.report(counted).await.expect("the session goes on");
            }
            tokio::select! {
                message = self.next() => {
                    let message = message.expect("the session goes on");
                    let is_lease = matches!(message, ToWorker::Lease(_));
                    n_leases += usize::from(is_lease && (from..end).contains(&Instant::now()));
                    if let Err(other) = self.hear(message, from, end) {
                        self.give_up(other);
                    }
                }
                () = tokio::time::sleep_until(end) => return (self.times.len(), n_leases),
            }
        }
    }
}
