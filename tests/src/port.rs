//! Reserves ports for programs that can't choose a free one, or that restart on the same one.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::sync::Arc;

/// A UDP socket here reserves its port. It does not keep a server from listening on all addresses.
const DRAWN: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 254);

/// A port of 127.0.0.1 that no other test gets until this and its clones are dropped. It lies below the system's range
/// of ephemeral ports.
#[derive(Clone, Debug)]
pub struct Port {
    number: u16,
    _drawn: Arc<UdpSocket>,
}

impl Port {
    /// Reserves a free port.
    ///
    /// # Panics
    /// Panics if there is none.
    #[must_use]
    pub fn draw() -> Self {
        let drawn = (0..1000).find_map(|_| {
            let random = getrandom::u32().expect("the system has random numbers");
            let number = 10_000 + u16::try_from(random % 20_000).expect("below 20,000");
            let drawn = UdpSocket::bind((DRAWN, number)).ok()?;
            // Another program may use it.
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, number)).ok()?;
            Some(Self { number, _drawn: Arc::new(drawn) })
        });
        drawn.expect("a free port")
    }

    /// Returns its number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Returns host and port.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.number)
    }
}
