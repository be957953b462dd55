//! Sums all records and recounts by party in the background, for people.
//!
//! A reading takes some hundred thousand records a second. So it is done only when somebody asks, at most every ten
//! seconds, and takes at most a twentieth of the time. A job that has not changed since is not read again. While it is
//! read, or the store fails, the last sums are the answer.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use queens_model::{JobId, JobState, JobStatus, Party, PartyTotals};
use queens_platform::LogThrottle;
use queens_store::{Records, unix_ms};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tracing::warn;

use crate::history::Days;
use crate::snapshot::Snapshot;

/// Sums are read again after `KEPT` at the earliest, and after `KEPT_TIMES` as long as the last reading took.
const KEPT: Duration = Duration::from_secs(10);
const KEPT_TIMES: u32 = 19;

/// How long the first caller waits for the first sums.
const FIRST: Duration = Duration::from_secs(3);

/// How many sums of single jobs are kept, some hundred bytes each. Jobs beyond them are read each time.
const MOST_KEPT: usize = 200_000;

const DAY_MS: u64 = 86_400_000;

/// The sums over all jobs' records and recounts by party.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    /// When the records were read, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// The sums.
    pub(crate) by_party: BTreeMap<Party, PartyTotals>,
}

/// Reads the sums.
#[derive(Debug)]
pub(crate) struct TotalsReader {
    records: Option<Arc<dyn Records>>,
    days: Arc<Mutex<Days>>,
    totals: watch::Sender<Option<Arc<Totals>>>,
    jobs: Arc<Mutex<KeptJobs>>,
    /// One reading at a time.
    reading: Arc<Semaphore>,
    failures: Arc<LogThrottle>,
}

/// The sums of single jobs, and when they are read again.
#[derive(Debug, Default)]
struct KeptJobs {
    by_job: BTreeMap<JobId, KeptJob>,
    until: Option<Instant>,
}

#[derive(Debug)]
struct KeptJob {
    version: JobVersion,
    sums: Vec<(Party, PartyTotals)>,
}

/// What changes with a job's records and recounts. A snapshot follows the writes that it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct JobVersion {
    created_ms: u64,
    n_recorded: u128,
    solutions: u128,
    work: u128,
    n_verified: u64,
    n_disputed: u64,
}

impl JobVersion {
    fn of(job: &JobStatus) -> Self {
        Self {
            created_ms: job.created_ms,
            n_recorded: job.progress.n_recorded,
            solutions: job.progress.solutions,
            work: job.progress.work,
            n_verified: job.n_verified,
            n_disputed: job.n_disputed,
        }
    }
}

impl TotalsReader {
    pub(crate) fn of(records: Option<Arc<dyn Records>>, days: Arc<Mutex<Days>>) -> Self {
        Self {
            records,
            days,
            totals: watch::channel(None).0,
            jobs: Arc::default(),
            reading: Arc::new(Semaphore::new(1)),
            failures: Arc::default(),
        }
    }

    /// Returns the last sums, and has them read again if it is time. Waits only for the first ones; `None` if that
    /// takes too long.
    pub(crate) async fn totals(&self, snapshot: &Arc<Snapshot>) -> Option<Arc<Totals>> {
        self.refresh(snapshot);
        let mut totals = self.totals.subscribe();
        let known = tokio::time::timeout(FIRST, totals.wait_for(Option::is_some)).await;
        known.ok()?.ok()?.clone()
    }

    fn refresh(&self, snapshot: &Arc<Snapshot>) {
        let Ok(permit) = self.reading.clone().try_acquire_owned() else { return };
        let until = self.jobs.lock().until;
        if until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        let Some(records) = self.records.clone() else {
            // Records in this process's memory alone are not shown.
            self.totals.send_replace(Some(Arc::new(Totals { at_ms: unix_ms(), ..Totals::default() })));
            return;
        };
        let (jobs, totals, days) = (self.jobs.clone(), self.totals.clone(), self.days.clone());
        let (snapshot, failures) = (snapshot.clone(), self.failures.clone());
        tokio::task::spawn_blocking(move || {
            let (_permit, began) = (permit, Instant::now());
            let mut jobs = jobs.lock();
            let by_party = jobs.read(&*records, &snapshot.jobs, &failures);
            jobs.until = Some(Instant::now() + KEPT.max(began.elapsed() * KEPT_TIMES));
            drop(jobs);
            let at_ms = unix_ms();
            let day = u32::try_from(at_ms / DAY_MS).unwrap_or_default();
            days.lock().note(day, by_party.iter().map(|(party, sums)| (*party, sums.time())));
            totals.send_replace(Some(Arc::new(Totals { at_ms, by_party })));
        });
    }
}

