//! A plain HTTPS client, which can send from any address of this machine.

use std::io::Write;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use queens_auth::Trust;
use tokio::net::TcpSocket;
use tokio::runtime::Builder;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConnection, StreamOwned};

use crate::http::{Answer, parse, text};

/// Sends a request from an address of this machine; returns the answer.
///
/// # Panics
/// Panics if there is no answer, or the server is not trusted.
#[track_caller]
#[must_use]
pub fn request(
    from: IpAddr,
    address: &str,
    trust: &Trust,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let config = trust.config(&[b"http/1.1"], None).expect("a client");
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(config, name).expect("a connection");
    let mut stream = StreamOwned::new(connection, connect(from, address));
    stream.write_all(text(address, method, path, headers, body).as_bytes()).expect("sent");
    parse(stream).expect("a head and a body")
}

#[track_caller]
fn connect(from: IpAddr, address: &str) -> TcpStream {
    let to: SocketAddr = address.parse().expect("an address");
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.bind((from, 0).into())?;
        socket.connect(to).await?.into_std()
    });
    let stream = stream.expect("it listens");
    stream.set_nonblocking(false).expect("blocking");
    stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a timeout");
    stream
}
