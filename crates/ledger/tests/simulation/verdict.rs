//! Checks the end of a history.

use std::collections::BTreeMap;

use queens_ledger::store::Phase;
use queens_ledger::store::draw::is_drawn;
use queens_model::JobId;

use super::world::World;

impl World<'_> {
    /// Checks, from the stored data alone, that every job's total is that of its board.
    pub(crate) fn check_end(&mut self) {
        let stored = self.disk.load();
        assert_eq!(stored.jobs.len(), self.current.len(), "jobs");
        for job in stored.jobs {
            let id = job.entry.id;
            let mut recorded: BTreeMap<u32, (u64, u128, u128)> = BTreeMap::new();
            for record in self.disk.contents.records(id) {
                let sums = recorded.entry(record.span.part()).or_default();
                sums.0 += record.span.n_subproblems();
                sums.1 += u128::from(record.count.solutions);
                sums.2 += u128::from(record.count.work);
            }
            let covered = job.coverage.iter().map(|(part, coverage)| {
                (*part, (coverage.recorded.len(), coverage.solutions, coverage.work))
            });
            assert_eq!(covered.collect::<BTreeMap<_, _>>(), recorded, "records and coverage of job {id}");
            if job.entry.phase == Phase::Done {
                self.check_total(id, &recorded);
                self.check_confirmed(id);
            } else {
                let is_cancelled = job.entry.phase == Phase::Cancelled && self.wants_cancel && id == JobId(2);
                assert!(is_cancelled, "{:?}", job.entry);
            }
        }
        self.check_audit();
    }

    /// Checks that another name has confirmed every drawn record of a job that is done.
    fn check_confirmed(&self, job: JobId) {
        let share = self.disk.contents.puzzle(&self.puzzles, job).recount;
        let seed = self.disk.contents.entries[&job].terms.seed;
        for record in self.disk.contents.records(job) {
            let span = record.span;
            let is_due = is_drawn(seed, share, job, span.part(), span.from());
            assert!(
                !is_due || self.disk.contents.is_confirmed(job, span),
                "{record:?} was not counted again"
            );
        }
    }

    /// Checks that the records on a real disk are those that were written.
    fn check_audit(&mut self) {
        for audit in self.disk.audit(&self.puzzles) {
            let id = audit.job;
            let records = self.disk.contents.records(id);
            assert_eq!(audit.n_records, u64::try_from(records.len()).expect("few"), "records of job {id}");
            assert!(audit.phase != Phase::Done || audit.is_complete, "{audit:?}");
            let progress = self.disk.contents.progress(id).unwrap_or_default();
            assert_eq!((audit.total, audit.work), (progress.solutions, progress.work), "sums of job {id}");
        }
    }

    fn check_total(&self, job: JobId, recorded: &BTreeMap<u32, (u64, u128, u128)>) {
        let puzzle = self.disk.contents.puzzle(&self.puzzles, job);
        let (mut solutions, mut work) = (0, 0);
        for (number, planned) in (0..).zip(puzzle.plan.parts()) {
            let sums = recorded.get(&number).copied().unwrap_or_default();
            assert_eq!(sums.0, planned.choice().n_subproblems, "subproblems of part {number} of job {job}");
            solutions += u128::from(planned.weight()) * sums.1;
            work += sums.2;
        }
        assert_eq!((solutions, work), (puzzle.solutions, puzzle.work), "total of job {job}");
    }
}
