//! Tests certificates of jobs, including parts of boards, second passes, second counts and verdicts.

use std::fs::File;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use queens_certificate::{Agreement, Extent, Options, PartyDigest, Refusal, Report, Sample, check};
use queens_ledger::store::{
    Coverage, JobEntry, Phase, Record, SecondCount, Source, Store, StoreError, Verdict, Write,
};
use queens_model::{Arbiter, JobId, LeaseId, Name, PartRange, Party, Share, Terms};
use queens_solver::{BoardSize, Choice, Count, Kernel, Method, Plan, Span};
use queens_store::certificate::ExportError;
use queens_store::sqlite::{SqliteStore, audit, export_to, note_exported, recover};
use rusqlite::Connection;
use tempfile::TempDir;

const N: u8 = 9;

/// Maximal subproblems of a record.
const STEP: u64 = 5;

static NEVER: AtomicBool = AtomicBool::new(false);

fn size() -> BoardSize {
    BoardSize::new(N).expect("a board size")
}

fn plan(method: Method, is_second: bool) -> Plan {
    let make = if is_second { Plan::second } else { Plan::new };
    make(size(), method, NonZeroUsize::MIN, &NEVER).expect("nobody stops it")
}

fn source(name: &str) -> Arc<Source> {
    let name_of = |text: &str| text.parse().expect("a name");
    let party = Party::of_name(&name_of(name));
    Arc::new(Source { name: name_of(name), build: name_of("0.1.0"), kernel: name_of("portable"), party })
}

fn second_count(record: &Record, count: Count, name: &str) -> SecondCount {
    let (span, duration) = (record.span, record.duration);
    SecondCount { span, count, duration, source: source(name), at_ms: 1_800_000_000_000 }
}

/// A finished job with its terms.
struct Job {
    id: JobId,
    plan: Plan,
    terms: Terms,
    phase: Phase,
}

impl Job {
    fn new(id: u64, method: Method) -> Self {
        let terms = Terms { seed: 7, ..Terms::default() };
        Self { id: JobId(id), plan: plan(method, false), terms, phase: Phase::Done }
    }

    /// Returns the job as the second pass of job 1, whose method is `first`.
    fn second_of(self, first: Method) -> Self {
        let plan = plan(self.plan.method(), self.plan.method() == first);
        Self { plan, terms: Terms { second_of: Some(JobId(1)), ..self.terms }, ..self }
    }

    fn parts(self, parts: Range<u32>) -> Self {
        let part_range = Some(PartRange::new(parts.start, parts.end).expect("not empty"));
        Self { terms: Terms { part_range, ..self.terms }, ..self }
    }

    fn entry(&self) -> JobEntry {
        let (phase, terms) = (self.phase, self.terms);
        JobEntry { phase, terms, ..JobEntry::new(self.id, size(), self.plan.method(), 1_800_000_000_000) }
            .identified()
    }

    /// Returns all writes of the job, counted by this name.
    fn writes(&self, name: &str) -> Vec<Write> {
        let job = self.id;
        let choices: Vec<Choice> = self.plan.parts().iter().map(|part| *part.choice()).collect();
        let mut writes = vec![Write::Job(self.entry()), Write::Plan { job, choices }];
        for (part, planned) in (0..).zip(self.plan.parts()) {
            if self.terms.part_range.is_some_and(|parts| !parts.contains(part)) {
                continue;
            }
            let (mut coverage, n) = (Coverage::default(), planned.choice().n_subproblems);
            for from in (0..n).step_by(usize::try_from(STEP).expect("small")) {
                let until = (from + STEP).min(n);
                let count = planned.subproblems().count(from..until, Kernel::Portable, &NEVER);
                let (count, span) = (count.expect("nobody stops it"), Span::new(part, from, until));
                let span = span.expect("not empty");
                let duration = Duration::from_micros(500);
                let record = Record { span, count, duration, lease: LeaseId(1), source: source(name) };
                coverage.recorded.insert(from..until);
                coverage.solutions += u128::from(count.solutions);
                coverage.work += u128::from(count.work);
                writes.push(Write::Record { job, record });
            }
            let change = coverage.change(coverage.recorded.ranges().map(|range| range.start));
            writes.push(Write::Coverage { job, part, change });
        }
        writes
    }
}

