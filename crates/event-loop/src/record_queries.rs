//! Answers queries about a job's records (contributions and verdicts) in background threads, with a cache.
//!
//! Each query reads all records of the job, some hundreds of thousands a second. The cache therefore keeps an answer
//! the longer, the longer it took. At most a twentieth of the time goes into reading, however many queries come. A
//! single part has few records, so its answers are not cached.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use queens_model::{Contribution, JobId, VerdictStatus};
use thiserror::Error;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use queens_ledger::store::StoreError;
use queens_store::Records;

/// An answer stays in the cache for at least `KEPT`, and `KEPT_TIMES` as long as it took.
const KEPT: Duration = Duration::from_secs(2);
const KEPT_TIMES: u32 = 19;

/// The maximum number of jobs in the cache.
const MOST_JOBS: usize = 64;

/// The maximum number of contributions in an answer; those with the most work stay.
const MOST_TOLD: usize = 10_000;

/// The maximum number of verdicts in an answer.
const MOST_VERDICTS: usize = 1000;

/// Why a query about records failed.
#[derive(Debug, Error)]
pub enum QueryError {
    /// Another query is running.
    #[error("the records are being read for another request: retry")]
    Busy,
    /// The records can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The records of a store, with a cache of recent answers.
#[derive(Debug)]
pub(crate) struct RecordQueries {
    pub(crate) records: Option<Arc<dyn Records>>,
    kept: Arc<Mutex<BTreeMap<JobId, Kept>>>,
    /// One job and one part are read at a time. A read continues if its caller has gone away.
    jobs: Arc<Semaphore>,
    parts: Arc<Semaphore>,
    /// One certificate is exported at a time.
    pub(crate) exports: Arc<Semaphore>,
}

#[derive(Debug)]
struct Kept {
    until: Instant,
    contributions: Arc<[Contribution]>,
}

impl RecordQueries {
    pub(crate) fn of(records: Option<Arc<dyn Records>>) -> Self {
        let one = || Arc::new(Semaphore::new(1));
        Self { records, kept: Arc::default(), jobs: one(), parts: one(), exports: one() }
    }

    /// Returns the contributions to a job, most work first.
    pub(crate) async fn of_job(&self, job: JobId) -> Result<Arc<[Contribution]>, QueryError> {
        let kept = self.kept.clone();
        let known = |now| {
            let kept = kept.lock();
            kept.get(&job).filter(|known| now < known.until).map(|known| known.contributions.clone())
        };
        if let Some(known) = known(Instant::now()) {
            return Ok(known);
        }
        let kept = self.kept.clone();
        let read = move |records: &dyn Records| {
            let began = Instant::now();
            let contributions: Arc<[Contribution]> = read(records, job, None)?.into();
            let mut kept = kept.lock();
            if kept.len() >= MOST_JOBS {
                kept.clear();
            }
            let until = Instant::now() + KEPT.max(began.elapsed() * KEPT_TIMES);
            kept.insert(job, Kept { until, contributions: contributions.clone() });
            Ok(contributions)
        };
        self.in_background(&self.jobs, read).await
    }

    /// Returns the contributions to a part of a job.
    pub(crate) async fn of_part(&self, job: JobId, part: u32) -> Result<Vec<Contribution>, QueryError> {
        self.in_background(&self.parts, move |records| read(records, job, Some(part))).await
    }

    /// Returns verdicts on spans of a job, after the first `offset`.
    pub(crate) async fn verdicts(&self, job: JobId, offset: usize) -> Result<Vec<VerdictStatus>, QueryError> {
        self.in_background(&self.parts, move |records| records.verdicts(job, offset, MOST_VERDICTS)).await
    }

    /// Reads records on a thread that may wait for the disk, unless another is reading; nothing if none are kept.
    async fn in_background<T: Default + Send + 'static>(
        &self,
        permits: &Arc<Semaphore>,
        read: impl FnOnce(&dyn Records) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, QueryError> {
        let Some(records) = self.records.clone() else { return Ok(T::default()) };
        let permit = permits.clone().try_acquire_owned().map_err(|_| QueryError::Busy)?;
        let failed = |_| StoreError::Failed("a thread that reads records has failed".to_owned());
        let read = move || {
            let _permit = permit;
            read(&*records)
        };
        Ok(tokio::task::spawn_blocking(read).await.map_err(failed)??)
    }
}

fn read(records: &dyn Records, job: JobId, part: Option<u32>) -> Result<Vec<Contribution>, StoreError> {
    let mut contributions = records.contributions(job, part)?;
    contributions.truncate(MOST_TOLD);
    Ok(contributions)
}
