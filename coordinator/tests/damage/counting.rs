//! Data directories with counts in progress, which tests can continue to the end.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use queens_ledger::store::{Store, StoreError};
use queens_ledger::{Ledger, Run, WantedPlan};
use queens_model::{
    Delta, HalvesSkill, Hello, JobId, JobState, JobStatus, Lease, Name, Party, Report, Speed, Submission,
    ToWorker, WorkerId,
};
use queens_solver::{BoardSize, Count, DECOMPOSITION_VERSION, Kernel, Method, Plan, Span};
use queens_store::sqlite::SqliteStore;
use tempfile::TempDir;

static NEVER: AtomicBool = AtomicBool::new(false);

/// The files of a directory, by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// The precomputed counts of a board's subproblems, so that counting takes no time.
#[derive(Debug)]
pub(crate) struct Board {
    pub(crate) n: BoardSize,
    plan: Plan,
    /// The count of each subproblem of each part.
    counts: Vec<Vec<Count>>,
}

/// How a directory was refused.
#[derive(Debug)]
pub(crate) enum Refused {
    /// At the start.
    AtStart(String),
    /// During the count.
    Later(String),
}

impl Board {
    pub(crate) fn new(n: u8, method: Method) -> Self {
        let n = BoardSize::new(n).expect("a board size");
        let plan = Plan::new(n, method, NonZeroUsize::MIN, &NEVER).expect("nobody stops it");
        let count = |planned: &queens_solver::PlannedPart| {
            let mut subproblems = planned.subproblems();
            let mut count = |number| subproblems.count(number..number + 1, Kernel::best(), &NEVER);
            let all = 0..planned.choice().n_subproblems;
            all.map(|number| count(number).expect("nobody stops it")).collect()
        };
        let counts = plan.parts().iter().map(count).collect();
        Self { n, plan, counts }
    }

    fn count(&self, span: Span) -> Count {
        let numbers = usize::try_from(span.from()).expect("few")..usize::try_from(span.to()).expect("few");
        let counts = self.counts[span.part() as usize][numbers].iter();
        counts.fold(Count::default(), |sum, count| sum.checked_add(*count).expect("small"))
    }

    /// Continues the count of a directory, like `queens count`, until a share of the board is recorded. Calls `seen`
    /// after each commit. Returns the job's status at the end.
    pub(crate) fn count_on(
        &self,
        dir: &Path,
        share: f64,
        seen: &mut dyn FnMut(f64),
    ) -> Result<JobStatus, Refused> {
        let at_start = |error: StoreError| Refused::AtStart(error.to_string());
        let later = |error: StoreError| {
            // A caller would retry for ever.
            assert!(!error.may_heal(), "damage is taken for what may heal: {error}");
            Refused::Later(error.to_string())
        };
        let mut store = SqliteStore::open(dir).map_err(at_start)?;
        let stored = store.load().map_err(at_start)?;
        let mut ledger =
            Ledger::restore(stored, Run::new(1)).map_err(|error| Refused::AtStart(error.to_string()))?;
        let damaged = |job: &JobStatus| job.failure.clone().filter(|_| job.state == JobState::Damaged);
        if let Some(damage) = ledger.jobs().iter().find_map(damaged) {
            return Err(Refused::AtStart(damage));
        }
        if let Some(other) = ledger.jobs().iter().find(|job| job.n != self.n) {
            return Err(Refused::AtStart(format!("it holds a count for n = {}", other.n)));
        }
        let job = ledger.jobs().last().map_or_else(
            || {
                ledger
                    .submit(&Submission::new(self.n, self.plan.method()), 0, 1_800_000_000_000)
                    .expect("it is taken")
            },
            |job| job.id,
        );
        let worker = self.connect(&mut ledger);
        let mut leases: Vec<Lease> = Vec::new();
        for sequence in 1.. {
            assert!(sequence < 10_000, "it does not end");
            let effects = ledger.take_effects();
            let status = status(&ledger, job);
            store.commit(&effects.writes).map_err(later)?;
            seen(status.fraction());
            for comparison in &effects.comparisons {
                let recorded = store.find(comparison.job, comparison.second.span).map_err(later)?;
                ledger.compared(comparison, recorded);
            }
            for draw in &effects.draws {
                let drawn = store.draw(draw).map_err(later)?;
                ledger.drawn(draw, drawn);
            }
            // A fully recorded job may need a search of its records before it is done.
            if status.state == JobState::Done || share < 1.0 && status.fraction() >= share {
                return Ok(status);
            }
            for WantedPlan { job, .. } in effects.plans {
                ledger.planned(Duration::ZERO, job, self.plan.clone());
            }
            for (_, message) in effects.messages {
                match message {
                    ToWorker::Lease(lease) => leases.push(lease),
                    ToWorker::Acknowledge { .. } | ToWorker::Farewell => {}
                    message => panic!("{message:?}"),
                }
            }
            let deltas = leases.drain(..).flat_map(|lease| self.deltas(&lease)).collect();
            let report = Report { sequence, deltas, finished: Vec::new() };
            ledger.report(Duration::ZERO, worker, &report).expect("in order");
            // Only this searches the records: damage has made rows of second counts.
            _ = ledger.tick(Duration::ZERO);
        }
        unreachable!("it ends or panics")
    }

    /// Returns nodes per second of a machine that is slow enough to get the board in many leases.
    fn speed(&self) -> f64 {
        // The ledger assumes at least this speed.
        (self.plan.work() as f64 / 400.0).max(1.0)
    }

    fn connect(&self, ledger: &mut Ledger) -> WorkerId {
        let worker = WorkerId(1);
        let hello = Hello {
            worker,
            name: Name::of_any(&format!("machine-{}", self.n)),
            build: Name::of_any("0.1.0"),
            kernel: Name::of_any("avx512"),
            n_threads: 4,
            speed: Speed::try_from(self.speed()).expect("a speed"),
            decomposition: DECOMPOSITION_VERSION,
            halves: HalvesSkill {
                decomposition: Method::Halves.decomposition(),
                speed: Speed::try_from(self.speed()).expect("a speed"),
            },
            machine: 1,
            held: Vec::new(),
        };
        let party = Party::of_name(&hello.name);
        ledger.connect(Duration::ZERO, hello, party).expect("in order");
        worker
    }

    fn deltas(&self, lease: &Lease) -> Vec<Delta> {
        let delta = |span: Span| Delta {
            job: lease.job,
            lease: lease.id,
            span,
            count: self.count(span),
            duration: Duration::from_secs_f64(self.count(span).work as f64 / self.speed()),
        };
        lease.spans.iter().map(|leased| delta(leased.span)).collect()
    }
}

fn status(ledger: &Ledger, job: JobId) -> JobStatus {
    ledger.jobs().into_iter().find(|status| status.id == job).expect("jobs stay")
}

/// Returns the files of a directory, without the lock and the files that SQLite recreates.
pub(crate) fn files(dir: &Path) -> Files {
    let entries = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    let files = entries.map(|path| (name(&path), fs::read(&path).expect("readable")));
    files.filter(|(name, _)| ["queens.db", "queens.db-wal"].contains(&&name[..])).collect()
}

/// Creates a directory with these files.
pub(crate) fn directory(files: &Files) -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (name, bytes) in files {
        fs::write(dir.path().join(name), bytes).expect("writes");
    }
    dir
}
