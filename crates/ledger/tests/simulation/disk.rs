//! A store that can fail and fence its writers, and a model of its contents.

use std::fmt::Debug;

use queens_ledger::store::draw::{Draw, Drawn, Recorded};
use queens_ledger::store::lineage::Lineage;
use queens_ledger::store::memory::MemoryStore;
use queens_ledger::store::{Phase, Store, StoreError, Stored, Write};
use queens_model::JobId;
use queens_solver::{Plan, Span};

use super::contents::Contents;
use super::lead::{Fenced, Lead};
use super::puzzle::Puzzle;

/// A store that is checked.
#[derive(Debug)]
pub(crate) struct Disk {
    medium: Medium,
    pub(crate) contents: Contents,
    pub(crate) lead: Lead,
    /// The number of commits that will fail.
    pub(crate) n_failures: u64,
    /// Whether failing commits are durable all the same.
    pub(crate) fails_late: bool,
    /// The number of its current state, and of the last state that was made.
    state: i64,
    last_state: i64,
    /// An earlier state, if it was saved.
    backup: Option<Box<Backup>>,
}

/// The state of a disk at one moment.
#[derive(Debug)]
struct Backup {
    store: MemoryStore,
    contents: Contents,
    lead: Lead,
    state: i64,
}

/// A store that outlives the process that writes to it, on which histories are played.
pub(crate) trait RealDisk: Debug {
    /// Returns the store, open.
    fn store(&mut self) -> &mut dyn Store;

    /// Simulates a crash: the written data stays, without the clean-up of a store that is closed.
    fn crash(self: Box<Self>) -> Box<dyn RealDisk>;

    /// Returns the totals that the records alone prove, with `plan` as the plan of each job.
    fn audit(self: Box<Self>, plan: &dyn Fn(JobId) -> Plan) -> Vec<Audited>;
}

/// The totals of a job's records.
#[derive(Debug)]
pub(crate) struct Audited {
    pub(crate) job: JobId,
    pub(crate) phase: Phase,
    pub(crate) n_records: u64,
    pub(crate) is_complete: bool,
    pub(crate) total: u128,
    pub(crate) work: u128,
}

/// The store itself.
#[derive(Debug)]
enum Medium {
    Memory(MemoryStore),
    Real(Box<dyn RealDisk>),
}

impl Medium {
    fn store(&mut self) -> &mut dyn Store {
        match self {
            Self::Memory(store) => store,
            Self::Real(disk) => disk.store(),
        }
    }
}

/// Why a commit is not known to be written.
#[derive(Debug)]
pub(crate) enum CommitFailed {
    /// A retry may help.
    Failed,
    /// Another coordinator leads: nothing was written, and never will be.
    Fenced,
}

impl From<Fenced> for CommitFailed {
    fn from(_: Fenced) -> Self {
        Self::Fenced
    }
}

impl Disk {
    /// Creates an empty disk: a real one, or a model in memory, which is much faster.
    pub(crate) fn new(real: Option<Box<dyn RealDisk>>) -> Self {
        let medium = real.map_or_else(|| Medium::Memory(MemoryStore::default()), Medium::Real);
        let (contents, lead) = (Contents::default(), Lead::default());
        let mut disk = Self {
            medium,
            contents,
            lead,
            n_failures: 0,
            fails_late: false,
            state: 0,
            last_state: 0,
            backup: None,
        };
        disk.back_up();
        disk
    }

    /// Saves the current state, unless the disk is real.
    pub(crate) fn back_up(&mut self) -> bool {
        let Medium::Memory(store) = &self.medium else { return false };
        let (store, contents, lead) = (store.clone(), self.contents.clone(), self.lead.clone());
        self.backup = Some(Box::new(Backup { store, contents, lead, state: self.state }));
        true
    }

