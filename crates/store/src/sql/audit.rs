//! Audits jobs: plans them again and sums their records, without trusting stored plans and sums.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;

use queens_ledger::store::{Coverage, JobEntry, Phase, StoredJob};
use queens_model::{JobId, Share};
use queens_solver::{Choice, Method, Pass, Plan, published};
use tracing::info;

use super::database::Database;
use super::digest::{Board, SECOND_COUNT, VERDICT};
use super::fault::Fault;
use super::read::{self, integer, sql_integer};
use super::tally::Tally;
use super::verdicts;

/// The results that the records of a job prove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobAudit {
    /// The job.
    pub job: JobEntry,
    /// The number of its records.
    pub n_records: u64,
    /// The number of subproblems that they cover.
    pub n_recorded: u128,
    /// The number of subproblems that the job counts; `None` before it has a plan.
    pub n_subproblems: Option<u128>,
    /// Their weighted solutions: the total, once every subproblem is recorded.
    pub total: u128,
    /// Their work.
    pub work: u128,
}

impl JobAudit {
    /// Returns whether every subproblem is recorded exactly once. Then `total` is the number of placements in the parts
    /// that the job counts.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.n_subproblems == Some(self.n_recorded)
    }

    /// Returns the published number of solutions, if `total` contradicts it, the job counted the whole board, and no
    /// recount is due. The stored data are intact then: some worker counted wrong.
    #[must_use]
    pub fn contradicted(&self) -> Option<u128> {
        let JobEntry { n, phase, terms, .. } = &self.job;
        // A pending recount may still correct it.
        let is_final = *phase != Phase::Active || terms.recount == Share::NOTHING;
        let is_whole = terms.part_range.is_none() && self.is_complete();
        let total = published(*n).map(|published| published.solutions).filter(|_| is_final && is_whole);
        total.filter(|total| *total != self.total)
    }
}

/// Makes the plan of a job again, for this pass, independently of the store. Takes as long as planning a job.
pub(crate) fn recomputed_plan(job: &JobEntry, pass: Pass) -> Option<Plan> {
    if job.n.get() >= SLOWLY_PLANNED {
        info!(n = %job.n, "making the plan again, which may take minutes");
    }
    let threads = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let make = if pass == Pass::First { Plan::new } else { Plan::second };
    make(job.n, job.method, threads, &AtomicBool::new(false))
}

/// The board size from which planning is slow enough to log.
const SLOWLY_PLANNED: u8 = 27;

/// Audits all jobs by their records alone, in one state of the database.
pub(crate) fn audit_all(
    database: &dyn Database,
    recomputed: &dyn Fn(&JobEntry, Pass) -> Option<Plan>,
) -> Result<Vec<JobAudit>, Fault> {
    read::blocked(database)?;
    let sources = read::sources(database)?;
    let jobs = read::jobs(database)?;
    let entries: Vec<&JobEntry> = jobs.iter().map(|job| &job.entry).collect();
    let audited =
        |job: &StoredJob| audit_job(database, job, pass(&job.entry, &entries), &sources, recomputed);
    let audits = jobs.iter().map(audited).collect::<Result<Vec<_>, _>>()?;
    check_passes(&jobs, &audits)?;
    Ok(audits)
}

/// Checks that each finished second pass has the same solutions as its first pass.
fn check_passes(jobs: &[StoredJob], audits: &[JobAudit]) -> Result<(), Fault> {
    let find = |id: JobId| jobs.iter().position(|job| job.entry.id == id);
    for (second, audit) in jobs.iter().zip(audits).filter(|(job, _)| job.entry.phase == Phase::Done) {
        let Some(first) = second.entry.terms.second_of else { continue };
        let id = second.entry.id;
        let Some(place) = find(first).filter(|&place| jobs[place].entry.phase != Phase::Cancelled) else {
            continue;
        };
        let sums = |job: &StoredJob| -> Vec<(u32, u128)> {
            let sums = job.coverage.iter().map(|(part, coverage)| (*part, coverage.solutions));
            sums.filter(|(_, solutions)| *solutions > 0).collect()
        };
        let is_alike = jobs[place].entry.method == second.entry.method;
        if is_alike && sums(&jobs[place]) != sums(second) {
            let reason = format!("job {id} is done, and has other solutions in some part than job {first}");
            return Err(Fault::Damaged(reason));
        }
        if audits[place].total != audit.total {
            let reason = format!(
                "job {id} is done, and has {} solutions in all, job {first} {}",
                audit.total, audits[place].total
            );
            return Err(Fault::Damaged(reason));
        }
    }
    Ok(())
}

/// Returns the images to count a job on. A second pass by the same method uses others than the first.
pub(crate) fn pass(job: &JobEntry, jobs: &[&JobEntry]) -> Pass {
    let first = job.terms.second_of.and_then(|first| jobs.iter().find(|job| job.id == first));
    if first.is_some_and(|first| first.method == job.method) { Pass::Second } else { Pass::First }
}

