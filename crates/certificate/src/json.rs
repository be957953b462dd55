//! The JSON form of a report.

use queens_model::Name;
use serde::Serialize;

use crate::{Agreement, LoserReport, PartReport, PassReport, Report, SampleReport};

/// The report of a valid certificate.
#[derive(Clone, Debug, Serialize)]
pub struct Certificate {
    /// The size of the board.
    n: u8,
    /// The first part of the plan that it covers.
    crosses_from: u32,
    /// The part after the last.
    crosses_until: u32,
    /// The number of parts of the plan.
    crosses: u32,
    /// Whether it covers all of them.
    is_whole: bool,
    /// The solutions of its parts: Q(n), if it covers all.
    solutions: String,
    /// Those up to rotation and reflection; null unless it covers all parts.
    fundamental: Option<String>,
    /// Whether the count has been published, and agrees.
    is_published: bool,
    /// Its parts, each counted and signed at one site.
    parts: Vec<Part>,
    /// The recounted sample; null if none was requested.
    sample: Option<Sample>,
}

#[derive(Clone, Debug, Serialize)]
struct Part {
    crosses_from: u32,
    crosses_until: u32,
    signer: String,
    /// Whether the signer is one of the given keys.
    is_known: bool,
    program: String,
    created_ms: u64,
    finished_ms: u64,
    made_ms: u64,
    /// Placements that a half turn and a quarter turn leave unchanged.
    half_turn: u64,
    quarter_turn: u64,
    passes: Vec<Pass>,
    /// "one pass", "each cross" or "whole": the equal totals of both passes.
    agreement: &'static str,
    /// The number of parts in which one party has unconfirmed records in both passes.
    crosses_by_one_party: Option<u32>,
    losers: Vec<OverruledCounter>,
}

#[derive(Clone, Debug, Serialize)]
struct Pass {
    method: &'static str,
    decomposition: u32,
    job: String,
    /// The identity of the job, because its number is not unique: 32 hexadecimal digits.
    identity: String,
    recount_ppm: u32,
    /// The digest of the party that had to be one of any two that agree on a drawn record; null if none was named.
    recount_by: Option<String>,
    seed: String,
    records: u64,
    solutions: String,
    work: String,
    /// Time of the records' threads, as their workers reported it.
    core_seconds: f64,
    /// Kernels of the records, as their workers reported them.
    kernels: Vec<String>,
    further_counts: u64,
    confirmed_records: u64,
    confirmed_work: String,
    /// Records that rest on one party. No other party has confirmed them, nor that party's records in the other pass,
    /// if there is one.
    one_party_records: u64,
    one_party_work: String,
    verdicts: u64,
}

#[derive(Clone, Debug, Serialize)]
struct OverruledCounter {
    worker: String,
    unconfirmed_records: u64,
    records_with_one_other: u64,
}

#[derive(Clone, Debug, Serialize)]
struct Sample {
    seed: String,
    records: u64,
    recounted: u64,
    work: String,
    all_work: String,
    seconds: f64,
    /// The smallest share of false records that would be noticed with a probability of 99 %; null without a recount.
    noticed_share: Option<f64>,
}

impl Certificate {
    /// Converts a report.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        Self {
            n: report.n.get(),
            crosses_from: report.crosses.start,
            crosses_until: report.crosses.end,
            crosses: report.n_crosses,
            is_whole: report.fundamental.is_some(),
            solutions: report.solutions.to_string(),
            fundamental: report.fundamental.map(|fundamental| fundamental.to_string()),
            is_published: report.is_published && report.fundamental.is_some(),
            parts: report.parts.iter().map(Part::of).collect(),
            sample: report.sample.as_ref().map(Sample::of),
        }
    }
}

impl Part {
    fn of(part: &PartReport) -> Self {
        let header = &part.header;
        let (agreement, crosses_by_one_party) = match part.agreement {
            Agreement::OnePass => ("one pass", None),
            Agreement::EachCross { n_by_one } => ("each cross", Some(n_by_one)),
            Agreement::Whole => ("whole", None),
        };
        let pass = |(said, found): (&crate::Pass, &PassReport)| Pass {
            method: said.method.name(),
            decomposition: said.decomposition,
            job: said.job.to_string(),
            identity: said.identity.to_string(),
            recount_ppm: said.recount_ppm,
            recount_by: said.recount_by.map(|party| party.to_string()),
            seed: format!("{:032x}", said.seed),
            records: found.total.n_records,
            solutions: found.total.solutions.to_string(),
            work: found.total.work.to_string(),
            core_seconds: found.time_us as f64 / 1e6,
            kernels: found.kernels.iter().map(Name::to_string).collect(),
            further_counts: found.n_again,
            confirmed_records: found.n_confirmed,
            confirmed_work: found.confirmed_work.to_string(),
            one_party_records: found.n_by_one,
            one_party_work: found.work_by_one.to_string(),
            verdicts: found.n_verdicts,
        };
        let loser = |LoserReport { name, n_unconfirmed, n_with_one_other }: &LoserReport| OverruledCounter {
            worker: name.to_string(),
            unconfirmed_records: *n_unconfirmed,
            records_with_one_other: *n_with_one_other,
        };
        Self {
            crosses_from: header.crosses.start,
            crosses_until: header.crosses.end,
            signer: header.signer.to_string(),
            is_known: part.is_known,
            program: header.program.to_string(),
            created_ms: header.created_ms,
            finished_ms: header.finished_ms,
            made_ms: header.made_ms,
            half_turn: header.half_turn,
            quarter_turn: header.quarter_turn,
            passes: header.passes.iter().zip(&part.passes).map(pass).collect(),
            agreement,
            crosses_by_one_party,
            losers: part.losers.iter().map(loser).collect(),
        }
    }
}

impl Sample {
    fn of(sample: &SampleReport) -> Self {
        Self {
            seed: sample.seed.to_string(),
            records: sample.n_records,
            recounted: sample.n_recounted,
            work: sample.work.to_string(),
            all_work: sample.all_work.to_string(),
            seconds: sample.elapsed.as_secs_f64(),
            noticed_share: sample.noticed(),
        }
    }
}
