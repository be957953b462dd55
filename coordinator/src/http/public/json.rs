//! The JSON of the public pages.

use queens_event_loop::{People, RankedPerson, Snapshot};
use queens_model::{JobState, JobStatus, PartyTotals, TimeLeft};
use serde::Serialize;

use super::super::html::hours;
use super::curve::Curve;

/// How many people and jobs one answer lists.
pub(super) const MOST_LISTED: usize = 100;

/// How many people are listed in all; all have a page.
pub(super) const MOST_PEOPLE: usize = 10_000;

/// What is counted, and by how many people.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct PublicSummary {
    /// When the records were summed, in milliseconds since 1970. Jobs are seconds old.
    as_of_ms: u64,
    /// Number of people who joined by a link.
    n_people: usize,
    /// The sums over everybody.
    all: PublicTotals,
    /// The sums over those who are not listed: operators' own machines, and people whose invitation was revoked.
    others: PublicTotals,
    /// The open jobs in the order of submission, then the others, the latest first; at most 100.
    jobs: Vec<PublicJob>,
}

/// A job.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct PublicJob {
    /// Its number.
    job: u64,
    /// The size of the board.
    n: u8,
    /// The counting method.
    method: &'static str,
    /// Its state, such as running or done.
    state: &'static str,
    /// The parts that are counted, if not all: "parts 3..7 of 12".
    #[cfg_attr(test, schema(required))]
    parts: Option<String>,
    /// The recorded share of its work, 0 to 1.
    fraction: f64,
    /// The estimated remaining time with the present workers, in seconds; null if it is not known.
    #[cfg_attr(test, schema(required))]
    seconds_left: Option<f64>,
    /// The number of solutions in decimal, if it is done: of the board, or of the parts.
    #[cfg_attr(test, schema(required))]
    solutions: Option<String>,
    /// When it was done, in milliseconds since 1970; null if it is not.
    #[cfg_attr(test, schema(required))]
    finished_ms: Option<u64>,
}

/// Sums over records and recounts.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct PublicTotals {
    /// Thread time of records and recounts, in hours.
    core_hours: f64,
    /// The solutions that the records found, with the symmetric ones, in decimal.
    solutions: String,
    /// Number of records.
    records: u64,
    /// Number of records that a recount by somebody else has confirmed.
    confirmed: u64,
    /// Number of recounts of the records of others.
    recounts: u64,
    /// Work of the records by search, in nodes, decimal.
    search_work: String,
    /// Work of the records by halves, in units, decimal.
    halves_work: String,
}

/// A page of the people.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct PublicPeople {
    /// When the records were summed, in milliseconds since 1970.
    as_of_ms: u64,
    /// Number of all people.
    n_people: usize,
    /// Number of people before these.
    offset: usize,
    /// At most 100, those with the most core-hours first.
    people: Vec<PublicPerson>,
}

/// A person.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct PublicPerson {
    /// The name that the person chose.
    name: String,
    /// The rank by core-hours, from 1 on.
    rank: usize,
    /// The share of all core-hours, 0 to 1.
    share: f64,
    /// When the person joined, in milliseconds since 1970.
    since_ms: u64,
    #[serde(flatten)]
    totals: PublicTotals,
}

/// A person, with a curve.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct PersonDetails {
    /// When the records were summed, in milliseconds since 1970.
    as_of_ms: u64,
    /// Number of all people.
    n_people: usize,
    #[serde(flatten)]
    person: PublicPerson,
    /// The core-hours at the ends of days, ascending, at most 400 days back. They change evenly in between.
    curve: Vec<CurvePoint>,
}

/// The core-hours at the end of a day.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct CurvePoint {
    /// The day, UTC, such as 2026-11-21.
    day: String,
    /// The core-hours until its end, or until now.
    core_hours: f64,
}

impl PublicSummary {
    pub(super) fn of(people: &People, snapshot: &Snapshot) -> Self {
        Self {
            as_of_ms: people.at_ms,
            n_people: people.ranked.len(),
            all: (&people.all).into(),
            others: (&people.others).into(),
            jobs: shown_jobs(snapshot).map(PublicJob::from).collect(),
        }
    }
}

/// Returns the jobs to show: the open ones in the order of submission, then the others, the latest first. A second pass
/// belongs to its job.
pub(super) fn shown_jobs(snapshot: &Snapshot) -> impl Iterator<Item = &JobStatus> {
    let is_open = |job: &&JobStatus| !job.state.is_over() && job.terms.second_of.is_none();
    let is_done = |job: &&JobStatus| job.state == JobState::Done && job.terms.second_of.is_none();
    let done = snapshot.jobs.iter().rev().filter(is_done);
    snapshot.jobs.iter().filter(is_open).chain(done).take(MOST_LISTED)
}

impl From<&JobStatus> for PublicJob {
    fn from(job: &JobStatus) -> Self {
        let is_done = job.state == JobState::Done;
        Self {
            job: job.id.0,
            n: job.n.get(),
            method: job.method.name(),
            state: job.state.name(),
            parts: job.part(),
            fraction: job.fraction(),
            seconds_left: job.time_left.map(TimeLeft::expected),
            solutions: is_done.then(|| job.progress.solutions.to_string()),
            finished_ms: job.finished_ms.filter(|_| is_done),
        }
    }
}

impl From<&PartyTotals> for PublicTotals {
    fn from(totals: &PartyTotals) -> Self {
        Self {
            core_hours: hours(totals.time()),
            solutions: totals.solutions.to_string(),
            records: totals.n_records,
            confirmed: totals.n_confirmed,
            recounts: totals.n_recounts,
            search_work: totals.search_work.to_string(),
            halves_work: totals.halves_work.to_string(),
        }
    }
}

impl PublicPeople {
    pub(super) fn of(people: &People, offset: usize) -> Self {
        let listed = listed(people, offset).iter().map(|one| PublicPerson::of(people, one));
        Self { as_of_ms: people.at_ms, n_people: people.ranked.len(), offset, people: listed.collect() }
    }
}

/// Returns the people of a page.
pub(super) fn listed(people: &People, offset: usize) -> &[RankedPerson] {
    let end = people.ranked.len().min(MOST_PEOPLE).min(offset.saturating_add(MOST_LISTED));
    people.ranked.get(offset..end).unwrap_or_default()
}

impl PublicPerson {
    fn of(people: &People, one: &RankedPerson) -> Self {
        Self {
            name: one.person.name.to_string(),
            rank: one.rank,
            share: people.share(&one.totals),
            since_ms: one.person.since_ms,
            totals: (&one.totals).into(),
        }
    }
}

impl PersonDetails {
    pub(super) fn of(people: &People, one: &RankedPerson, curve: &Curve) -> Self {
        Self {
            as_of_ms: people.at_ms,
            n_people: people.ranked.len(),
            person: PublicPerson::of(people, one),
            curve: curve.points().map(|(day, core_hours)| CurvePoint { day, core_hours }).collect(),
        }
    }
}