fn audit_job(
    database: &dyn Database,
    stored: &StoredJob,
    pass: Pass,
    sources: &BTreeSet<i64>,
    recomputed: &dyn Fn(&JobEntry, Pass) -> Option<Plan>,
) -> Result<JobAudit, Fault> {
    let job = &stored.entry;
    let mut audit =
        JobAudit { job: job.clone(), n_records: 0, n_recorded: 0, n_subproblems: None, total: 0, work: 0 };
    if let Some(choices) = &stored.choices {
        let recomputed = check_plan(job, pass, choices, recomputed)?;
        audit.n_subproblems = Some(0);
        let mut coverage = stored.coverage.iter().peekable();
        for (number, planned) in (0_u32..).zip(recomputed.parts()) {
            let n_subproblems = planned.choice().n_subproblems;
            let claimed = coverage.next_if(|(part, _)| *part == number).map(|(_, coverage)| coverage);
            let proved = Some((Board::of(job), sources));
            let found = Tally::of(database, job.id, proved, number, n_subproblems)?;
            found
                .compare(claimed.unwrap_or(&Coverage::default()))
                .map_err(|reason| Fault::Damaged(format!("job {}, part {number}: {reason}", job.id)))?;
            audit.n_records += found.n_records;
            audit.n_recorded += u128::from(found.sum.recorded.len());
            let is_counted = job.terms.part_range.is_none_or(|parts| parts.contains(number));
            if !is_counted && found.n_records > 0 {
                let reason =
                    format!("job {}: it has records of part {number}, which it does not count", job.id);
                return Err(Fault::Damaged(reason));
            }
            let counted = if is_counted { n_subproblems } else { 0 };
            audit.n_subproblems = audit.n_subproblems.map(|sum| sum + u128::from(counted));
            audit.total += u128::from(planned.weight()) * found.sum.solutions;
            audit.work += found.sum.work;
        }
        check_second_counts(database, job, choices, sources)?;
        verdicts::check(database, job)?;
    }
    if job.phase == Phase::Done && !audit.is_complete() {
        let expected = audit.n_subproblems.unwrap_or_default();
        return Err(Fault::Damaged(format!(
            "job {} is done, but of {expected} subproblems {} are recorded",
            job.id, audit.n_recorded
        )));
    }
    Ok(audit)
}

/// Checks that a job's recounts and verdicts are valid and lie in its plan.
fn check_second_counts(
    database: &dyn Database,
    job: &JobEntry,
    choices: &[Choice],
    sources: &BTreeSet<i64>,
) -> Result<(), Fault> {
    for (table, columns) in [(&SECOND_COUNT, &["source"][..]), (&VERDICT, &["source", "lost_source"])] {
        read::select(database, table, "WHERE job = ?1", &[sql_integer("job", job.id.0)?.into()], |row| {
            let what = if table.name == VERDICT.name { "verdict" } else { "second count" };
            let place = format!("{what} of job {}", job.id);
            let (part, first): (usize, u64) = (integer(row, "part", &place)?, integer(row, "first", &place)?);
            let until: u64 = integer(row, "until", &place)?;
            let place = format!("{place}, part {part}, {first}..{until}");
            table.verify(row, Some(Board::of(job)), &place)?;
            let n_subproblems = choices.get(part).map_or(0, |choice| choice.n_subproblems);
            if until <= first || until > n_subproblems {
                return Err(Fault::Damaged(format!("{place}: the plan has no such span")));
            }
            for column in columns {
                let source: i64 = integer(row, column, &place)?;
                if !sources.contains(&source) {
                    return Err(Fault::Damaged(format!("{place}: there is no source {source}")));
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Checks that a job has the plan that it should have.
fn check_plan(
    job: &JobEntry,
    pass: Pass,
    choices: &[Choice],
    recomputed: &dyn Fn(&JobEntry, Pass) -> Option<Plan>,
) -> Result<Plan, Fault> {
    let id = job.id;
    if job.decomposition != job.method.decomposition() {
        return Err(other_decomposition(id, job.method, job.decomposition));
    }
    let recomputed =
        recomputed(job, pass).ok_or_else(|| Fault::Unfit("a plan could not be made".to_owned()))?;
    let parts = recomputed.parts();
    if parts.len() != choices.len() {
        let (n, expected, found) = (job.n, parts.len(), choices.len());
        let reason = format!("job {id}: the plan for n = {n} has {expected} parts, not {found}");
        return Err(Fault::Damaged(reason));
    }
    match parts.iter().zip(choices).position(|(planned, choice)| planned.choice() != choice) {
        None => Ok(recomputed),
        Some(part) => Err(Fault::Damaged(format!(
            "plan of job {id}, part {part}: it should be {}, and is {}",
            say(parts[part].choice()),
            say(&choices[part])
        ))),
    }
}

/// Returns the error for a job whose decomposition this program does not know.
pub(crate) fn other_decomposition(job: JobId, method: Method, found: u32) -> Fault {
    Fault::Version(format!(
        "job {job} is cut by decomposition {found} of the method {method}, this program knows {}",
        method.decomposition()
    ))
}

fn say(Choice { image, n_subproblems, work }: &Choice) -> String {
    format!("image {}, {n_subproblems} subproblems, work {work}", image.index())
}
