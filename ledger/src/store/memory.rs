//! A store that forgets everything with its process.

use std::collections::BTreeMap;

use queens_messages::{JobId, Name};
use queens_solver::{Choice, Span};

use crate::store::{
    Coverage, JobEntry, Record, Recorded, SecondCount, Store, StoreError, Stored, StoredJob, Verdict, Write,
};

/// Keeps jobs in memory: for counts that are not meant to outlive the process, and as the model of a store in tests.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    epoch: u32,
    blocked: BTreeMap<String, String>,
    jobs: BTreeMap<JobId, MemoryJob>,
}

#[derive(Clone, Debug)]
struct MemoryJob {
    entry: JobEntry,
    choices: Option<Vec<Choice>>,
    coverage: BTreeMap<u32, Coverage>,
    records: BTreeMap<(u32, u64), Record>,
    second_counts: BTreeMap<(u32, u64, Name), SecondCount>,
    verdicts: BTreeMap<(u32, u64, u32), Verdict>,
}

impl MemoryStore {
    /// All records of a job, in the order of their spans.
    pub fn records(&self, job: JobId) -> impl Iterator<Item = &Record> {
        self.jobs.get(&job).into_iter().flat_map(|job| job.records.values())
    }

    /// Further counts of its records, in the order of their spans and names.
    pub fn second_counts(&self, job: JobId) -> impl Iterator<Item = &SecondCount> {
        self.jobs.get(&job).into_iter().flat_map(|job| job.second_counts.values())
    }

    /// What was decided about its spans, in their order.
    pub fn verdicts(&self, job: JobId) -> impl Iterator<Item = &Verdict> {
        self.jobs.get(&job).into_iter().flat_map(|job| job.verdicts.values())
    }

    fn job(&mut self, id: JobId) -> Result<&mut MemoryJob, StoreError> {
        self.jobs.get_mut(&id).ok_or_else(|| StoreError::Failed(format!("there is no job {id}")))
    }
}

impl Store for MemoryStore {
    fn load(&mut self) -> Result<Stored, StoreError> {
        let jobs = self.jobs.values().map(|job| StoredJob {
            entry: job.entry.clone(),
            choices: job.choices.clone(),
            coverage: job.coverage.iter().map(|(&cross, coverage)| (cross, coverage.clone())).collect(),
        });
        let (jobs, blocked) = (jobs.collect(), self.blocked.clone());
        Ok(Stored { epoch: self.epoch, first_epoch: 0, blocked, jobs })
    }

    fn commit(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        for write in writes {
            match write.clone() {
                Write::Epoch(epoch) => self.epoch = epoch,
                Write::Blocked { name, blocked: true, reason } => _ = self.blocked.insert(name, reason),
                Write::Blocked { name, blocked: false, .. } => _ = self.blocked.remove(&name),
                Write::Job(entry) => {
                    self.jobs.entry(entry.id).and_modify(|job| job.entry = entry.clone()).or_insert_with(
                        || MemoryJob {
                            entry,
                            choices: None,
                            coverage: BTreeMap::new(),
                            records: BTreeMap::new(),
                            second_counts: BTreeMap::new(),
                            verdicts: BTreeMap::new(),
                        },
                    );
                }
                Write::Plan { job, choices } => self.job(job)?.choices = Some(choices),
                Write::Record { job, record } => {
                    let key = (record.span.cross(), record.span.from());
                    self.job(job)?.records.insert(key, record);
                }
                Write::Coverage { job, cross, change } => {
                    self.job(job)?.coverage.entry(cross).or_default().apply(&change);
                }
                Write::SecondCount { job, count } => {
                    let key = (count.span.cross(), count.span.from(), count.source.name.clone());
                    self.job(job)?.second_counts.insert(key, count);
                }
                Write::Verdict { job, verdict } => {
                    let key = (verdict.span.cross(), verdict.span.from(), verdict.number);
                    self.job(job)?.verdicts.insert(key, verdict);
                }
            }
        }
        Ok(())
    }

    fn find(&mut self, job: JobId, span: Span) -> Result<Option<Recorded>, StoreError> {
        let record = self.job(job)?.records.get(&(span.cross(), span.from()));
        let recorded = |record: &Record| Recorded { count: record.count, name: record.source.name.clone() };
        Ok(record.filter(|record| record.span == span).map(recorded))
    }
}
