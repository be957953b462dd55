//! Certificates for who asks from afar: made on a thread that keeps nobody else waiting, one at a time, and sent as fast
//! as they are read.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use queens_model::{JobId, Name};
use queens_runtime::VERSION;
use thiserror::Error;
use tokio::runtime::Handle as Runtime;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use queens_store::Records;
use queens_store::certificate::ExportError;

/// Bytes of a piece.
const PIECE: usize = 1 << 16;

/// Pieces that may wait to be sent.
const WAITING: usize = 4;

/// How long whoever asks may not read, and how long all of it may take: meanwhile the database keeps what it was when the
/// export began.
const UNREAD: Duration = Duration::from_secs(20);
const LONGEST: Duration = Duration::from_secs(3600);

/// Why nobody gets a certificate.
#[derive(Debug, Error)]
pub enum NoExport {
    /// Somebody else is getting one.
    #[error("a certificate is being sent to somebody else: ask again")]
    Busy,
    /// Nothing is kept that one could be made of.
    #[error("this coordinator keeps no records")]
    Unkept,
    /// It can't be made.
    #[error(transparent)]
    Failed(#[from] ExportError),
}

/// The pieces of a certificate, in order. Behind the last comes nothing, or why it is not whole.
pub type Pieces = mpsc::Receiver<Result<Vec<u8>, NoExport>>;

/// The records of a store, for certificates.
#[derive(Debug)]
pub(crate) struct Exports {
    records: Option<Arc<dyn Records>>,
    one: Arc<Semaphore>,
}

impl Exports {
    pub(crate) fn of(records: Option<Arc<dyn Records>>) -> Self {
        Self { records, one: Arc::new(Semaphore::new(1)) }
    }

    /// Begins to make one. When all of it is sent, or it can't be made, `ended` is called.
    pub(crate) fn begin(
        &self,
        job: JobId,
        ended: impl AsyncFnOnce(&Result<(), NoExport>) + Send + 'static,
    ) -> Result<Pieces, NoExport> {
        let records = self.records.clone().ok_or(NoExport::Unkept)?;
        let permit = self.one.clone().try_acquire_owned().map_err(|_| NoExport::Busy)?;
        let (sender, pieces) = mpsc::channel(WAITING);
        let runtime = Runtime::current();
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let began = Instant::now();
            let mut out = PieceWriter { piece: Vec::new(), sender, runtime: runtime.clone(), began };
            let exported = records.export(job, &Name::of_any(VERSION), &mut out);
            let sent = exported.and_then(|()| Ok(out.send()?)).map_err(NoExport::from);
            runtime.block_on(ended(&sent));
            if let Err(error) = sent {
                // If nobody listens any more, that was why.
                _ = runtime.block_on(out.sender.send_timeout(Err(error), UNREAD));
            }
        });
        Ok(pieces)
    }
}

/// Cuts what is written into pieces.
struct PieceWriter {
    piece: Vec<u8>,
    sender: mpsc::Sender<Result<Vec<u8>, NoExport>>,
    runtime: Runtime,
    began: Instant,
}

impl PieceWriter {
    /// Sends what there is.
    fn send(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::take(&mut self.piece);
        let sent = self.runtime.block_on(self.sender.send_timeout(Ok(piece), UNREAD));
        if sent.is_err() || self.began.elapsed() > LONGEST {
            return Err(io::Error::other("whoever asked does not read it"));
        }
        Ok(())
    }
}

impl Write for PieceWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(PIECE - self.piece.len());
        self.piece.extend(&bytes[..n]);
        if self.piece.len() == PIECE {
            self.send()?;
        }
        Ok(n)
    }

    /// Nothing waits for a piece that is not full but the end.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
