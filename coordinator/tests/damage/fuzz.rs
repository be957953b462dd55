//! Databases damaged at random: none gives a wrong number.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::{env, io};

use queens_coordinator::store::sqlite::audit;
use queens_proto::JobState;
use queens_solver::published;

use crate::counting::{Board, Files, Refused, directory, files};
use crate::kinds::Kind;
use crate::random::Random;

/// A count whose files were kept at several points, with their logs.
pub(crate) struct Base {
    pub(crate) board: Board,
    /// Shares of the work, and the files then.
    pub(crate) stages: Vec<(f64, Files)>,
}

impl Base {
    pub(crate) fn new(n: u8) -> Self {
        let board = Board::new(n);
        let dir = tempfile::tempdir().expect("a temporary directory");
        let stages = std::cell::RefCell::new(Vec::<(f64, Files)>::new());
        let mut keep = |share: f64| {
            let last = stages.borrow().last().map_or(0.0, |(share, _)| *share);
            if share > last {
                stages.borrow_mut().push((share, files(dir.path())));
            }
        };
        // Twice, so that part is in the database itself.
        for share in [0.3, 1.0] {
            board.count_on(dir.path(), share, &mut keep).expect("nothing is wrong");
        }
        let done = board.count_on(dir.path(), 1.0, &mut |_| ()).expect("nothing is wrong");
        assert_eq!(Some(done.progress.solutions), published(board.n).map(|published| published.solutions));
        let stages = stages.into_inner();
        Self { board, stages }
    }
}

/// What became of a damaged directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// The total is right, and an audit says so.
    Right,
    /// The total is right, and an audit finds evidence missing.
    RightButRefused,
    RefusedAtStart,
    RefusedLater,
}

impl Outcome {
    const ALL: [Self; 4] = [Self::Right, Self::RightButRefused, Self::RefusedAtStart, Self::RefusedLater];
}

/// What the audit of a directory says about the board; `None` if it refuses. It must not accept a wrong total.
fn check(board: &Board, dir: &Path) -> Option<u128> {
    let audits = audit(dir).inspect_err(|error| assert!(!error.to_string().is_empty())).ok()?;
    let solutions = published(board.n).map(|published| published.solutions);
    for audit in &audits {
        assert!(
            !audit.is_complete() || audit.job.n != board.n || Some(audit.total) == solutions,
            "WRONG: the audit proves {audit:?}"
        );
    }
    Some(audits.iter().map(|audit| audit.total).sum())
}

/// Damages a copy, goes on with it and judges what comes of it.
fn attempt(base: &Base, damaged: &Files) -> (Outcome, bool) {
    let accepted = check(&base.board, directory(damaged).path()).is_some();
    let dir = directory(damaged);
    let outcome = match base.board.count_on(dir.path(), 1.0, &mut |_| ()) {
        Err(Refused::AtStart(reason)) => {
            assert!(!reason.is_empty());
            Outcome::RefusedAtStart
        }
        Err(Refused::Later(reason)) => {
            assert!(!reason.is_empty());
            Outcome::RefusedLater
        }
        Ok(job) => {
            let solutions = published(base.board.n).map(|published| published.solutions);
            assert_eq!(job.state, JobState::Done);
            assert_eq!(Some(job.progress.solutions), solutions, "WRONG: {job:?}");
            if check(&base.board, dir.path()).is_some() { Outcome::Right } else { Outcome::RightButRefused }
        }
    };
    (outcome, accepted)
}

fn number(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn no_damage_gives_a_wrong_total() {
    let (n_damages, seed) = (number("QUEENS_DAMAGES", 300), number("QUEENS_DAMAGE_SEED", 1));
    let bases: Vec<Base> = [12, 13, 14].into_iter().map(Base::new).collect();
    let mut random = Random::new(seed);
    let mut outcomes: BTreeMap<Kind, BTreeMap<Outcome, u64>> = BTreeMap::new();
    let mut accepted: BTreeMap<Kind, u64> = BTreeMap::new();
    for i in 0..n_damages {
        let kind = Kind::ALL[usize::try_from(i).expect("few") % Kind::ALL.len()];
        let which = usize::try_from(random.below(3)).expect("few");
        let (base, stranger) = (&bases[which], &bases[(which + 1) % bases.len()]);
        let n_stages = base.stages.len() as u64;
        // Half of them finished, the others somewhere on the way.
        let stage = if random.below(2) == 0 { n_stages - 1 } else { random.between(1, n_stages - 1) };
        let older = random.below(stage);
        let [stage, older] = [stage, older].map(|at| usize::try_from(at).expect("few"));
        let (sound, older) = (&base.stages[stage].1, &base.stages[older].1);
        let stranger = &stranger.stages.last().expect("stages").1;
        let damaged = kind.strike(sound, older, stranger, &mut random);
        let share = base.stages[stage].0;
        #[expect(clippy::print_stdout, reason = "the harness shows it if the test fails")]
        {
            println!("damage {i} of seed {seed}: {} at {share:.2} of n = {}", kind.name(), base.board.n);
        }
        let (outcome, was_accepted) = attempt(base, &damaged);
        *outcomes.entry(kind).or_default().entry(outcome).or_default() += 1;
        *accepted.entry(kind).or_default() += u64::from(was_accepted);
    }
    // Shown whether or not the harness shows what tests print.
    writeln!(io::stderr(), "{}", table(&outcomes, &accepted)).expect("there is a stderr");
}

fn table(table: &BTreeMap<Kind, BTreeMap<Outcome, u64>>, accepted: &BTreeMap<Kind, u64>) -> String {
    let head =
        ["cases", "right", "right, check refuses", "refused at once", "refused later", "check accepts"];
    let mut text = format!("{:<28}", "damage");
    head.iter().for_each(|head| text.push_str(&format!("  {head}")));
    let mut add = |name: &str, row: [u64; 6]| {
        text.push_str(&format!("\n{name:<28}"));
        head.iter().zip(row).for_each(|(head, n)| text.push_str(&format!("  {n:>0$}", head.len())));
    };
    let mut sums = [0; 6];
    for (kind, outcomes) in table {
        let counts = Outcome::ALL.map(|outcome| outcomes.get(&outcome).copied().unwrap_or(0));
        let [right, evidence, start, later] = counts;
        let row = [counts.iter().sum(), right, evidence, start, later, accepted[kind]];
        add(kind.name(), row);
        sums.iter_mut().zip(row).for_each(|(sum, n)| *sum += n);
    }
    add("all", sums);
    text + "\nwrong: 0"
}
