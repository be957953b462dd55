//! Streams certificates to remote clients. A background thread makes one at a time, as fast as the client reads.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use queens_model::{JobId, Name};
use queens_platform::VERSION;
use thiserror::Error;
use tokio::runtime::Handle as Runtime;
use tokio::sync::mpsc;
use tokio::time::Instant;

use queens_store::certificate::ExportError;

use crate::record_queries::RecordQueries;

/// The size of a piece in bytes.
const PIECE: usize = 1 << 16;

/// The maximum number of pieces that wait to be sent.
const WAITING: usize = 4;

/// The time after which a client that does not read is dropped, and the limit for a whole export. Meanwhile the
/// database must keep the state of the export's start.
const UNREAD: Duration = Duration::from_secs(20);
const LONGEST: Duration = Duration::from_secs(3600);

/// Why a client gets no certificate.
#[derive(Debug, Error)]
pub enum NoExport {
    /// Another client is getting one.
    #[error("a certificate is being sent to another client: retry")]
    Busy,
    /// The coordinator keeps no records.
    #[error("this coordinator keeps no records")]
    Unkept,
    /// The export failed.
    #[error(transparent)]
    Failed(#[from] ExportError),
}

/// The pieces of a certificate, in order. An incomplete certificate ends with the reason.
pub type Pieces = mpsc::Receiver<Result<Vec<u8>, NoExport>>;

impl RecordQueries {
    /// Starts an export. `ended` is called after everything is sent, or the export has failed.
    pub(crate) fn export(
        &self,
        job: JobId,
        ended: impl AsyncFnOnce(&Result<(), NoExport>) + Send + 'static,
    ) -> Result<Pieces, NoExport> {
        let records = self.records.clone().ok_or(NoExport::Unkept)?;
        let permit = self.exports.clone().try_acquire_owned().map_err(|_| NoExport::Busy)?;
        let (sender, pieces) = mpsc::channel(WAITING);
        let runtime = Runtime::current();
        tokio::task::spawn_blocking(move || {
            let pieces = PieceSender { sender, runtime: runtime.clone(), began: Instant::now() };
            let mut out = BufWriter::with_capacity(PIECE, pieces);
            let exported = records.export(job, &Name::of_any(VERSION), &mut out);
            let sent = exported.and_then(|()| Ok(out.flush()?)).map_err(NoExport::from);
            // Before the client knows the end: it may ask for another certificate at once.
            drop(permit);
            runtime.block_on(ended(&sent));
            let (PieceSender { sender, .. }, _unsent) = out.into_parts();
            if let Err(error) = sent {
                // If the client has gone away, that is why it failed.
                _ = runtime.block_on(sender.send_timeout(Err(error), UNREAD));
            }
        });
        Ok(pieces)
    }
}

/// A writer that sends each of its inputs as a piece.
struct PieceSender {
    sender: mpsc::Sender<Result<Vec<u8>, NoExport>>,
    runtime: Runtime,
    began: Instant,
}

impl Write for PieceSender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = bytes[..bytes.len().min(PIECE)].to_vec();
        let n_bytes = piece.len();
        let sent = self.runtime.block_on(self.sender.send_timeout(Ok(piece), UNREAD));
        if sent.is_err() || self.began.elapsed() > LONGEST {
            return Err(io::Error::other("the client does not read it"));
        }
        Ok(n_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use queens_ledger::store::StoreError;
    use queens_model::{Contribution, Party, PartyTotals, VerdictStatus};
    use queens_store::Records;

    use super::*;

    /// Records whose certificate is one byte.
    #[derive(Debug)]
    struct OneByte;

    impl Records for OneByte {
        fn contributions(&self, _: JobId, _: Option<u32>) -> Result<Vec<Contribution>, StoreError> {
            Ok(vec![])
        }

        fn party_totals(&self, _: JobId) -> Result<Vec<(Party, PartyTotals)>, StoreError> {
            Ok(vec![])
        }

        fn verdicts(&self, _: JobId, _: usize, _: usize) -> Result<Vec<VerdictStatus>, StoreError> {
            Ok(vec![])
        }

        fn export(&self, _: JobId, _: &Name, out: &mut dyn Write) -> Result<(), ExportError> {
            Ok(out.write_all(&[7])?)
        }
    }

    #[tokio::test]
    async fn a_client_may_ask_for_another_certificate_when_the_first_has_ended() {
        let exports = RecordQueries::of(Some(Arc::new(OneByte)));
        let (one, one_in_test) = (exports.exports.clone(), exports.exports.clone());
        let mut pieces = exports
            .export(JobId(1), async move |sent| {
                assert!(sent.is_ok());
                one.try_acquire().expect("the next export may begin before this one's end is known").forget();
            })
            .expect("no other client");
        assert!(matches!(pieces.recv().await, Some(Ok(piece)) if piece == [7]));
        assert!(pieces.recv().await.is_none());
        assert_eq!(one_in_test.available_permits(), 0);
    }
}
