//! Starts and stops a coordinator: its event loop and its history, each on a thread.

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

use crate::event_loop::EventLoop;
use crate::handle::Handle;
use crate::history::Historian;
use crate::metrics::Metrics;
use crate::party_totals::TotalsReader;
use crate::record_queries::RecordQueries;

/// The length of the command queue. Senders wait while it is full.
const QUEUE: usize = 4096;

/// Why a coordinator could not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// Its store can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The stored data can't be restored.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// Its thread could not be started.
    #[error("failed to start the coordinator's thread: {0}")]
    Thread(#[from] io::Error),
}

/// A running coordinator.
#[derive(Debug)]
pub struct Coordinator {
    handle: Handle,
    stop: CancellationToken,
    /// The threads of the event loop and of the historian. The historian ends after the event loop.
    threads: [JoinHandle<()>; 2],
}

impl Coordinator {
    /// Starts a coordinator with the data in `store`. Plans are made with `n_threads` threads; `reporting` decides how
    /// often workers report.
    ///
    /// # Errors
    /// If the stored data can't be read or restored.
    pub fn start(
        store: Box<dyn Archive>,
        n_threads: NonZeroUsize,
        reporting: Reporting,
    ) -> Result<Self, StartError> {
        let stop = CancellationToken::new();
        let (handle, event_loop, historian) = prepare(store, n_threads, reporting, stop.clone())?;
        // The historian starts first: it ends by itself if the event loop can't start.
        let historian = historian.spawn()?;
        Ok(Self { handle, stop, threads: [event_loop.spawn()?, historian] })
    }

    /// Returns a handle to communicate with the coordinator.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Waits until the event loop ends without a call of [`stop`](Self::stop).
    pub async fn stopped(&self) {
        self.handle.commands.closed().await;
    }

    /// Stops the coordinator after its current write. Sessions are closed; unacknowledged reports are not recorded.
    pub fn stop(self) {
        self.stop.cancel();
        for thread in self.threads {
            if thread.join().is_err() {
                error!("a thread of the coordinator panicked");
            }
        }
    }
}

/// Creates a coordinator without a thread. It runs while the future is polled, with the clock of that runtime, until no
/// handle is left. So it can run among simulated machines.
///
/// # Errors
/// If the stored data can't be read or restored.
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
    let records = store.records();
    let (event_loop, historian) = EventLoop::new(core, store, n_threads, queue, commands.downgrade(), stop);
    let (snapshots, history) = (event_loop.publisher.subscribe(), historian.shared.clone());
    let handle = Handle {
        commands,
        metrics: Arc::new(Metrics::new(event_loop.counters.clone(), snapshots.clone())),
        snapshots,
        loop_monitor: event_loop.loop_monitor.clone(),
        queries: Arc::new(RecordQueries::of(records.clone())),
        totals: Arc::new(TotalsReader::of(records, history.days.clone())),
        ranking: Arc::default(),
        history,
        store: kind,
    };
    Ok((handle, event_loop, historian))
}
