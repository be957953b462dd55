//! A standby that lacks the last transactions replaces its primary, which replicated asynchronously.

use super::point_in_time::Counting;

use queens_tests::prelude::*;

fn n_records(server: &Postgres, job: &str) -> u64 {
    let sql = format!("SELECT count(*) FROM queens.record WHERE job = {job}");
    server.number("pair", &sql)
}

/// Acknowledged records that the standby had not received are lost, and counted again; the coordinator, which knows
/// both servers, continues.
#[test]
fn a_coordinator_goes_on_with_a_standby_that_lacks_transactions() {
    let Some(mut primary) = Postgres::start("fsync = off") else { return };
    _ = primary.database("pair");
    let standby = primary.standby("second");
    let address = format!("postgres://queens@{},{}/pair", primary.address(), standby.address());
    let mut counting = Counting::start(address);
    let kept = counting.lease(15, "anna", |job| n_records(&standby, job) > 0);
    standby.cut_off();
    let before = n_records(&standby, &kept);
    wait_for("records that it lacks", || n_records(&primary, &kept) > before);
    let lost = [(17, "bert"), (16, "carl")]
        .map(|(n, name)| counting.lease(n, name, |job| n_records(&primary, job) > 0));
    counting.signal("STOP");
    primary.kill();
    standby.promote();
    counting.wait_for_another_state(&kept);
    assert_eq!(n_records(&standby, &kept), before, "there is nothing of what it lacks");
    counting.finish(&kept, &lost);
}