    /// Restores the last saved state, including the lead, as a restored database does.
    pub(crate) fn go_back(&mut self) -> bool {
        let Some(Backup { store, contents, lead, state }) = self.backup.as_deref() else { return false };
        if *state == self.state {
            return false;
        }
        self.medium = Medium::Memory(store.clone());
        (self.contents, self.state) = (contents.clone(), *state);
        self.lead.put_back(lead);
        true
    }

    /// Returns the lineage that a coordinator starts with.
    pub(crate) fn lineage(&self) -> Lineage {
        let mut lineage = Lineage::default();
        lineage.begin(self.state);
        lineage
    }

    /// Confirms that a coordinator still leads, and continues from the state that it has left.
    pub(crate) fn confirm(&self, epoch: u64, lineage: &mut Lineage) -> Result<(), Fenced> {
        self.lead.hold(epoch)?;
        if lineage.known().is_none() {
            lineage.settle(self.state).map_err(|_| Fenced)?;
        }
        if lineage.known() == Some(self.state) { Ok(()) } else { Err(Fenced) }
    }

    /// Loads the stored data after a crash.
    pub(crate) fn load(&mut self) -> Stored {
        self.medium = match std::mem::replace(&mut self.medium, Medium::Memory(MemoryStore::default())) {
            Medium::Real(disk) => Medium::Real(disk.crash()),
            memory => memory,
        };
        self.medium.store().load().expect("it can be read")
    }

    /// Audits the records of a real disk, and closes it.
    pub(crate) fn audit(&mut self, puzzles: &[Puzzle]) -> Vec<Audited> {
        let contents = &self.contents;
        match std::mem::replace(&mut self.medium, Medium::Memory(MemoryStore::default())) {
            Medium::Real(disk) => disk.audit(&|job| contents.puzzle(puzzles, job).plan.clone()),
            Medium::Memory(_) => Vec::new(),
        }
    }

    /// Commits one transaction of the coordinator that took the lead in this epoch.
    pub(crate) fn commit(
        &mut self,
        puzzles: &[Puzzle],
        epoch: u64,
        lineage: &mut Lineage,
        writes: &[Write],
    ) -> Result<(), CommitFailed> {
        self.confirm(epoch, lineage)?;
        self.last_state += 1;
        lineage.attempt(self.last_state);
        if self.n_failures > 0 {
            self.n_failures -= 1;
            if self.fails_late {
                self.apply(puzzles, writes);
                self.state = self.last_state;
            }
            return Err(CommitFailed::Failed);
        }
        self.apply(puzzles, writes);
        self.state = self.last_state;
        lineage.succeed();
        Ok(())
    }

    fn apply(&mut self, puzzles: &[Puzzle], writes: &[Write]) {
        self.medium.store().commit(writes).expect("jobs are written before what belongs to them");
        self.contents.apply(puzzles, writes);
    }

    /// Looks up a record for the leader. A read may fail only if the store is in another state than expected.
    pub(crate) fn find(
        &mut self,
        epoch: u64,
        lineage: &mut Lineage,
        job: JobId,
        span: Span,
    ) -> Result<Option<Recorded>, Fenced> {
        let found = self.medium.store().find(job, span);
        self.readable(epoch, lineage, found)
    }

    /// The same for a draw.
    pub(crate) fn draw(&mut self, epoch: u64, lineage: &mut Lineage, draw: &Draw) -> Result<Drawn, Fenced> {
        let drawn = self.medium.store().draw(draw);
        self.readable(epoch, lineage, drawn)
    }

    fn readable<T>(
        &self,
        epoch: u64,
        lineage: &mut Lineage,
        answer: Result<T, StoreError>,
    ) -> Result<T, Fenced> {
        if answer.is_err() {
            self.confirm(epoch, lineage)?;
        }
        Ok(answer.expect("it can be read"))
    }

    /// Returns the contents that a coordinator knows: the durable ones, or those at the time when it lost the lead.
    pub(crate) fn as_of<'a>(&'a self, past: Option<&'a Contents>) -> &'a Contents {
        past.unwrap_or(&self.contents)
    }
}
