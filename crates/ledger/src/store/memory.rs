//! A store in memory, which is lost with its process.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use queens_model::{JobId, Party};
use queens_solver::{Choice, Span};

use crate::store::draw::{Draw, Drawn, MOST_SEEN, Recorded};
use crate::store::{
    Block, Coverage, JobEntry, Record, SecondCount, Store, StoreError, Stored, StoredJob, Verdict, Write,
};

/// Keeps jobs in memory, for counts that need not outlive the process, and as a reference store in tests.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    blocked: BTreeMap<Block, String>,
    jobs: BTreeMap<JobId, MemoryJob>,
}

#[derive(Clone, Debug)]
struct MemoryJob {
    entry: JobEntry,
    choices: Option<Vec<Choice>>,
    coverage: BTreeMap<u32, Coverage>,
    records: BTreeMap<(u32, u64), Record>,
    second_counts: BTreeMap<(u32, u64, Party), SecondCount>,
    verdicts: BTreeMap<(u32, u64, u32), Verdict>,
}

impl MemoryStore {
    /// Returns all records of a job, in the order of their spans.
    pub fn records(&self, job: JobId) -> impl Iterator<Item = &Record> {
        self.jobs.get(&job).into_iter().flat_map(|job| job.records.values())
    }

    /// Returns the second counts of a job, in the order of their spans and parties.
    pub fn second_counts(&self, job: JobId) -> impl Iterator<Item = &SecondCount> {
        self.jobs.get(&job).into_iter().flat_map(|job| job.second_counts.values())
    }

    /// Returns the verdicts of a job, in the order of their spans.
    pub fn verdicts(&self, job: JobId) -> impl Iterator<Item = &Verdict> {
        self.jobs.get(&job).into_iter().flat_map(|job| job.verdicts.values())
    }

    fn job(&mut self, id: JobId) -> Result<&mut MemoryJob, StoreError> {
        self.jobs.get_mut(&id).ok_or_else(|| StoreError::Failed(format!("there is no job {id}")))
    }
}

impl MemoryJob {
    /// Returns the parties with records in a part.
    fn parties(&self, part: u32) -> BTreeSet<Party> {
        let records = self.records.range((part, 0)..=(part, u64::MAX));
        records.map(|(_, record)| record.source.party).collect()
    }

    /// Returns a record with its other counts and verdicts.
    fn recorded(&self, record: &Record) -> Recorded {
        let (part, first) = (record.span.part(), record.span.from());
        let again = self.second_counts.range((part, first, Party::from_bytes([0; 16]))..);
        let again = again.take_while(|((c, f, _), _)| (*c, *f) == (part, first)).map(|(_, again)| again);
        let verdicts = self.verdicts.range((part, first, 0)..=(part, first, u32::MAX)).map(|(_, it)| it);
        Recorded {
            record: record.clone(),
            again: again.cloned().collect(),
            verdicts: verdicts.cloned().collect(),
        }
    }
}

impl Store for MemoryStore {
    fn load(&mut self) -> Result<Stored, StoreError> {
        let jobs = self.jobs.values().map(|job| StoredJob {
            entry: job.entry.clone(),
            choices: job.choices.clone(),
            coverage: job.coverage.iter().map(|(&part, coverage)| (part, coverage.clone())).collect(),
            has_second_counts: !job.second_counts.is_empty(),
            damage: None,
        });
        let (jobs, blocked) = (jobs.collect(), self.blocked.clone());
        Ok(Stored { blocked, jobs })
    }

    fn commit(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        for write in writes {
            match write.clone() {
                Write::Blocked { block, blocked: true, reason } => _ = self.blocked.insert(block, reason),
                Write::Blocked { block, blocked: false, .. } => _ = self.blocked.remove(&block),
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
                    let key = (record.span.part(), record.span.from());
                    self.job(job)?.records.insert(key, record);
                }
                Write::Coverage { job, part, change } => {
                    self.job(job)?.coverage.entry(part).or_default().apply(&change);
                }
                Write::SecondCount { job, count } => {
                    let key = (count.span.part(), count.span.from(), count.source.party);
                    self.job(job)?.second_counts.insert(key, count);
                }
                Write::Verdict { job, verdict } => {
                    let key = (verdict.span.part(), verdict.span.from(), verdict.number);
                    self.job(job)?.verdicts.insert(key, verdict);
                }
            }
        }
        Ok(())
    }

    fn find(&mut self, job: JobId, span: Span) -> Result<Option<Recorded>, StoreError> {
        let job = self.job(job)?;
        let record = job.records.get(&(span.part(), span.from()));
        Ok(record.filter(|record| record.span == span).map(|record| job.recorded(record)))
    }

    fn draw(&mut self, draw: &Draw) -> Result<Drawn, StoreError> {
        let missing = |id: JobId| StoreError::Failed(format!("there is no job {id}"));
        let job = self.jobs.get(&draw.job).ok_or_else(|| missing(draw.job))?;
        let first_pass = draw.first_pass.map(|id| self.jobs.get(&id).ok_or_else(|| missing(id)));
        let first_pass = first_pass.transpose()?;
        let mut before = (None, BTreeSet::new());
        let after = draw.after.map_or(Bound::Unbounded, Bound::Excluded);
        let seen = job.records.range((after, Bound::Unbounded)).take(MOST_SEEN);
        let mut drawn = Drawn::default();
        for (key, record) in seen {
            let recorded = job.recorded(record);
            drawn.see(record);
            drawn.next = Some(*key);
            if let Some(first) = first_pass.filter(|_| before.0 != Some(key.0)) {
                before = (Some(key.0), first.parties(key.0));
            }
            if !recorded.again.is_empty() || draw.wants(record, &before.1) {
                drawn.records.push(recorded);
            }
        }
        drawn.next = drawn.next.filter(|_| drawn.n_seen == MOST_SEEN as u64);
        Ok(drawn)
    }
}