impl KeptJobs {
    /// Returns the sums over all jobs. Reads the jobs that have changed. A job that can't be read counts with its last
    /// sums.
    fn read(
        &mut self,
        records: &dyn Records,
        jobs: &[JobStatus],
        failures: &LogThrottle,
    ) -> BTreeMap<Party, PartyTotals> {
        let mut known = mem::take(&mut self.by_job);
        let (mut all, mut n_kept) = (BTreeMap::<Party, PartyTotals>::new(), 0);
        for job in jobs.iter().filter(|job| job.state != JobState::Damaged && job.progress.n_recorded > 0) {
            let (version, before) = (JobVersion::of(job), known.remove(&job.id));
            let before = before.filter(|before| before.version.created_ms == version.created_ms);
            let kept = match before {
                Some(before) if before.version == version => before,
                before => match records.party_totals(job.id) {
                    Ok(sums) => KeptJob { version, sums },
                    Err(error) => {
                        if let Some(left_out) = failures.allows() {
                            warn!(job = %job.id, %error, left_out, "the records can't be summed by party; no count depends on it");
                        }
                        let Some(before) = before else { continue };
                        before
                    }
                },
            };
            for (party, sums) in &kept.sums {
                all.entry(*party).or_default().add(sums);
            }
            n_kept += kept.sums.len();
            if n_kept <= MOST_KEPT {
                self.by_job.insert(job.id, kept);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::atomic::{AtomicU64, Ordering};

    use queens_ledger::store::StoreError;
    use queens_model::{Contribution, Name, VerdictStatus};
    use queens_solver::{BoardSize, Method};
    use queens_store::certificate::ExportError;

    use super::*;

    /// Records of one party, which has as many as readings were made; those of job 9 can't be read.
    #[derive(Debug, Default)]
    struct Read(AtomicU64);

    impl Records for Read {
        fn contributions(&self, _: JobId, _: Option<u32>) -> Result<Vec<Contribution>, StoreError> {
            Ok(vec![])
        }

        fn party_totals(&self, job: JobId) -> Result<Vec<(Party, PartyTotals)>, StoreError> {
            if job == JobId(9) {
                return Err(StoreError::Failed("no disk".to_owned()));
            }
            let n_records = self.0.fetch_add(1, Ordering::Relaxed) + 1;
            Ok(vec![(party(), PartyTotals { n_records, ..PartyTotals::default() })])
        }

        fn verdicts(&self, _: JobId, _: usize, _: usize) -> Result<Vec<VerdictStatus>, StoreError> {
            Ok(vec![])
        }

        fn export(&self, _: JobId, _: &Name, _: &mut dyn Write) -> Result<(), ExportError> {
            Ok(())
        }
    }

    fn party() -> Party {
        Party::of_name(&Name::of_any("anna"))
    }

    fn job(id: u64, n_recorded: u128) -> JobStatus {
        let n = BoardSize::new(8).expect("a board size");
        let mut job = JobStatus::new(JobId(id), n, Method::Search, JobState::Running);
        job.progress.n_recorded = n_recorded;
        job
    }

    #[test]
    fn a_job_is_read_again_when_it_has_changed() {
        let (records, failures, mut kept) = (Read::default(), LogThrottle::default(), KeptJobs::default());
        let mut read = |jobs: &[JobStatus]| {
            let sums = kept.read(&records, jobs, &failures);
            (records.0.load(Ordering::Relaxed), sums.get(&party()).map_or(0, |sums| sums.n_records))
        };
        assert_eq!(read(&[job(1, 0)]), (0, 0), "it has no records");
        assert_eq!(read(&[job(1, 1), job(2, 1)]), (2, 1 + 2));
        assert_eq!(read(&[job(1, 1), job(2, 1)]), (2, 1 + 2));
        assert_eq!(read(&[job(1, 1), job(2, 2)]), (3, 1 + 3));
        let mut recounted = job(1, 1);
        recounted.n_verified = 1;
        assert_eq!(read(&[recounted.clone(), job(2, 2)]), (4, 4 + 3));
        assert_eq!(read(&[recounted.clone(), job(2, 2), job(9, 1)]), (4, 4 + 3), "one can't be read");
        assert_eq!(read(&[recounted]), (4, 4), "one is gone");
    }

    #[tokio::test]
    async fn readers_share_one_reading_and_get_its_time() {
        let records = Arc::new(Read::default());
        let reader = TotalsReader::of(Some(records.clone()), Arc::default());
        let snapshot = Arc::new(Snapshot { jobs: vec![job(1, 1)], ..Snapshot::default() });
        for _ in 0..100 {
            let totals = reader.totals(&snapshot).await.expect("read");
            assert_eq!(totals.by_party[&party()].n_records, 1);
            assert!(totals.at_ms > 0);
        }
        let later = Arc::new(Snapshot { jobs: vec![job(1, 2)], ..Snapshot::default() });
        for _ in 0..4 {
            assert_eq!(reader.totals(&later).await.expect("kept").by_party[&party()].n_records, 1);
            // A second reading would end meanwhile.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(records.0.load(Ordering::Relaxed), 1);
    }
}
