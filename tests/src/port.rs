//! Ports for programs that can't choose a free one themselves, or that are started again on the same one.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::sync::Arc;

/// A socket of UDP here says that its port is drawn. It does not keep a server from listening on all addresses.
const DRAWN: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 254);

/// A port of 127.0.0.1 that no other test draws until this and its clones are dropped. The system gives it to nobody
/// either: it is below those that it gives out.
#[derive(Clone, Debug)]
pub struct Port {
    number: u16,
    _drawn: Arc<UdpSocket>,
}

impl Port {
    /// Draws one that nobody listens on.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn draw() -> Self {
        let drawn = (0..1000).find_map(|_| {
            let random = getrandom::u32().expect("the system has random numbers");
            let number = 10_000 + u16::try_from(random % 20_000).expect("below 20,000");
            let drawn = UdpSocket::bind((DRAWN, number)).ok()?;
            // Another program may have it.
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, number)).ok()?;
            Some(Self { number, _drawn: Arc::new(drawn) })
        });
        drawn.expect("a free port")
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Host and port.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.number)
    }
}
