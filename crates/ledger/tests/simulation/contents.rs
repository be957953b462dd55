//! A model of the durable contents. It compares each write with the true counts and with all earlier writes.

use std::collections::{BTreeMap, BTreeSet};

use queens_ledger::intervals::Intervals;
use queens_ledger::store::{Coverage, CoverageChange, JobEntry, Phase, Record, SecondCount, Write};
use queens_model::{JobId, Party, Progress};
use queens_solver::Span;

use super::puzzle::{Puzzle, puzzle};

/// The contents of a store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    pub(crate) entries: BTreeMap<JobId, JobEntry>,
    parts: BTreeMap<(JobId, u32), Cross>,
    progress: BTreeMap<JobId, Progress>,
    /// The counts of each record, with their parties.
    said: BTreeMap<Key, BTreeSet<Said>>,
    /// Records on which two consistent parties agree, and those that were contradicted.
    verified: BTreeSet<Key>,
    disputed: BTreeSet<Key>,
}

/// The records of one part, by their first subproblem, and the coverage that was written with them.
#[derive(Clone, Debug, Default)]
struct Cross {
    records: BTreeMap<u64, Record>,
    coverage: Coverage,
}

/// A job and a span: its part, its first subproblem and the one after its last.
type Key = (JobId, u32, u64, u64);

/// A party, and the solutions and nodes that it counted.
type Said = (Party, u64, u64);

/// The numbers of records that second counts have confirmed and contradicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compared {
    pub(crate) n_verified: u64,
    pub(crate) n_disputed: u64,
}

impl Contents {
    /// Whether exactly this span is a record.
    pub(crate) fn has_record(&self, job: JobId, span: Span) -> bool {
        let record = self.parts.get(&(job, span.part())).and_then(|part| part.records.get(&span.from()));
        record.is_some_and(|record| record.span == span)
    }

    /// Whether another party has confirmed a record.
    pub(crate) fn is_confirmed(&self, job: JobId, span: Span) -> bool {
        self.verified.contains(&(job, span.part(), span.from(), span.to()))
    }

    /// Whether everything of a job is recorded.
    pub(crate) fn is_all_recorded(&self, job: JobId) -> bool {
        self.progress(job).is_some_and(|progress| progress.n_recorded == progress.n_subproblems)
    }

    /// Returns the numbers of a job's records that second counts have confirmed and contradicted.
    pub(crate) fn compared(&self, job: JobId) -> Compared {
        let of =
            |spans: &BTreeSet<Key>| spans.range((job, 0, 0, 0)..(JobId(job.0 + 1), 0, 0, 0)).count() as u64;
        Compared { n_verified: of(&self.verified), n_disputed: of(&self.disputed) }
    }

    /// Compares a second count with its record.
    fn compare(&mut self, job: JobId, again: &SecondCount) {
        let span = again.span;
        let record = self.parts.get(&(job, span.part())).and_then(|part| part.records.get(&span.from()));
        let record = record.filter(|record| record.span == span).expect("there is a record");
        let key = (job, span.part(), span.from(), span.to());
        if record.count != again.count {
            self.disputed.insert(key);
        }
        let said = self.said.entry(key).or_default();
        for (source, count) in [(&record.source, record.count), (&again.source, again.count)] {
            said.insert((source.party, count.solutions, count.work));
        }
        let is_alone = |by: &&Said| said.iter().filter(|(party, ..)| *party == by.0).count() == 1;
        let alone: Vec<_> =
            said.iter().filter(is_alone).map(|(_, solutions, work)| (solutions, work)).collect();
        if alone.iter().any(|count| alone.iter().filter(|other| *other == count).count() > 1) {
            self.verified.insert(key);
        } else {
            self.verified.remove(&key);
        }
    }

    /// Returns the durable records of a part.
    pub(crate) fn recorded(&self, job: JobId, part: u32) -> Intervals {
        self.parts.get(&(job, part)).map(|part| part.coverage.recorded.clone()).unwrap_or_default()
    }

    pub(crate) fn coverages(&self, job: JobId) -> impl Iterator<Item = (u32, &Intervals)> {
        let parts = self.parts.range((job, 0)..=(job, u32::MAX));
        parts.map(|(&(_, number), part)| (number, &part.coverage.recorded))
    }

    pub(crate) fn records(&self, job: JobId) -> Vec<Record> {
        let parts = self.parts.range((job, 0)..=(job, u32::MAX));
        parts.flat_map(|(_, part)| part.records.values()).cloned().collect()
    }

    /// Returns the progress of a job with a stored plan.
    pub(crate) fn progress(&self, job: JobId) -> Option<Progress> {
        self.progress.get(&job).copied()
    }

    pub(crate) fn is_over(&self, job: JobId) -> bool {
        self.entries.get(&job).is_some_and(|entry| matches!(entry.phase, Phase::Done | Phase::Cancelled))
    }

