//! Fuzzes data directories, changed by somebody else or a broken disk.

mod asked;
mod digests;
mod directory;
mod edits;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use queens_ledger::store::{JobEntry, Store, StoreError, Stored};
use queens_ledger::{Ledger, Run};
use queens_model::{HalvesSkill, Hello, Name, Party, Share, Speed, WorkerId};
use queens_solver::{BoardSize, Method, Pass, Plan, published};
use queens_store::Archive;
use queens_store::sqlite::{RecoverError, SqliteStore, audit_against, audit_file, recover};

use self::asked::{MOST_PLANNED, draw};
use self::directory::DATABASE;
pub(super) use self::directory::Directory;
use crate::outcome::Outcome;

/// Applies the input's changes to a directory that a program left, and runs every operation on it.
pub(crate) fn run(input: &[u8]) -> Outcome {
    let dir = Directory::new("damaged");
    edits::make(input, &dir);
    let before = dir.contents();
    // Each runs first on its own copy, so that an earlier one has not repaired it.
    let is_read = audit_file(&dir.path().join(DATABASE)).map_err(|error| reason(&error)).is_ok();
    check_unchanged(&dir, &before);
    save(&dir, &before);
    go_on(&dir);
    dir.restore(&before);
    let audits = audit_against(dir.path(), &recomputed).map_err(|error| reason(&error));
    for audit in audits.iter().flatten() {
        let total = published(audit.job.n).map(|known| known.solutions);
        let is_whole = audit.is_complete() && audit.job.terms.part_range.is_none();
        // A count that awaits a recount may still be wrong.
        let is_final = audit.job.terms.recount == Share::NOTHING;
        // A deceiver who makes digests fit can falsify counts, but the audit reports them.
        let is_told = audit.contradicted().is_some();
        assert!(!is_whole || !is_final || is_told || Some(audit.total) == total, "WRONG: {audit:?}");
    }
    Outcome::of(is_read || audits.is_ok())
}

/// Checks the reason of a refusal: it is not empty, and nobody retries for ever.
fn reason(error: &StoreError) {
    assert!(!error.to_string().is_empty() && !error.may_heal(), "{error:?}");
}

/// Returns the true values of a board, whose plan is made once.
fn recomputed(job: &JobEntry, pass: Pass) -> Option<Plan> {
    type Plans = Mutex<Vec<((BoardSize, Method, bool), Plan)>>;
    static PLANS: Plans = Mutex::new(Vec::new());
    let is_second = pass == Pass::Second;
    if job.n.get() > MOST_PLANNED || is_second && job.method != Method::Search {
        return None;
    }
    let (key, never) = ((job.n, job.method, is_second), AtomicBool::new(false));
    let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
    let plan = match plans.iter().find(|(known, _)| *known == key) {
        Some((_, plan)) => plan.clone(),
        None => {
            let make = if is_second { Plan::second } else { Plan::new };
            let plan = make(job.n, job.method, NonZeroUsize::MIN, &never)?;
            plans.push((key, plan.clone()));
            plan
        }
    };
    Some(plan)
}

/// Saves the records that prove themselves, and proves them again. The damaged directory stays unchanged.
fn save(dir: &Directory, before: &BTreeMap<String, Vec<u8>>) {
    let new = Directory::new("saved");
    match recover(dir.path(), new.path()) {
        Ok(_) => {
            audit_against(new.path(), &recomputed)
                .unwrap_or_else(|error| panic!("the saved directory: {error}"));
        }
        Err(RecoverError::Nothing(_) | RecoverError::Store(_)) => assert!(new.contents().is_empty()),
        Err(RecoverError::Unwritable { reason, .. }) => assert!(!reason.is_empty()),
        Err(error) => panic!("{error}"),
    }
    check_unchanged(dir, before);
}

/// Checks that the database is unchanged, whatever SQLite did to the files beside it.
fn check_unchanged(dir: &Directory, before: &BTreeMap<String, Vec<u8>>) {
    assert!(before.get(DATABASE) == Some(&dir.read(DATABASE)), "what is only looked at was changed");
}

/// Continues with it like a coordinator to which a worker connects.
fn go_on(dir: &Directory) {
    let before = dir.contents();
    let mut store = match SqliteStore::open(dir.path()) {
        Ok(store) => store.with_history(),
        Err(error) => {
            reason(&error);
            if matches!(error, StoreError::Version { .. }) {
                check_unchanged(dir, &before);
            }
            return;
        }
    };
    let past = store.history().map(|mut history| history.load());
    assert!(past.is_some_and(|past| past.curves.len() < 1 << 16 && past.events.len() < 1 << 16));
    let stored = match store.load() {
        Ok(stored) => stored,
        Err(error) => return reason(&error),
    };
    assert_eq!(store.load().expect("it was read"), stored);
    look_at_records(&mut store, &stored);
    match Ledger::restore(stored, Run::new(1)) {
        Ok(ledger) => serve(ledger),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Queries the records, and draws some for a recount.
fn look_at_records(store: &mut SqliteStore, stored: &Stored) {
    let program = Name::of_any("0.1.0");
    let records = store.records().expect("it has records");
    for job in stored.jobs.iter().take(8) {
        let id = job.entry.id;
        _ = records.contributions(id, None).map_err(|error| reason(&error));
        _ = records.verdicts(id, 0, 100).map_err(|error| reason(&error));
        if job.entry.n.get() <= MOST_PLANNED {
            _ = records.export(id, &program, &mut Vec::new()).map_err(|error| error.to_string());
        }
        _ = store.draw(&draw(id)).map_err(|error| reason(&error));
    }
}

/// Grants leases to a worker for some time.
fn serve(mut ledger: Ledger) {
    let name = || Name::of_any("anna");
    let hello = Hello {
        worker: WorkerId(1),
        name: name(),
        build: name(),
        kernel: name(),
        n_threads: 2,
        speed: Speed::from(1_000_000),
        decomposition: Method::Search.decomposition(),
        halves: HalvesSkill { decomposition: 0, speed: Speed::ZERO },
        machine: 1,
        held: Vec::new(),
    };
    assert!(ledger.jobs().iter().all(|job| (0.0..=1.0).contains(&job.fraction())));
    let party = Party::of_name(&hello.name);
    ledger.connect(Duration::ZERO, hello, party).expect("accepted");
    for second in 0..3 {
        ledger.tick(Duration::from_secs(second));
        _ = (ledger.take_effects(), ledger.jobs(), ledger.workers());
    }
}
