//! Writes to the store, with retries.

use std::time::Duration;

use queens_ledger::store::{StoreError, Write};
use queens_ledger::{Batch, Durable, Effects};
use queens_model::EventKind;
use tokio::time::Instant;
use tracing::{debug_span, error, info};

use super::EventLoop;

/// The delay before a failed write is retried, and the interval at which the same reason is logged again.
const RETRY: Duration = Duration::from_secs(1);
const COMPLAIN: Duration = Duration::from_secs(60);

impl EventLoop {
    /// Writes until it succeeds, and returns the work that waits for it; `None` if the coordinator stops before.
    /// Meanwhile no report is acknowledged, workers wait, and their work is not lost. Errors are permanent.
    pub(super) async fn write(&mut self, batch: Batch) -> Result<Option<(Durable, Effects)>, StoreError> {
        let mut error = match self.commit(batch.writes()) {
            Ok(()) => return Ok(Some(batch.written())),
            Err(error) if error.may_heal() => error,
            Err(damage) => return Err(damage),
        };
        let failed = self.time();
        let mut complained: Option<(Instant, String)> = None;
        self.event_log.add(EventKind::Store, None, error.to_string());
        loop {
            // A new reason is logged at once, because it may be the one that helps.
            let reason = error.to_string();
            if complained.as_ref().is_none_or(|(at, told)| at.elapsed() >= COMPLAIN || *told != reason) {
                complained = Some((Instant::now(), reason));
                error!(%error, "nothing is acknowledged until the store can be written again");
            }
            self.say_store_error(Some(&error));
            self.loop_monitor.end();
            tokio::select! {
                () = self.stop.cancelled() => return Ok(None),
                () = tokio::time::sleep(RETRY) => {}
            }
            self.loop_monitor.begin();
            match self.commit(batch.writes()) {
                Ok(()) => break,
                Err(again) if again.may_heal() => error = again,
                Err(damage) => return Err(damage),
            }
        }
        let written = self.time();
        self.core.stood_still(written);
        self.event_log.add(EventKind::Store, None, "the store can be written again".to_owned());
        self.say_store_error(None);
        info!(seconds = (written - failed).as_secs(), "the store can be written again");
        Ok(Some(batch.written()))
    }

    pub(super) fn say_store_error(&mut self, error: Option<&StoreError>) {
        let (error, events) = (error.map(ToString::to_string), self.event_log.events());
        self.publisher.amend(|snapshot| (snapshot.store_error, snapshot.events) = (error, events));
    }

    fn commit(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        if !writes.is_empty() {
            let began = Instant::now();
            let _span = debug_span!("commit", writes = writes.len()).entered();
            self.store.commit(writes)?;
            self.counters.commit.observe(began.elapsed().as_secs_f64());
        } else if self.drops || !self.answers.is_empty() {
            // A deposed leader does not know the grants and decisions of its successor.
            self.store.confirm()?;
        }
        self.drops = false;
        Ok(())
    }
}
