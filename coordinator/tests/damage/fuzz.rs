//! Damages databases at random, and checks that none yields a wrong count.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, io, thread};

use queens_model::JobState;
use queens_solver::{Method, published};
use queens_store::sqlite::{RecoverError, audit, recover};

use crate::counting::{Board, Files, Refused, directory, files};
use crate::kinds::Kind;
use crate::random::Random;

/// A count whose files were copied at several points, with their logs.
pub(crate) struct Base {
    pub(crate) board: Board,
    /// Recorded shares of the work, and the files at that time.
    pub(crate) stages: Vec<(f64, Files)>,
}

impl Base {
    pub(crate) fn new(n: u8, method: Method) -> Self {
        let board = Board::new(n, method);
        let dir = tempfile::tempdir().expect("a temporary directory");
        let stages = std::cell::RefCell::new(Vec::<(f64, Files)>::new());
        let mut keep = |share: f64| {
            let last = stages.borrow().last().map_or(0.0, |(share, _)| *share);
            if share > last {
                stages.borrow_mut().push((share, files(dir.path())));
            }
        };
        // Twice, so that a part is in the database file itself.
        for share in [0.3, 1.0] {
            board.count_on(dir.path(), share, &mut keep).expect("nothing is wrong");
        }
        let done = board.count_on(dir.path(), 1.0, &mut |_| ()).expect("nothing is wrong");
        assert_eq!(Some(done.progress.solutions), published(board.n).map(|published| published.solutions));
        let stages = stages.into_inner();
        Self { board, stages }
    }
}

/// The result of damage to a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ending {
    /// The total is right, and the audit confirms it.
    Right,
    /// The total is right, and the audit misses records.
    RightButRefused,
    RefusedAtStart,
    RefusedLater,
}

impl Ending {
    const ALL: [Self; 4] = [Self::Right, Self::RightButRefused, Self::RefusedAtStart, Self::RefusedLater];
}

/// Returns the audited total of the board; `None` if the audit fails. It must not accept a wrong total.
fn check(board: &Board, dir: &Path) -> Option<u128> {
    let audits = audit(dir).inspect_err(|error| assert!(!error.to_string().is_empty())).ok()?;
    if audits.iter().any(|audit| audit.contradicted().is_some()) {
        return None;
    }
    let solutions = published(board.n).map(|published| published.solutions);
    for audit in &audits {
        assert!(
            !audit.is_complete() || audit.job.n != board.n || Some(audit.total) == solutions,
            "WRONG: the audit proves {audit:?}"
        );
    }
    Some(audits.iter().map(|audit| audit.total).sum())
}

/// Recovers the valid rows that SQLite can read, and continues with them; returns whether there were any.
fn save(bases: &[Base], damaged: &Files) -> bool {
    let (dir, new) = (directory(damaged), tempfile::tempdir().expect("a temporary directory"));
    let recovered = match recover(dir.path(), new.path()) {
        Ok(recovered) => recovered,
        // SQLite can't read its tables, or there is a view where a table was.
        Err(RecoverError::Nothing(_) | RecoverError::Store(_)) => return false,
        Err(error) => panic!("{error}"),
    };
    audit(new.path()).expect("what is saved proves itself");
    let n = recovered.jobs[0].job.n;
    // If two counts were mixed, it must be one of them.
    let base = bases.iter().find(|base| base.board.n == n).expect("one of those that were mixed");
    let job = base.board.count_on(new.path(), 1.0, &mut |_| ()).expect("it can be gone on with");
    assert_eq!(
        Some(job.progress.solutions),
        published(n).map(|published| published.solutions),
        "WRONG: {job:?}"
    );
    assert!(check(&base.board, new.path()).is_some(), "nothing contradicts");
    true
}

/// Continues with a damaged copy, and classifies the result.
fn attempt(base: &Base, damaged: &Files) -> (Ending, bool) {
    let accepted = check(&base.board, directory(damaged).path()).is_some();
    let dir = directory(damaged);
    let outcome = match base.board.count_on(dir.path(), 1.0, &mut |_| ()) {
        Err(Refused::AtStart(reason)) => {
            assert!(!reason.is_empty());
            Ending::RefusedAtStart
        }
        Err(Refused::Later(reason)) => {
            assert!(!reason.is_empty());
            Ending::RefusedLater
        }
        Ok(job) => {
            let solutions = published(base.board.n).map(|published| published.solutions);
            assert_eq!(job.state, JobState::Done, "{job:?}");
            assert_eq!(Some(job.progress.solutions), solutions, "WRONG: {job:?}");
            if check(&base.board, dir.path()).is_some() { Ending::Right } else { Ending::RightButRefused }
        }
    };
    (outcome, accepted)
}

