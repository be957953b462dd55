//! Services as their supervisors see them.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use queens_tests::prelude::*;

#[test]
fn a_coordinator_says_when_it_is_ready_and_outlives_a_hangup() {
    let scratch = TempDir::new();
    let path = scratch.path().join("supervisor");
    let supervisor = UnixDatagram::bind(&path).expect("bound");
    supervisor.set_read_timeout(Some(Duration::from_secs(600))).expect("a time limit");
    let data_dir = scratch.path().join("data");
    let mut command = coordinator_command("127.0.0.1:0", &data_dir);
    command.env("NOTIFY_SOCKET", &path);
    let mut coordinator = Coordinator::start_command(command, &data_dir);
    let mut said = [0; 100];
    let n_bytes = supervisor.recv(&mut said).expect("sent");
    assert_eq!(&said[..n_bytes], b"READY=1\n");
    // There are no TLS files to reload.
    coordinator.signal("HUP");
    assert_eq!(coordinator.submit(6), "1");
    coordinator.stop();
}
