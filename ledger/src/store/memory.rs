//! A store that forgets everything with its process.

use std::collections::{BTreeMap, BTreeSet};

use queens_messages::JobId;
use queens_solver::{Choice, Span};

use crate::store::{Coverage, JobEntry, Record, Recorded, Store, StoreError, Stored, StoredJob, Write};

/// Keeps jobs in memory: for counts that are not meant to outlive the process, and as the model of a store in tests.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    epoch: u32,
    blocked: BTreeSet<String>,
    jobs: BTreeMap<JobId, MemoryJob>,
}

#[derive(Clone, Debug)]
struct MemoryJob {
    entry: JobEntry,
    choices: Option<Vec<Choice>>,
    coverage: BTreeMap<u32, Coverage>,
    records: BTreeMap<(u32, u64), Record>,
}

impl MemoryStore {
    /// All records of a job, in the order of their spans.
    pub fn records(&self, job: JobId) -> impl Iterator<Item = &Record> {
        self.jobs.get(&job).into_iter().flat_map(|job| job.records.values())
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
                Write::Blocked { name, blocked: true } => _ = self.blocked.insert(name),
                Write::Blocked { name, blocked: false } => _ = self.blocked.remove(&name),
                Write::Job(entry) => {
                    self.jobs.entry(entry.id).and_modify(|job| job.entry = entry.clone()).or_insert_with(
                        || MemoryJob {
                            entry,
                            choices: None,
                            coverage: BTreeMap::new(),
                            records: BTreeMap::new(),
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