fn number(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// The results of one kind of damage.
#[derive(Debug, Default)]
struct Tally {
    outcomes: BTreeMap<Ending, u64>,
    n_accepted: u64,
    n_saved: u64,
}

/// Damages files once, at random from `seed`.
fn strike(bases: &[Base], kind: Kind, seed: u64, tallies: &Mutex<BTreeMap<Kind, Tally>>) {
    let mut random = Random::new(seed);
    let which = usize::try_from(random.below(3)).expect("few");
    let (base, stranger) = (&bases[which], &bases[(which + 1) % bases.len()]);
    let n_stages = base.stages.len() as u64;
    // Half of them are finished, the others partly counted.
    let stage = if random.below(2) == 0 { n_stages - 1 } else { random.between(1, n_stages - 1) };
    let older = random.below(stage);
    let [stage, older] = [stage, older].map(|at| usize::try_from(at).expect("few"));
    let (share, sound) = &base.stages[stage];
    let stranger = &stranger.stages.last().expect("stages").1;
    let damaged = kind.strike(sound, &base.stages[older].1, stranger, &mut random);
    #[expect(clippy::print_stdout, reason = "the harness shows it if the test fails")]
    {
        println!("seed {seed}: {} at {share:.2} of n = {}", kind.name(), base.board.n);
    }
    let (outcome, was_accepted) = attempt(base, &damaged);
    let is_saved = outcome != Ending::Right && save(bases, &damaged);
    let mut tallies = tallies.lock().expect("nobody panics");
    let tally = tallies.entry(kind).or_default();
    *tally.outcomes.entry(outcome).or_default() += 1;
    tally.n_accepted += u64::from(was_accepted);
    tally.n_saved += u64::from(is_saved);
}

#[test]
fn no_damage_gives_a_wrong_total() {
    let (n_damages, seed) = (number("QUEENS_DAMAGES", 40), number("QUEENS_DAMAGE_SEED", 1));
    let boards = [(12, Method::Search), (13, Method::Halves), (14, Method::Search)];
    let bases: Vec<Base> = boards.map(|(n, method)| Base::new(n, method)).into();
    let (next, tallies) = (AtomicU64::new(0), Mutex::default());
    let strikes = || loop {
        let i = next.fetch_add(1, Ordering::Relaxed);
        if i >= n_damages {
            break;
        }
        let kind = Kind::ALL[usize::try_from(i).expect("few") % Kind::ALL.len()];
        strike(&bases, kind, seed + i, &tallies);
    };
    // The threads mostly wait for the disk.
    thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(strikes)));
    // Printed even if the test harness captures output.
    let tallies = tallies.into_inner().expect("nobody panics");
    writeln!(io::stderr(), "{}", table(&tallies)).expect("there is a stderr");
}

fn table(tallies: &BTreeMap<Kind, Tally>) -> String {
    let head = [
        "cases",
        "right",
        "right, check refuses",
        "refused at once",
        "refused later",
        "saved of those refused",
        "check accepts",
    ];
    let mut text = format!("{:<28}", "damage");
    head.iter().for_each(|head| text.push_str(&format!("  {head}")));
    let mut add = |name: &str, row: [u64; 7]| {
        text.push_str(&format!("\n{name:<28}"));
        head.iter().zip(row).for_each(|(head, n)| text.push_str(&format!("  {n:>0$}", head.len())));
    };
    let mut sums = [0; 7];
    for (kind, Tally { outcomes, n_accepted, n_saved }) in tallies {
        let counts = Ending::ALL.map(|outcome| outcomes.get(&outcome).copied().unwrap_or(0));
        let [right, evidence, start, later] = counts;
        let row = [counts.iter().sum(), right, evidence, start, later, *n_saved, *n_accepted];
        add(kind.name(), row);
        sums.iter_mut().zip(row).for_each(|(sum, n)| *sum += n);
    }
    add("all", sums);
    text + "\nwrong: 0"
}
