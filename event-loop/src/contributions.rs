//! Who has counted a job: read from its records when somebody asks, on a thread that keeps nobody else waiting.
//!
//! All records of a job are read for that, some hundreds of thousands a second. So an answer is kept, the longer the
//! longer it took: however many ask, a twentieth of the time at most goes into reading. Those of one cross are few.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use queens_model::{Contribution, JobId, VerdictStatus};
use thiserror::Error;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use queens_ledger::store::StoreError;
use queens_store::Records;

/// How long an answer is kept: at least this, and so many times as long as it took.
const KEPT: Duration = Duration::from_secs(2);
const KEPT_TIMES: u32 = 19;

/// Jobs of which the answer is kept.
const MOST_JOBS: usize = 64;

/// The workers of which it is told, those with the most nodes.
const MOST_TOLD: usize = 10_000;

/// The verdicts that are told at a time.
const MOST_VERDICTS: usize = 1000;

/// Why nobody can tell who has counted a job.
#[derive(Debug, Error)]
pub enum QueryError {
    /// Somebody else is asking.
    #[error("the records are being read for somebody else: ask again")]
    Busy,
    /// They can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The records of a store and what was read of them lately.
#[derive(Debug)]
pub(crate) struct Contributions {
    records: Option<Arc<dyn Records>>,
    kept: Arc<Mutex<BTreeMap<JobId, Kept>>>,
    /// One job and one cross at a time are read, also for somebody who has gone away meanwhile.
    jobs: Arc<Semaphore>,
    crosses: Arc<Semaphore>,
}

#[derive(Debug)]
struct Kept {
    until: Instant,
    contributions: Arc<[Contribution]>,
}

impl Contributions {
    pub(crate) fn of(records: Option<Arc<dyn Records>>) -> Self {
        let one = || Arc::new(Semaphore::new(1));
        Self { records, kept: Arc::default(), jobs: one(), crosses: one() }
    }

    /// Who has counted a job, those with the most nodes first.
    pub(crate) async fn of_job(&self, job: JobId) -> Result<Arc<[Contribution]>, QueryError> {
        let kept = self.kept.clone();
        let known = |now| {
            let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.get(&job).filter(|known| now < known.until).map(|known| known.contributions.clone())
        };
        if let Some(known) = known(Instant::now()) {
            return Ok(known);
        }
        let Some(records) = self.records.clone() else { return Ok(Arc::default()) };
        let permit = self.jobs.clone().try_acquire_owned().map_err(|_| QueryError::Busy)?;
        let kept = self.kept.clone();
        in_background(move || {
            let _permit = permit;
            let began = Instant::now();
            let contributions: Arc<[Contribution]> = read(&*records, job, None)?.into();
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() >= MOST_JOBS {
                kept.clear();
            }
            let until = Instant::now() + KEPT.max(began.elapsed() * KEPT_TIMES);
            kept.insert(job, Kept { until, contributions: contributions.clone() });
            Ok(contributions)
        })
        .await
    }

    /// Who has counted a cross of a job.
    pub(crate) async fn of_cross(&self, job: JobId, cross: u32) -> Result<Vec<Contribution>, QueryError> {
        let Some(records) = self.records.clone() else { return Ok(Vec::new()) };
        let permit = self.crosses.clone().try_acquire_owned().map_err(|_| QueryError::Busy)?;
        in_background(move || {
            let _permit = permit;
            Ok(read(&*records, job, Some(cross))?)
        })
        .await
    }
}

impl Contributions {
    /// What was decided about spans of a job, without so many at the beginning.
    pub(crate) async fn verdicts(&self, job: JobId, offset: usize) -> Result<Vec<VerdictStatus>, QueryError> {
        let Some(records) = self.records.clone() else { return Ok(Vec::new()) };
        let permit = self.crosses.clone().try_acquire_owned().map_err(|_| QueryError::Busy)?;
        in_background(move || {
            let _permit = permit;
            Ok(records.verdicts(job, offset, MOST_VERDICTS)?)
        })
        .await
    }
}

fn read(records: &dyn Records, job: JobId, cross: Option<u32>) -> Result<Vec<Contribution>, StoreError> {
    let mut contributions = records.contributions(job, cross)?;
    contributions.truncate(MOST_TOLD);
    Ok(contributions)
}

/// Runs it on a thread that may wait for the disk.
async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, QueryError> + Send + 'static,
) -> Result<T, QueryError> {
    let failed = |_| StoreError::Failed("a thread that reads records has failed".to_owned());
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}