/// Returns the records among writes.
fn records(writes: &[Write]) -> Vec<Record> {
    let record = |write: &Write| match write {
        Write::Record { record, .. } => Some(record.clone()),
        _ => None,
    };
    writes.iter().filter_map(record).collect()
}

fn dir_of(writes: &[Write]) -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    SqliteStore::open(dir.path()).expect("opens").commit(writes).expect("commits");
    dir
}

fn export(dir: &Path, job: u64) -> Result<File, ExportError> {
    let out = tempfile::tempdir().expect("a temporary directory");
    let file = out.path().join("certificate");
    export_to(dir, JobId(job), &Name::of_any("0.1.0"), &file)?;
    Ok(File::open(&file).expect("it is there"))
}

fn checked(dir: &Path, job: u64) -> Result<Report, Refusal> {
    let file = export(dir, job).expect("it can be exported");
    let sample = Some(Sample { extent: Extent::Share(1.0), seed: 1 });
    let n_threads = NonZeroUsize::MIN;
    check(
        file,
        &Options { keys: &[], sample, long: false, kernel: Kernel::best(), n_threads, stop: &NEVER },
        &|_| {},
    )
}

#[test]
fn a_second_pass_is_in_the_certificate_of_its_job() {
    for (first, second, agreement) in [
        (Method::Search, Method::Search, Agreement::EachCross { n_by_one: 0 }),
        (Method::Halves, Method::Search, Agreement::Whole),
        (Method::Search, Method::Halves, Agreement::Whole),
    ] {
        let jobs = [Job::new(1, first), Job::new(2, second).second_of(first)];
        let dir = dir_of(&[jobs[0].writes("anna"), jobs[1].writes("bert")].concat());
        let report = checked(dir.path(), 1).expect("it holds");
        assert_eq!((report.solutions, report.fundamental), (352, Some(46)));
        assert_eq!(report.parts[0].agreement, agreement);
        assert!(matches!(export(dir.path(), 2), Err(ExportError::Second(JobId(2), JobId(1)))));
    }
}

/// The export of a job is noted for good, even without a running coordinator.
#[test]
fn a_directory_knows_what_is_exported_of_it() {
    let jobs = [Job::new(1, Method::Search), Job::new(2, Method::Search).second_of(Method::Search)];
    let other = Job::new(3, Method::Search);
    let dir = dir_of(&[jobs[0].writes("anna"), jobs[1].writes("bert"), other.writes("anna")].concat());
    let dates = || {
        let stored = SqliteStore::open(dir.path()).expect("opens").load().expect("is in order");
        stored.jobs.iter().map(|job| job.entry.terms.exported_ms).collect::<Vec<_>>()
    };
    assert_eq!(dates(), [None; 3]);
    let coordinator = SqliteStore::open(dir.path()).expect("opens");
    assert!(matches!(note_exported(dir.path(), JobId(1)), Err(StoreError::InUse(_))));
    drop(coordinator);
    note_exported(dir.path(), JobId(1)).expect("noted");
    let noted = dates();
    assert!(noted[0].is_some() && noted[0] == noted[1] && noted[2].is_none(), "{noted:?}");
    note_exported(dir.path(), JobId(1)).expect("noted before");
    assert_eq!(dates(), noted);
    assert!(checked(dir.path(), 1).is_ok());
}

/// The certificate reports a name that has counted a cross in both passes.
#[test]
fn one_name_in_both_passes_is_noticed() {
    let jobs = [Job::new(1, Method::Search), Job::new(2, Method::Search).second_of(Method::Search)];
    let dir = dir_of(&jobs.each_ref().map(|job| job.writes("anna")).concat());
    let report = checked(dir.path(), 1).expect("it holds");
    let n_by_one = report.n_crosses;
    assert_eq!(report.parts[0].agreement, Agreement::EachCross { n_by_one });
}

