//! Plays random writes to a store, and compares it to the store in memory. Tests of other stores include this module.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use queens_ledger::store::memory::MemoryStore;
use queens_ledger::store::{
    Block, Coverage, JobEntry, MAX_COUNT, Phase, Record, SecondCount, Source, Store, Verdict, Write,
};
use queens_model::{Arbiter, JobId, LeaseId, Name, PartRange, Party, Priority, Share, Terms};
use queens_solver::{BoardSize, Choice, Count, Method, Span, Symmetry};

/// Subproblems of every part, unless a test sets another number.
pub(super) const N_SUBPROBLEMS: u64 = 100;

pub(super) fn job(id: u64, n: u8) -> JobEntry {
    JobEntry {
        decomposition: 1,
        phase: Phase::Active,
        active: Duration::from_millis(1500),
        ..JobEntry::new(
            JobId(id),
            BoardSize::new(n).expect("a board size"),
            Method::Search,
            1_800_000_000_000,
        )
    }
    .identified()
}

pub(super) fn choices(n_parts: usize) -> Vec<Choice> {
    vec![Choice { image: Symmetry::UP_TO_MIRROR[1], n_subproblems: N_SUBPROBLEMS, work: u128::MAX }; n_parts]
}

pub(super) fn record(span: (u32, u64, u64), count: (u64, u64), worker: &str) -> Record {
    let name = |text: &str| text.parse().expect("a name");
    let party = Party::of_name(&name(worker));
    let source = Source { name: name(worker), build: name("0.1.0"), kernel: name("portable"), party };
    Record {
        span: Span::new(span.0, span.1, span.2).expect("not empty"),
        count: Count { solutions: count.0, work: count.1 },
        duration: Duration::from_micros(70_001),
        lease: LeaseId(1 << 32),
        source: Arc::new(source),
    }
}

pub(super) fn record_of(job: u64, span: (u32, u64, u64), count: (u64, u64), worker: &str) -> Write {
    Write::Record { job: JobId(job), record: record(span, count, worker) }
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Commit(Vec<Change>),
    Load,
    Reopen,
}

#[derive(Clone, Debug)]
pub(super) enum Change {
    Write(Write),
    /// Records subproblems of a job's part, with this count.
    Cover(u64, u32, Range<u64>, Count),
}

/// The coverage of all parts, without refused changes.
pub(super) type Covered = BTreeMap<(u64, u32), Coverage>;

impl Change {
    /// Returns the write of this change.
    fn write(self, covered: &mut Covered) -> Write {
        match self {
            Self::Write(write) => write,
            Self::Cover(job, part, range, count) => {
                let coverage = covered.entry((job, part)).or_default();
                let merged = coverage.recorded.insert(range.clone());
                coverage.solutions += u128::from(count.solutions);
                coverage.work += u128::from(count.work);
                let starts = merged.iter().map(|range| range.start).chain([range.start]);
                let change = coverage.change(starts);
                Write::Coverage { job: JobId(job), part, change }
            }
        }
    }
}

fn any_terms() -> impl Strategy<Value = Terms> {
    let parts = prop::option::of((0..u32::MAX, 1..9_u32));
    let seed = prop_oneof![Just(0), Just(u128::MAX), any::<u128>()];
    (parts, 0..=1_000_000_u32, seed, prop::option::of(0..=MAX_COUNT)).prop_map(
        |(parts, ppm, seed, exported_ms)| Terms {
            part_range: parts
                .map(|(from, len)| PartRange::new(from, from.saturating_add(len)).expect("not empty")),
            recount: Share::of_ppm(ppm).expect("a share"),
            recount_by: (ppm % 2 == 1).then(|| Arbiter {
                party: Party::of_name(&Name::of_any("anna")),
                invitation: (ppm % 3 == 1).then_some(7),
            }),
            second_of: None,
            seed,
            exported_ms,
        },
    )
}

