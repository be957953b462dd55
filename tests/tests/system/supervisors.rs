//! Services as their supervisors see them.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use queens_tests::prelude::*;

#[test]
fn a_coordinator_says_when_it_is_ready_and_outlives_a_hangup() {
    let scratch = TempDir::new();
    let path = scratch.join("supervisor");
    let supervisor = UnixDatagram::bind(&path).expect("bound");
    supervisor.set_read_timeout(Some(Duration::from_secs(600))).expect("a time limit");
    let Scenario { scratch: _scratch, mut coordinator, .. } = Scenario::by(|mut command| {
        command.env("NOTIFY_SOCKET", &path);
        command
    });
    let mut said = [0; 100];
    let n_bytes = supervisor.recv(&mut said).expect("sent");
    assert_eq!(&said[..n_bytes], b"READY=1\n");
    // There are no TLS files to reload.
    coordinator.signal("HUP");
    assert_eq!(coordinator.submit(6), "1");
    coordinator.stop();
}