#[test]
fn second_counts_and_verdicts_are_in_the_certificate() {
    let mut job = Job::new(1, Method::Halves);
    job.terms.recount = Share::ALL;
    let mut writes = job.writes("anna");
    for (i, record) in records(&writes).into_iter().enumerate() {
        let (job, right) = (job.id, record.count);
        let wrong = Count { solutions: right.solutions + 1, work: right.work };
        let again = |count, name: &str| Write::SecondCount { job, count: second_count(&record, count, name) };
        writes.push(again(right, "bert"));
        match i {
            // Carl's count of a record of Anna's was wrong.
            0 => {
                writes.push(again(wrong, "carl"));
                writes.push(Write::Verdict { job, verdict: verdict(&record, wrong, "carl", "anna") });
            }
            // Carl's record was wrong. Dora's count has replaced it, and the row of her second count stays.
            1 => {
                writes.push(again(right, "dora"));
                writes.push(Write::Verdict { job, verdict: verdict(&record, wrong, "carl", "dora") });
                writes.push(Write::Record { job, record: Record { source: source("dora"), ..record } });
            }
            // A verdict on another span, from when this one was shorter, says nothing about it.
            2 => {
                let (from, until) = (record.span.from(), record.span.to() - 1);
                let span = Span::new(record.span.part(), from, until).expect("not empty");
                let shorter = SecondCount { span, ..second_count(&record, wrong, "carl") };
                writes.push(Write::SecondCount { job, count: shorter });
            }
            _ => {}
        }
    }
    let dir = dir_of(&writes);
    let report = checked(dir.path(), 1).expect("it holds");
    let [pass] = &report.parts[0].passes[..] else { panic!("one pass") };
    assert_eq!((pass.n_confirmed, pass.n_verdicts), (pass.total.n_records, 2));
    let losers: Vec<&str> = report.parts[0].losers.iter().map(|loser| loser.name.as_str()).collect();
    assert_eq!(losers, ["carl"]);
    assert_eq!(report.parts[0].header.passes[0].recount_ppm, 1_000_000);
}

/// The certificate names the only party that may recount; confirmations by others are not sufficient.
#[test]
fn who_alone_counts_again_is_in_the_certificate() {
    let directory = |name: &str| {
        let mut job = Job::new(1, Method::Search);
        let party = Party::of_name(&name.parse().expect("a name"));
        (job.terms.recount, job.terms.recount_by) = (Share::ALL, Some(Arbiter { party, invitation: None }));
        let mut writes = job.writes("anna");
        for record in records(&writes) {
            let count = second_count(&record, record.count, "bert");
            writes.push(Write::SecondCount { job: job.id, count });
        }
        (dir_of(&writes), job.entry().identity)
    };
    let (dir, identity) = directory("bert");
    let report = checked(dir.path(), 1).expect("it holds");
    let ([said], [pass]) = (&report.parts[0].header.passes[..], &report.parts[0].passes[..]) else {
        panic!("one pass")
    };
    assert_eq!((said.identity, pass.n_confirmed), (identity, pass.total.n_records));
    let bert = PartyDigest::of(source("bert").party, said.seed);
    assert_eq!((said.recount_by, pass.n_by_one), (Some(bert), 0));
    // Others confirm Anna's own counts.
    assert!(checked(directory("anna").0.path(), 1).is_ok());
    refused(directory("carl").0.path(), "the party that was named for that has not confirmed it");
}

fn verdict(record: &Record, lost: Count, loser: &str, winner: &str) -> Verdict {
    let (span, count) = (record.span, record.count);
    let (source, lost_source) = (source(winner), source(loser));
    Verdict { span, number: 0, at_ms: 1_800_000_000_001, count, source, lost, lost_source }
}

#[test]
fn a_record_that_was_to_be_counted_again_and_was_not_is_noticed() {
    let mut job = Job::new(1, Method::Search);
    job.terms.recount = Share::ALL;
    let dir = dir_of(&job.writes("anna"));
    refused(dir.path(), "was drawn to be counted again");
}

/// Checks that both the export and the audit refuse the directory.
#[track_caller]
fn refused(dir: &Path, expected: &str) {
    let exported = export(dir, 1).expect_err("it is not exported").to_string();
    assert!(exported.contains(expected), "export: {exported}");
    let audited = audit(dir).expect_err("it is not in order").to_string();
    assert!(audited.contains(expected), "audit: {audited}");
}

