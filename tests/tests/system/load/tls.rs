//! The cost of encryption for a coordinator under load.

use std::sync::Arc;
use std::time::Duration;

use queens_auth::{Credentials, Trust};
use queens_proto::client::{Route, endpoint};
use queens_tests::prelude::*;

use super::worker::Worker;
use super::{Connecting, FULL, Load, alone, begin, on_cores_apart};

/// The largest ratio of processor time with and without encryption.
const MOST_PROCESSOR: f64 = 1.4;
const MOST_MEMORY: f64 = 1.5;

/// A coordinator's use of resources.
#[derive(Clone, Copy, Debug)]
struct Taken {
    processor: Duration,
    peak_kib: u64,
    n_reports: usize,
}

#[test]
#[ignore = "measures: .ci/long runs it"]
fn encryption_adds_little_to_the_load() {
    let _alone = alone();
    let load = FULL[0];
    for _ in 0..2 {
        let (plain, encrypted) = (plain(load), encrypted(load));
        let processor = encrypted.processor.as_secs_f64() / plain.processor.as_secs_f64().max(1e-9);
        let memory = encrypted.peak_kib as f64 / plain.peak_kib as f64;
        say(&format!(
            "{} workers, without TLS: {:.1} s of processor time, {} MiB, {} reports; with TLS: {:.1} s ({processor:.2} \
             times as much), {} MiB ({memory:.2} times as much), {} reports",
            load.n_workers,
            plain.processor.as_secs_f64(),
            plain.peak_kib / 1024,
            plain.n_reports,
            encrypted.processor.as_secs_f64(),
            encrypted.peak_kib / 1024,
            encrypted.n_reports,
        ));
        assert!(plain.n_reports > 0 && encrypted.n_reports > 0);
        assert!(processor <= MOST_PROCESSOR, "{processor}");
        assert!(memory <= MOST_MEMORY, "{memory}");
    }
}

fn plain(load: Load) -> Taken {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::by(|command| on_cores_apart(&command));
    _ = coordinator.submit(load.n);
    coordinator.wait_for_state("1", "queued");
    let url = coordinator.url();
    measure(load, &coordinator, move |number| {
        Box::pin(Worker::connect_plainly(number, load.n_threads, url.clone()))
    })
}

fn encrypted(load: Load) -> Taken {
    let guarded = Guarded::by(|command| on_cores_apart(&command));
    let operator = guarded.invite(["--role", "operator"]);
    let submit = ["submit", &load.n.to_string(), "--method", "search", "--yes"];
    _ = guarded.queens(&operator, submit).good();
    wait_for("the plan", || guarded.json(&operator, &["status", "1"])["state"] == "queued");
    let worker = guarded.invite(["--role", "worker", "--uses", &load.n_workers.to_string()]);
    let credentials = Credentials {
        trust: Trust::Authorities(guarded.authority().to_owned()),
        token: Some(worker.token),
        certificate: None,
    };
    let route = Route::new(endpoint(&guarded.url()).expect("a URL"), &credentials).expect("a route");
    let route = Arc::new(route);
    measure(load, guarded.coordinator(), move |number| {
        let route = route.clone();
        Box::pin(async move {
            Worker::connect(number, load.n_threads, route.open().await.expect("connected")).await
        })
    })
}

fn measure<C>(load: Load, coordinator: &Coordinator, connect: C) -> Taken
where
    C: Fn(u64) -> Connecting + Send + Sync + 'static,
{
    runtime().block_on(async {
        let workers = begin(load, connect).await;
        let before = processor_time(coordinator.id());
        tokio::time::sleep(load.measured).await;
        let processor = processor_time(coordinator.id()) - before;
        let mut n_reports = 0;
        for worker in workers {
            n_reports += worker.await.expect("it does not panic").times.len();
        }
        Taken { processor, peak_kib: peak_memory_kib(coordinator.id()), n_reports }
    })
}