    pub(crate) fn apply(&mut self, puzzles: &[Puzzle], writes: &[Write]) {
        let cancelled = |(&id, entry): (&JobId, &JobEntry)| (entry.phase == Phase::Cancelled).then_some(id);
        let cancelled: BTreeSet<JobId> = self.entries.iter().filter_map(cancelled).collect();
        let mut touched = BTreeSet::new();
        for write in writes {
            match write {
                Write::Blocked { .. } => {}
                Write::SecondCount { job, count } => self.compare(*job, count),
                Write::Verdict { job, verdict } => {
                    let truth = self.puzzle(puzzles, *job).count(verdict.span);
                    assert_eq!(verdict.count, truth, "a wrong verdict: {verdict:?}");
                    assert_ne!(verdict.lost, truth, "a wrong verdict: {verdict:?}");
                }
                Write::Job(entry) => {
                    if let Some(before) = self.entries.insert(entry.id, entry.clone()) {
                        // A job that is done may be reopened for recounts.
                        let is_reopened = (before.phase, entry.phase) == (Phase::Done, Phase::Active);
                        assert!(
                            is_reopened || rank(before.phase) <= rank(entry.phase),
                            "job {} goes back: {entry:?}",
                            entry.id
                        );
                        assert_eq!(before.identity, entry.identity, "another job {}", entry.id);
                        // A party that contradicts itself no longer confirms anything, so `n_verified` may shrink.
                        assert!(before.n_disputed <= entry.n_disputed);
                    }
                }
                Write::Plan { job, choices } => {
                    let plan = &self.puzzle(puzzles, *job).plan;
                    assert!(plan.parts().iter().map(|part| part.choice()).eq(choices), "another plan");
                    let mut progress = Progress::default();
                    for choice in choices {
                        progress.n_subproblems += u128::from(choice.n_subproblems);
                        progress.estimated_work += choice.work;
                    }
                    self.progress.entry(*job).or_insert(progress);
                }
                Write::Record { job, record } => {
                    let known = self.parts.get(&(*job, record.span.part()));
                    let known = known.and_then(|part| part.records.get(&record.span.from()));
                    let is_new = known != Some(record);
                    assert!(!is_new || !cancelled.contains(job), "recorded after cancellation: {record:?}");
                    self.add(puzzles, *job, record);
                    touched.insert((*job, record.span.part()));
                }
                Write::Coverage { job, part, change } => {
                    self.cover(puzzles, *job, *part, change);
                    touched.insert((*job, *part));
                }
            }
        }
        for (job, number) in touched {
            let part = &self.parts[&(job, number)];
            let mut union = Intervals::default();
            part.records.values().for_each(|record| _ = union.insert(record.span.from()..record.span.to()));
            assert_eq!(union, part.coverage.recorded, "records and coverage of part {number} differ");
        }
    }

    /// Returns the true counts of a job, by its stored identity.
    pub(crate) fn puzzle<'a>(&self, puzzles: &'a [Puzzle], job: JobId) -> &'a Puzzle {
        puzzle(puzzles, self.entries[&job].identity)
    }

    fn add(&mut self, puzzles: &[Puzzle], job: JobId, record: &Record) {
        let puzzle = self.puzzle(puzzles, job);
        let span = record.span;
        assert!(puzzle.has(span), "a record outside the plan: {record:?}");
        assert_eq!(record.count, puzzle.count(span), "a wrong record of job {job}: {record:?}");
        assert!(i64::try_from(record.duration.as_micros()).is_ok(), "no column holds it: {record:?}");
        let records = &mut self.parts.entry((job, span.part())).or_default().records;
        if let Some(before) = records.insert(span.from(), record.clone()) {
            assert!(before.span.to() <= span.to(), "a record shrank: {before:?}, {record:?}");
            assert!(before.source == record.source && before.lease == record.lease, "{before:?}, {record:?}");
        }
        let before = records.range(..span.from()).next_back();
        let after = records.range(span.from() + 1..).next();
        assert!(before.is_none_or(|(_, other)| other.span.to() <= span.from()), "{before:?}, {record:?}");
        assert!(after.is_none_or(|(&from, _)| span.to() <= from), "overlap: {record:?}, {after:?}");
    }

    fn cover(&mut self, puzzles: &[Puzzle], job: JobId, number: u32, change: &CoverageChange) {
        let puzzle = self.puzzle(puzzles, job);
        let part = self.parts.entry((job, number)).or_default();
        let before = part.coverage.clone();
        part.coverage.apply(change);
        let coverage = &part.coverage;
        assert_eq!(coverage.recorded.extent(), change.extent, "part {number}: {coverage:?}");
        let (mut solutions, mut nodes) = (0, 0);
        for range in coverage.recorded.ranges() {
            let span = Span::new(number, range.start, range.end).expect("ranges are not empty");
            let count = puzzle.count(span);
            solutions += u128::from(count.solutions);
            nodes += u128::from(count.work);
        }
        assert_eq!((coverage.solutions, coverage.work), (solutions, nodes), "sums of part {number}");
        for range in before.recorded.ranges() {
            assert!(coverage.recorded.contains(&range), "part {number} lost {range:?}: {coverage:?}");
        }
        let planned = &puzzle.plan.parts()[number as usize];
        let (work, all) = (planned.choice().work, u128::from(planned.choice().n_subproblems));
        let part = |coverage: &Coverage| work * u128::from(coverage.recorded.len()) / all;
        let progress = self.progress.get_mut(&job).expect("planned before it is counted");
        progress.solutions += u128::from(planned.weight()) * (solutions - before.solutions);
        progress.work += nodes - before.work;
        progress.n_recorded += u128::from(coverage.recorded.len() - before.recorded.len());
        progress.estimated_work_recorded += part(coverage) - part(&before);
    }
}

fn rank(phase: Phase) -> u8 {
    match phase {
        Phase::Planning => 0,
        Phase::Active => 1,
        Phase::Done | Phase::Cancelled | Phase::Damaged => 2,
    }
}