#[test]
fn rows_that_are_missing_are_noticed() {
    let mut first = Job::new(1, Method::Search);
    first.terms.recount = Share::ALL;
    let second = Job::new(2, Method::Search).second_of(Method::Search);
    let mut writes = first.writes("anna");
    for (i, record) in records(&writes).into_iter().enumerate() {
        let (job, right) = (first.id, record.count);
        writes.push(Write::SecondCount { job, count: second_count(&record, right, "bert") });
        for (number, name) in (0..3).zip(["carl", "dora", "emil"]).filter(|_| i == 0) {
            let wrong = Count { solutions: right.solutions + 1, work: right.work };
            writes.push(Write::SecondCount { job, count: second_count(&record, wrong, name) });
            let verdict = Verdict { number, ..verdict(&record, wrong, name, "anna") };
            writes.push(Write::Verdict { job, verdict });
        }
    }
    writes.extend(second.writes("fred"));
    for (sql, expected) in [
        ("", ""),
        ("UPDATE job SET second_of = NULL WHERE id = 2", "digest"),
        ("DELETE FROM job WHERE id = 2", "job"),
        ("DELETE FROM record WHERE job = 2 AND part = 3", "without a record"),
        ("DELETE FROM coverage_range WHERE job = 2 AND part = 3", "coverage of job 2, part 3"),
        ("DELETE FROM second_count WHERE part = 3 AND first = 0", "was drawn to be counted again"),
        ("DELETE FROM second_count", "was drawn to be counted again"),
        ("DELETE FROM verdict WHERE number = 1", "one is missing"),
        ("DELETE FROM verdict WHERE number = 2", "nothing is decided"),
        ("DELETE FROM verdict", "nothing is decided"),
    ] {
        let dir = dir_of(&writes);
        if sql.is_empty() {
            assert!(checked(dir.path(), 1).is_ok() && audit(dir.path()).is_ok());
            continue;
        }
        let connection = Connection::open(dir.path().join("queens.db")).expect("opens");
        connection.execute_batch(&format!("PRAGMA foreign_keys = OFF; {sql};")).expect("deletes");
        drop(connection);
        refused(dir.path(), expected);
        // The recovered directory is consistent, and can be continued.
        let new = tempfile::tempdir().expect("a temporary directory");
        recover(dir.path(), new.path()).expect("most of it proves itself");
        if let Err(error) = audit(new.path()) {
            panic!("after '{sql}': {error}");
        }
    }
}

#[test]
fn parts_of_boards_are_exported_as_parts() {
    let dir = dir_of(&Job::new(1, Method::Search).parts(3..20).writes("anna"));
    let report = checked(dir.path(), 1).expect("it holds");
    assert_eq!((report.crosses, report.fundamental), (3..20, None));
}

#[test]
fn what_is_not_done_is_not_exported() {
    for phase in [Phase::Planning, Phase::Active, Phase::Cancelled] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let job = Job { phase, ..Job::new(1, Method::Search) };
        let mut store = SqliteStore::open(dir.path()).expect("opens");
        store.commit(&[Write::Job(job.entry())]).expect("commits");
        assert!(matches!(export(dir.path(), 1), Err(ExportError::NotDone(_))), "{phase:?}");
        assert!(matches!(export(dir.path(), 2), Err(ExportError::Unknown(JobId(2)))));
    }
    // Nor is a job whose second pass is not finished.
    let open = Job { phase: Phase::Active, ..Job::new(2, Method::Halves).second_of(Method::Search) };
    let dir = dir_of(&[Job::new(1, Method::Search).writes("anna"), open.writes("bert")].concat());
    assert!(matches!(export(dir.path(), 1), Err(ExportError::NotDone(JobId(2)))));
    // A cancelled one does not count.
    let given_up = Job { phase: Phase::Cancelled, ..open };
    SqliteStore::open(dir.path()).expect("opens").commit(&[Write::Job(given_up.entry())]).expect("commits");
    assert_eq!(checked(dir.path(), 1).expect("it holds").parts[0].agreement, Agreement::OnePass);
}
