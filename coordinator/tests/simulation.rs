//! Runs the ledger's random histories on SQLite: reads what each crash leaves, and audits the result.

#[path = "../../crates/ledger/tests/simulation/mod.rs"]
mod simulation;

use std::fs;

use queens_ledger::store::{JobEntry, Store};
use queens_model::JobId;
use queens_solver::Plan;
use queens_store::sqlite::{SqliteStore, audit_against};
use simulation::disk::{Audited, RealDisk};
use tempfile::TempDir;

/// As many as take some seconds in a debug build.
const HISTORIES: u64 = 20;

#[test]
fn any_history_on_a_real_disk_ends_with_the_right_count() {
    let disk = || -> Box<dyn RealDisk> { Directory::open(TempDir::new().expect("a temporary directory")) };
    let test = "-p queens-coordinator --test simulation";
    simulation::any_history_ends_with_the_right_count(test, HISTORIES, 1, Some(disk));
}

/// A data directory. The store is closed before the directory is removed.
#[derive(Debug)]
struct Directory {
    store: SqliteStore,
    dir: TempDir,
}

impl Directory {
    fn open(dir: TempDir) -> Box<Self> {
        let store = SqliteStore::open(dir.path()).expect("a sound directory");
        Box::new(Self { store, dir })
    }
}

impl RealDisk for Directory {
    fn store(&mut self) -> &mut dyn Store {
        &mut self.store
    }

    fn crash(self: Box<Self>) -> Box<dyn RealDisk> {
        let remains = TempDir::new().expect("a temporary directory");
        for file in fs::read_dir(self.dir.path()).expect("a directory") {
            let file = file.expect("readable");
            // Shared memory does not survive a crash.
            if !file.file_name().to_string_lossy().ends_with("-shm") {
                fs::copy(file.path(), remains.path().join(file.file_name())).expect("copied");
            }
        }
        Self::open(remains)
    }

    fn audit(self: Box<Self>, plan: &dyn Fn(JobId) -> Plan) -> Vec<Audited> {
        let Self { store, dir } = *self;
        drop(store);
        let truth = |job: &JobEntry, _| Some(plan(job.id));
        let audits = audit_against(dir.path(), &truth).expect("nothing contradicts");
        let audited = |audit: queens_store::JobAudit| Audited {
            job: audit.job.id,
            phase: audit.job.phase,
            n_records: audit.n_records,
            is_complete: audit.is_complete(),
            total: audit.total,
            work: audit.work,
        };
        audits.into_iter().map(audited).collect()
    }
}
