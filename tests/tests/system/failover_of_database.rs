//! Failover between two PostgreSQL servers with synchronous replication: nothing acknowledged is lost.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use queens_ledger::store::{Block, Store, StoreError, Write};
use queens_store::postgres::{Contact, LeaderCandidate, Server};
use queens_tests::postgres::proved;
use queens_tests::prelude::*;
use queens_tests::proxy::Proxy;
use queens_tests::workers::worker;

/// The seconds until a coordinator continues after the promotion of a standby, at most.
const SLOWEST: u64 = 10;

const FAILED: &str = "nothing is acknowledged until the store can be written again";
const HEALED: &str = "the store can be written again seconds";

/// A server with a synchronous standby, and a coordinator that has counted something with them.
struct Pair {
    primary: Postgres,
    standby: Postgres,
    address: String,
    coordinator: Coordinator,
    job: String,
    _workers: [Running; 2],
    _scratch: TempDir,
}

impl Pair {
    fn counting(n: u8) -> Option<Self> {
        let primary = Postgres::start("")?;
        _ = primary.database("pair");
        let standby = primary.standby("second");
        primary.wait_for_standby("second");
        let address = format!("postgres://queens@{},{}/pair", primary.address(), standby.address());
        let Scenario { scratch, coordinator, .. } = Scenario::with(["--store", &address]);
        let job = coordinator.submit(n);
        // A worker with several coordinators asks every second or two; one with a single one waits up to twelve
        // seconds.
        let url = coordinator.url();
        let urls = format!("{url},{}", url.replace("127.0.0.1", "localhost"));
        let workers = ["anna", "bert"].map(|name| worker(&urls, name));
        let pair = Self { primary, standby, address, coordinator, job, _workers: workers, _scratch: scratch };
        wait_for("records", || pair.progress() > 0);
        Some(pair)
    }

    /// Returns the number of subproblems that the coordinator reports as recorded.
    fn progress(&self) -> u128 {
        self.coordinator.n_recorded(&self.job)
    }

    /// Promotes the standby, waits until the coordinator continues, and prints how long that took.
    fn promote(&self, after: &str) {
        self.standby.promote();
        let (promoted, before) = (Instant::now(), records(&self.standby));
        wait_for("records of more", || records(&self.standby) != before);
        let took = promoted.elapsed();
        say(&format!("{after}, the coordinator goes on {took:.1?} after the standby was promoted"));
        assert!(took <= promised(SLOWEST), "{took:?}");
    }

    /// Checks that the total is right, and proved.
    #[track_caller]
    fn finish(self, total: &str) {
        let waited = self.coordinator.queens(["watch", &self.job]);
        assert!(waited.stdout.contains(total), "{} {}", waited.stdout, waited.stderr);
        self.coordinator.stop();
        let proof = proved(&self.address);
        assert!(proof.contains(&format!(": {total} solutions")), "{proof}");
    }
}

/// Returns all records of a server, with all columns.
fn records(server: &Postgres) -> BTreeSet<String> {
    let sql = "SELECT r.*, s.worker FROM queens.record AS r JOIN queens.source AS s ON s.id = source";
    server.sql("pair", sql).expect("answers").lines().map(str::to_owned).collect()
}

/// After the loss of the first server, the second has everything that was acknowledged, and the count continues there.
#[test]
fn a_count_goes_on_with_a_standby_that_was_promoted() {
    let Some(mut pair) = Pair::counting(15) else { return };
    let (progress, acknowledged) = (pair.progress(), records(&pair.primary));
    pair.primary.kill();
    pair.coordinator.wait_for_log(FAILED);
    pair.promote("With the first server killed");
    let promoted = records(&pair.standby);
    assert!(!acknowledged.is_empty() && promoted.is_superset(&acknowledged), "{acknowledged:?} {promoted:?}");
    assert!(pair.progress() >= progress);
    pair.finish("2279184");
}

/// A server that only hangs times out: the coordinator looks for another.
#[test]
fn a_server_that_hangs_keeps_nobody_from_the_other() {
    let Some(pair) = Pair::counting(15) else { return };
    let progress = pair.progress();
    pair.primary.signal("STOP");
    pair.coordinator.wait_for_log(FAILED);
    pair.promote("With the first server stopped");
    assert!(pair.progress() >= progress);
    // Read connections find the second server as well.
    pair.finish("2279184");
}

/// Without the standby, nothing is acknowledged, the log says why, and connections do not pile up.
#[test]
fn nothing_is_acknowledged_while_the_standby_is_gone() {
    let Some(mut pair) = Pair::counting(15) else { return };
    pair.standby.kill();
    pair.coordinator.wait_for_log(FAILED);
    let (progress, acknowledged) = (pair.progress(), records(&pair.primary));
    pair.coordinator.wait_for_log("the database waits for a standby (synchronous_standby_names)");
    assert_eq!((pair.progress(), records(&pair.primary)), (progress, acknowledged));
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'queens-coordinator'";
    let n_sessions = pair.primary.number("pair", sessions);
    assert!(n_sessions <= 5, "{n_sessions} connections");
    pair.standby.run();
    pair.coordinator.wait_for_log(HEALED);
    assert!(pair.progress() >= progress);
    // An operator decides that one server is enough.
    pair.standby.kill();
    pair.primary.set("synchronous_standby_names", "");
    pair.finish("2279184");
}

/// Data under way on an abandoned connection is not written later, over newer data.
#[test]
fn what_was_cut_off_overtakes_nothing() {
    let Some(postgres) = Postgres::start("fsync = off") else { return };
    _ = postgres.database("pair");
    let proxy = Proxy::start(&postgres.address());
    let address = proxy.url().replace("http://", "postgres://queens@") + "/pair";
    let server = Server::new(&address, None, None).expect("an address");
    let contact = Contact { url: "http://here:1".to_owned(), pages: None };
    let mut store = LeaderCandidate::new(server, contact, Path::new(".")).lead().expect("opens");
    let blocked = |blocked| {
        let block = Block { name: "anna".parse().expect("a name"), party: None };
        [Write::Blocked { block, blocked, reason: String::new() }]
    };
    store.commit(&blocked(false)).expect("writes");
    let served = "SELECT pid FROM pg_stat_activity WHERE application_name = 'queens-coordinator' \
                  AND query LIKE '%blocked%' OR query = 'COMMIT'";
    let before = postgres.sql("pair", served).expect("answers");
    assert!(!before.is_empty());
    // Longer than the timeout.
    proxy.delay(Duration::from_secs(40));
    let lost = store.commit(&blocked(true)).expect_err("no answer comes");
    assert!(matches!(lost, StoreError::Failed(_)), "{lost}");
    proxy.delay(Duration::ZERO);
    store.commit(&blocked(false)).expect("writes");
    let is_there =
        format!("SELECT count(*) FROM pg_stat_activity WHERE pid IN ({})", before.replace('\n', ", "));
    assert_eq!(postgres.sql("pair", &is_there).as_deref(), Ok("0"));
    assert!(store.load().expect("reads").blocked.is_empty());
}
