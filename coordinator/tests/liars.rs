//! Runs the ledger's histories with lying workers on SQLite, which must answer like the store in memory.

#[allow(dead_code, reason = "the ledger's own test uses all of it")]
#[path = "../../crates/ledger/tests/liars/nature.rs"]
mod nature;
#[allow(dead_code, reason = "the simulation uses all of it")]
#[path = "../../crates/ledger/tests/simulation/random.rs"]
mod random;
#[allow(dead_code, reason = "the ledger's own test uses all of it")]
#[path = "../../crates/ledger/tests/liars/world.rs"]
mod world;

use std::path::Path;

use nature::Nature;
use queens_ledger::store::Phase;
use queens_model::JobId;
use queens_solver::Plan;
use queens_store::Archive;
use queens_store::sqlite::{SqliteStore, audit_against};
use random::Random;
use tempfile::TempDir;
use world::World;

/// As many as take some seconds in a debug build.
const HISTORIES: u64 = 6;

/// Checks that the pages of verdicts contain all of them.
fn check_told(dir: &Path, jobs: &[JobId], n_verdicts: usize) {
    let store = SqliteStore::open(dir).expect("a sound directory");
    let records = store.records().expect("it keeps them");
    let mut told = 0;
    for &job in jobs {
        for offset in (0..).step_by(7) {
            let page = records.verdicts(job, offset, 7).expect("it can be read");
            told += page.len();
            assert!(page.iter().all(|verdict| verdict.lost != verdict.count));
            if page.is_empty() {
                break;
            }
        }
    }
    assert_eq!(told, n_verdicts);
}

#[test]
fn what_liars_leave_on_a_real_disk_proves_itself() {
    for seed in 1..=HISTORIES {
        let dir = TempDir::new().expect("a temporary directory");
        let mut random = Random::new(seed);
        let mut world = World::new(random.fork());
        world.mirror = Some(Box::new(SqliteStore::open(dir.path()).expect("a new directory")));
        world.submit(1_000_000);
        world.submit(200_000);
        world.submit_twice(0);
        for liar in 0..2 {
            let nature = Nature::random(&mut random, liar);
            world.recruit(&format!("liar {liar}"), nature);
            world.recruit(&format!("liar {liar}, name 1"), nature);
        }
        world.recruit("honest 0", Nature::Honest);
        world.crashes = true;
        for _ in 0..200 {
            world.step();
        }
        world.crashes = false;
        for honest in 10..13 {
            world.recruit(&format!("honest {honest}"), Nature::Honest);
        }
        world.finish();
        world.check_sums();
        world.check_opinions();
        let plan = Plan::clone(&world.plan);
        let totals: Vec<u128> = world.jobs().iter().map(|&job| world.job(job).progress.solutions).collect();
        let (jobs, n_verdicts) = (world.jobs().to_vec(), world.n_verdicts());
        drop(world);
        check_told(dir.path(), &jobs, n_verdicts);
        let truth = |_: &_, _| Some(plan.clone());
        let audits = audit_against(dir.path(), &truth).expect("nothing contradicts");
        assert_eq!(audits.iter().map(|audit| audit.total).collect::<Vec<_>>(), totals, "seed {seed}");
        assert!(audits.iter().all(|audit| audit.is_complete() && audit.job.phase == Phase::Done));
    }
}
