//! Workers leave, or lose the coordinator of their session: no count is lost, and both sides agree on the state.

use queens_tests::prelude::*;

/// Starts a worker and captures its log.
fn worker(url: &str, name: &str) -> Running {
    Running::start(&mut worker_command(url, name, Kernel::Portable))
}

#[test]
fn whoever_says_goodbye_knows_that_it_was_heard_and_is_never_given_up() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let job = coordinator.submit(LONG);
    for round in 0..2 {
        let mut running: Vec<Running> =
            (0..7).map(|number| worker(&coordinator.url(), &format!("worker {round}.{number}"))).collect();
        coordinator.wait_for_workers(7);
        coordinator.wait_for_records(&job);
        running.iter_mut().for_each(|worker| worker.signal("TERM"));
        for worker in running {
            let ended = worker.wait().good();
            assert!(ended.stderr.contains("left; everything it counted is recorded"), "{ended:?}");
        }
        // No worker is left that it could miss later. The list may be a second old.
        coordinator.wait_for_workers(0);
    }
    let log = coordinator.log();
    assert!(!log.contains("nothing was heard") && !log.contains("connection to worker lost"), "{log}");
}