fn any_change() -> impl Strategy<Value = Change> {
    let size = 1_u64..=2;
    let count = || prop_oneof![0..50_u64, Just(MAX_COUNT)];
    let decided = (-1000..=1000_i32, any::<bool>(), any_terms());
    let row = (size.clone(), 0_usize..4, 0..=MAX_COUNT, 0..1_000_000_u64, decided);
    let jobs = row.prop_map(|(id, phase, created_ms, active_ms, (priority, paused, terms))| {
        let active = Duration::from_millis(active_ms);
        let counts = (created_ms / 3, created_ms / 2);
        let phase = Phase::ALL[phase];
        Write::Job(JobEntry {
            phase,
            priority: Priority::try_from(priority).expect("a priority"),
            paused,
            created_ms,
            active,
            n_verified: counts.0,
            n_disputed: counts.1,
            // A job's board and the job of its first pass are immutable.
            terms: Terms { second_of: (id == 2).then_some(JobId(1)), ..terms },
            ..job(id, 6)
        })
    });
    let choice =
        (0_u8..8, N_SUBPROBLEMS..=MAX_COUNT, any::<u128>()).prop_map(|(image, n_subproblems, work)| Choice {
            image: Symmetry::from_index(image).expect("one of eight"),
            n_subproblems,
            work,
        });
    let plans = (size.clone(), prop::collection::vec(choice, 0..4))
        .prop_map(|(id, choices)| Write::Plan { job: JobId(id), choices });
    let records = (size.clone(), 0_u32..4, 0..6_u64, 1..4_u64, count(), count(), "[ab]").prop_map(
        |(id, part, from, len, solutions, nodes, worker)| {
            record_of(id, (part, from, from + len), (solutions, nodes), &worker)
        },
    );
    let again = || (0_u32..4, 0..6_u64, 1..4_u64, count(), "[abc]");
    let second_counts = (size.clone(), again()).prop_map(|(id, (part, from, len, n, worker))| {
        let Record { span, count, duration, source, .. } =
            record((part, from, from + len), (n, n / 2), &worker);
        Write::SecondCount { job: JobId(id), count: SecondCount { span, count, duration, source, at_ms: n } }
    });
    let verdicts =
        (size.clone(), again(), 0_u32..2).prop_map(|(id, (part, from, len, n, worker), number)| {
            let Record { span, count, source, .. } = record((part, from, from + len), (n / 3, n), &worker);
            let lost = Count { solutions: n, work: n / 7 };
            let lost_source = record((0, 0, 1), (0, 0), "d").source;
            let verdict = Verdict { span, number, at_ms: n, count, source, lost, lost_source };
            Write::Verdict { job: JobId(id), verdict }
        });
    let coverages = (size, 0_u32..4, 0..N_SUBPROBLEMS - 8, 1_u64..8, count(), count()).prop_map(
        |(id, part, from, len, solutions, work)| {
            Change::Cover(id, part, from..from + len, Count { solutions, work })
        },
    );
    let names = prop::sample::select(vec!["anna", "bert", "carol's \"machine\""]);
    let blocked = (names, any::<bool>(), "(it lied)?").prop_map(|(name, blocked, reason)| Write::Blocked {
        block: Block {
            party: (!reason.is_empty()).then(|| Party::of_name(&Name::of_any(name))),
            name: Name::of_any(name),
        },
        blocked,
        reason,
    });
    let writes = prop_oneof![jobs, plans, records, blocked, second_counts, verdicts];
    prop_oneof![4 => writes.prop_map(Change::Write), 2 => coverages]
}

fn any_step() -> impl Strategy<Value = Step> {
    let commit = prop::collection::vec(any_change(), 0..5).prop_map(Step::Commit);
    prop_oneof![8 => commit, 1 => Just(Step::Load), 1 => Just(Step::Reopen)]
}

/// Returns whether `write` needs a job or part that is missing, or removes one that is in use.
fn is_refused(model: &MemoryStore, write: &Write) -> bool {
    let stored = model.clone().load().expect("a store in memory");
    let find = |id: JobId| stored.jobs.iter().find(|job| job.entry.id == id);
    let lacks = |id, part| find(id).and_then(|job| job.choices.as_ref()?.get(part as usize)).is_none();
    match write {
        Write::Blocked { .. } | Write::Job(_) => false,
        Write::Plan { job, choices } => find(*job).is_none_or(|found| {
            let used = found.coverage.iter().map(|(part, _)| *part);
            let again = model.second_counts(*job).map(|count| count.span.part());
            let decided = model.verdicts(*job).map(|verdict| verdict.span.part());
            let mut used = used.chain(model.records(*job).map(|record| record.span.part()));
            let mut used = used.by_ref().chain(again).chain(decided);
            used.any(|part| part as usize >= choices.len())
        }),
        Write::Record { job, record } => lacks(*job, record.span.part()),
        Write::Coverage { job, part, .. } => lacks(*job, *part),
        Write::SecondCount { job, count } => lacks(*job, count.span.part()),
        Write::Verdict { job, verdict } => lacks(*job, verdict.span.part()),
    }
}

/// Generates steps of some length.
pub(super) fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(any_step(), 1..20)
}

/// Plays steps to a store and to one in memory, and compares their answers.
pub(super) fn play<S: Store>(steps: Vec<Step>, mut open: impl FnMut() -> S) -> (S, MemoryStore) {
    let mut store = open();
    let mut model = MemoryStore::default();
    // Without these, most random writes would be refused.
    let first = [Write::Job(job(1, 6)), Write::Plan { job: JobId(1), choices: choices(3) }];
    let first = first.map(Change::Write).to_vec();
    let mut covered = Covered::new();
    for step in [Step::Commit(first)].into_iter().chain(steps).chain([Step::Reopen, Step::Load]) {
        match step {
            Step::Commit(changes) => {
                let mut covered_after = covered.clone();
                let writes: Vec<Write> =
                    changes.into_iter().map(|change| change.write(&mut covered_after)).collect();
                let mut after = model.clone();
                let refused = writes.iter().any(|write| {
                    is_refused(&after, write) || after.commit(std::slice::from_ref(write)).is_err()
                });
                let result = store.commit(&writes);
                assert_eq!(result.is_err(), refused, "{result:?}");
                if !refused {
                    (model, covered) = (after, covered_after);
                }
            }
            Step::Load => {
                assert_eq!(store.load().expect("loads"), model.load().expect("loads"));
            }
            Step::Reopen => {
                drop(store);
                store = open();
            }
        }
    }
    (store, model)
}

/// Compares the records of two stores, including second counts.
pub(super) fn assert_same_records(mut store: impl Store, model: &mut MemoryStore) {
    for id in 1..=2 {
        for (part, from, len) in (0..4).flat_map(|c| (0..6).flat_map(move |f| (1..4).map(move |l| (c, f, l))))
        {
            let span = Span::new(part, from, from + len).expect("not empty");
            assert_eq!(store.find(JobId(id), span).ok(), model.find(JobId(id), span).ok());
        }
    }
}
