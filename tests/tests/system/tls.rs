//! The coordinator's TLS: its versions, and files that change while it runs.

use std::fs;
use std::net::TcpStream;
use std::sync::Arc;

use queens_auth::{Pin, Trust};
use queens_tests::prelude::*;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::version::TLS12;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore};

/// Whether a handshake completes.
fn shakes(guarded: &Guarded, config: Arc<ClientConfig>) -> bool {
    let mut stream = TcpStream::connect(guarded.coordinator().address()).expect("it listens");
    let name = ServerName::try_from("localhost").expect("a name");
    let mut connection = ClientConnection::new(config, name).expect("a connection");
    while connection.is_handshaking() {
        if connection.complete_io(&mut stream).is_err() {
            return false;
        }
    }
    true
}

/// Returns a client that knows no version above TLS 1.2.
fn old_client(guarded: &Guarded) -> Arc<ClientConfig> {
    let pem = fs::read(guarded.authority()).expect("readable");
    let mut roots = RootCertStore::empty();
    let certificate = tokio_rustls::rustls::pki_types::pem::PemObject::from_pem_slice(&pem);
    roots.add(certificate.expect("a certificate")).expect("an authority");
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_protocol_versions(&[&TLS12]).expect("TLS 1.2");
    Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
}

#[test]
fn tls_1_2_is_spoken_only_where_it_is_asked_for() {
    let guarded = Guarded::new(&[]);
    assert!(!shakes(&guarded, old_client(&guarded)));
    let trust = Trust::Authorities(guarded.authority().to_owned());
    assert!(shakes(&guarded, trust.config(&[], None).expect("a client")));
    let older = Guarded::new(&["--tls-1.2"]);
    assert!(shakes(&older, old_client(&older)));
}

#[test]
fn new_files_are_used_without_a_restart_and_bad_ones_are_not() {
    let mut guarded = Guarded::new(&[]);
    let viewer = guarded.invite(["--role", "viewer"]);
    let operator = guarded.invite(["--role", "operator"]);
    let worker = guarded.invite(["--role", "worker"]);
    let mut running = guarded.worker(&worker, "stays");
    let (certificate, key) = (guarded.keys().join("server.pem"), guarded.keys().join("server.key"));
    let jobs = |guarded: &Guarded, pin: Pin| {
        let mut command = queens(["jobs", "--coordinator", &guarded.url(), "--pin", &pin.to_string()]);
        command.env("QUEENS_TOKEN", viewer.token.secret());
        run(command).status.success()
    };
    let before = Pin::of_file(&certificate).expect("a pin");
    assert!(jobs(&guarded, before));

    // Half of a file, as during a copy: the previous certificate stays.
    let whole = fs::read(&certificate).expect("readable");
    fs::write(&certificate, &whole[..whole.len() / 2]).expect("written");
    guarded.hang_up();
    guarded.coordinator().wait_for_log("can't be used");
    assert!(jobs(&guarded, before));

    let other = guarded.beside("other");
    certs(&other, &[]);
    fs::copy(other.join("server.key"), &key).expect("copied");
    fs::copy(other.join("server.pem"), &certificate).expect("copied");
    let after = Pin::of_file(&certificate).expect("a pin");
    assert_ne!(before, after);
    // Without a signal, it checks the files by itself.
    wait_for("the new key", || jobs(&guarded, after));
    assert!(!jobs(&guarded, before));
    // Existing connections stay.
    assert!(running.is_running());
    let mut count = queens(["count", "12", "--output", "json", "--coordinator", &guarded.url()]);
    count.args(["--pin", &after.to_string()]).env("QUEENS_TOKEN", operator.token.secret());
    assert_eq!(run(count).answer()["solutions"], "14200");
}
