//! A TCP proxy that imitates network faults.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::runtime;

/// A proxy in front of one address. Dropping it cuts its connections.
pub struct Proxy {
    address: SocketAddr,
    weather: Arc<watch::Sender<Weather>>,
    holds: Arc<Mutex<Condition>>,
    _runtime: Runtime,
}

/// Whether data from the server is held back.
type Condition = Box<dyn Fn() -> bool + Send>;

/// The faults of all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Weather {
    /// Connections of an earlier age are cut.
    age: u64,
    delay: Duration,
    /// Drops all data in both directions, silently.
    swallows: bool,
    /// In how many more pieces of data it changes a byte.
    n_to_garble: u64,
    /// In how many pieces it has changed a byte.
    n_garbled: u64,
}

impl Proxy {
    /// Starts a proxy for `target`, on a free port of the loopback interface.
    ///
    /// # Panics
    /// Panics if there is none.
    #[must_use]
    pub fn start(target: &str) -> Self {
        let target = target.parse().expect("an address");
        let runtime = runtime();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("bound");
        let weather = Arc::new(watch::Sender::new(Weather::default()));
        let holds: Arc<Mutex<Condition>> = Arc::new(Mutex::new(Box::new(|| false)));
        runtime.spawn(accept(listener, target, weather.clone(), holds.clone()));
        Self { address, weather, holds, _runtime: runtime }
    }

    /// Returns its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Cuts all connections; new ones are accepted.
    pub fn cut(&self) {
        self.weather.send_modify(|weather| weather.age += 1);
    }

    /// Delays all data by this long, in each direction.
    pub fn delay(&self, delay: Duration) {
        self.weather.send_modify(|weather| weather.delay = delay);
    }

    /// Holds data from the server back while a condition is true.
    pub fn hold_answers(&self, condition: impl Fn() -> bool + Send + 'static) {
        *self.holds.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(condition);
    }

    /// Drops all data, or stops dropping it.
    pub fn swallow(&self, swallows: bool) {
        self.weather.send_modify(|weather| weather.swallows = swallows);
    }

    /// Changes one byte in each of the next `n_pieces` pieces of data.
    pub fn garble(&self, n_pieces: u64) {
        self.weather.send_modify(|weather| weather.n_to_garble += n_pieces);
    }

    /// Returns the number of changed pieces of data.
    #[must_use]
    pub fn n_garbled(&self) -> u64 {
        self.weather.borrow().n_garbled
    }
}

async fn accept(
    listener: TcpListener,
    target: SocketAddr,
    weather: Arc<watch::Sender<Weather>>,
    holds: Arc<Mutex<Condition>>,
) {
    loop {
        let Ok((client, _)) = listener.accept().await else { return };
        let (weather, holds) = (weather.clone(), holds.clone());
        tokio::spawn(async move {
            // If the target is unreachable, the client's connection ends.
            let Ok(server) = TcpStream::connect(target).await else { return };
            let ((from_client, to_client), (from_server, to_server)) =
                (client.into_split(), server.into_split());
            let mut changes = weather.subscribe();
            let age = changes.borrow_and_update().age;
            let are_held = || holds.lock().unwrap_or_else(PoisonError::into_inner)();
            tokio::select! {
                () = carry(from_client, to_server, &weather, || false) => {}
                () = carry(from_server, to_client, &weather, are_held) => {}
                _ = changes.wait_for(|weather| weather.age != age) => {}
            }
        });
    }
}

async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    weather: &watch::Sender<Weather>,
    is_held: impl Fn() -> bool,
) {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let n_bytes = match from.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(n_bytes) => n_bytes,
        };
        let (delay, swallows) = {
            let weather = weather.borrow();
            (weather.delay, weather.swallows)
        };
        if swallows {
            continue;
        }
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        while is_held() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        weather.send_if_modified(|weather| {
            if weather.n_to_garble > 0 {
                weather.n_to_garble -= 1;
                // A different place each time, to reach headers, lengths and contents.
                let place = usize::try_from(weather.n_garbled).unwrap_or_default() * 7 % n_bytes;
                buffer[place] ^= 0x55;
                weather.n_garbled += 1;
            }
            false
        });
        if to.write_all(&buffer[..n_bytes]).await.is_err() {
            return;
        }
    }
}
