//! A running coordinator.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::JoinHandle;

use queens_ledger::store::StoreError;
use queens_ledger::{Core, Reporting, RestoreError, Run};
use queens_store::{Archive, seed};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::contributions::Contributions;
use crate::event_loop::EventLoop;
use crate::exports::Exports;
use crate::handle::Handle;
use crate::history::Historian;
use crate::metrics::Metrics;

/// Commands that may wait; whoever sends more waits too.
const QUEUE: usize = 4096;

/// Why a coordinator could not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// Its store can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is stored can't be gone on with.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// Its thread could not be started.
    #[error("failed to start the coordinator's thread: {0}")]
    Thread(#[from] io::Error),
}

/// A running coordinator. Stops when told to.
#[derive(Debug)]
pub struct Coordinator {
    handle: Handle,
    stop: CancellationToken,
    /// The event loop's and the historian's, which ends when that has.
    threads: [JoinHandle<()>; 2],
}

impl Coordinator {
    /// Starts a coordinator on what `store` holds. Plans are made with `n_threads` threads; `reporting` decides how often
    /// workers report.
    ///
    /// # Errors
    /// If what is stored can't be read or gone on with.
    pub fn start(
        store: Box<dyn Archive>,
        n_threads: NonZeroUsize,
        reporting: Reporting,
    ) -> Result<Self, StartError> {
        let stop = CancellationToken::new();
        let (handle, event_loop, historian) = prepare(store, n_threads, reporting, stop.clone())?;
        // In this order: the historian ends by itself if the other can't be started.
        let historian = historian.spawn()?;
        Ok(Self { handle, stop, threads: [event_loop.spawn()?, historian] })
    }

    /// A handle to talk to it.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Returns when its thread has ended without being told to.
    pub async fn stopped(&self) {
        self.handle.commands.closed().await;
    }

    /// Lets it end what it is writing and stop. Sessions are closed; what was not acknowledged is not recorded.
    pub fn stop(self) {
        self.stop.cancel();
        for thread in self.threads {
            if thread.join().is_err() {
                error!("a thread of the coordinator panicked");
            }
        }
    }
}

/// A coordinator without a thread: it runs while the future is polled, in the time of that runtime, until no handle
/// is left. So it can be put among simulated machines.
///
/// # Errors
/// If what is stored can't be read or gone on with.
pub fn unthreaded(
    store: Box<dyn Archive>,
    n_threads: NonZeroUsize,
    reporting: Reporting,
) -> Result<(Handle, impl Future<Output = ()>), StartError> {
    let (handle, event_loop, historian) = prepare(store, n_threads, reporting, CancellationToken::new())?;
    let run = async {
        tokio::join!(event_loop.run(), historian.run());
    };
    Ok((handle, run))
}

fn prepare(
    mut store: Box<dyn Archive>,
    n_threads: NonZeroUsize,
    reporting: Reporting,
    stop: CancellationToken,
) -> Result<(Handle, EventLoop, Historian), StartError> {
    let stored = store.load()?;
    let core = Core::restore(stored, Run::new(seed::draw()))?.with_reporting(reporting);
    let kind = store.kind();
    let (commands, queue) = mpsc::channel(QUEUE);
    let contributions = Arc::new(Contributions::of(store.records()));
    let exports = Arc::new(Exports::of(store.records()));
    let (event_loop, historian) = EventLoop::new(core, store, n_threads, queue, commands.downgrade(), stop);
    let snapshots = event_loop.snapshots();
    let metrics = Arc::new(Metrics::new(event_loop.counters(), snapshots.clone()));
    let (loop_monitor, curves) = (event_loop.loop_monitor(), historian.curves());
    let handle =
        Handle { commands, snapshots, metrics, loop_monitor, contributions, exports, curves, store: kind };
    Ok((handle, event_loop, historian))
}
