//! Describes certificates for people.

use std::ops::Range;

use queens_certificate::{Agreement, PartReport, PassReport, Report, SampleReport, Stage, time_to_check};

use serde_json::{Value, json};

use crate::present::work::work_text;
use queens_model::{PassAgreement, Proof, Share, date, percent, plural, rfc3339};

/// Describes the current stage of a check.
pub(crate) fn stage(stage: Stage) -> String {
    let time = |n| time_to_check(n).map(|(time, _)| format!(" (all of it takes {time})")).unwrap_or_default();
    match stage {
        Stage::Planning(n) => format!("making the plan of n = {n} again{}", time(n)),
        Stage::Reading(n_records) => format!("{n_records} records read"),
        Stage::Turning(n) => format!("counting symmetric placements of n = {n}{}", time(n)),
        Stage::Recounting { done, of } => format!("counted again: {done} records of {of} that were drawn"),
    }
}

/// Describes a valid certificate: first what the count rests on, and the verdict.
pub(crate) fn describe(report: &Report) -> String {
    let mut lines = vec![proof(report).to_string()];
    match report.sample.as_ref().filter(|sample| sample.n_recounted > 0) {
        Some(sample) => lines.extend(["all of it holds".to_owned(), sample_line(sample)]),
        None => lines.push(
            "complete and consistent; nothing was counted again now, so a false record would not be noticed (--seconds, \
             --share)"
                .to_owned(),
        ),
    }
    for (number, part) in (1..).zip(&report.parts) {
        lines.extend(part_lines(number, part));
    }
    lines.join("\n")
}

/// Returns what the count rests on: for several parts, the least that holds for all.
fn proof(report: &Report) -> Proof {
    let Range { start, end } = report.crosses;
    // The records of the second pass add nothing that a lie in the first would have to pass.
    let first_passes =
        || report.parts.iter().filter_map(|part| part.header.passes.first().zip(part.passes.first()));
    let agreements = report.parts.iter().map(|part| match part.agreement {
        Agreement::OnePass => None,
        Agreement::EachCross { .. } => Some(PassAgreement::EachPart),
        Agreement::Whole => Some(PassAgreement::BothMethods),
    });
    let shares = first_passes().map(|(said, _)| Share::of_ppm(said.recount_ppm).unwrap_or_default());
    let sum = |number: fn(&PassReport) -> u64| first_passes().map(|(_, found)| number(found)).sum();
    Proof {
        n: report.n,
        parts: report.fundamental.is_none().then(|| format!("parts {start}..{end} of {}", report.n_crosses)),
        solutions: report.solutions,
        fundamental: report.fundamental,
        comparison: match report.is_published {
            true => "agrees with the published count".to_owned(),
            false => "no count has been published to compare with".to_owned(),
        },
        passes: agreements.min().flatten(),
        recount: shares.min().unwrap_or_default(),
        n_confirmed: sum(|found| found.n_confirmed),
        n_records: sum(|found| found.total.n_records),
        n_parties: 0,
    }
}

fn part_lines(number: usize, part: &PartReport) -> Vec<String> {
    let header = &part.header;
    let Range { start, end } = header.crosses;
    let key =
        if part.is_known { "which was expected" } else { "a key that nothing here vouches for (--key)" };
    let made = date(header.made_ms / 1000);
    let mut lines = vec![format!(
        "part {number}: crosses {start}..{end} of {}, certified {made} by {}, {key}",
        header.n_crosses, header.signer
    )];
    for (number, (pass, said)) in (1..).zip(part.passes.iter().zip(&header.passes)) {
        lines.push(pass_line(number, pass));
        lines.push(format!("pass {number} is job {}, identity {}", said.job, said.identity));
        if let Some(party) = said.recount_by {
            lines.push(format!(
                "party {party} alone was named to count pass {number} again: it agrees with another on all that was drawn \
                 and all that is called confirmed"
            ));
        }
    }
    match part.agreement {
        Agreement::OnePass => {}
        Agreement::EachCross { n_by_one: 0 } => lines.push("the passes agree on every cross".to_owned()),
        Agreement::EachCross { n_by_one } => lines.push(format!(
            "the passes agree on every cross; of {n_by_one} of them one party counted in both passes what no other has \
             confirmed"
        )),
        Agreement::Whole => {
            lines.push("the passes agree on the sum, by methods that share nothing but the board".to_owned());
        }
    }
    lines.push(one_word(part));
    for loser in &part.losers {
        let mut rest = Vec::new();
        if loser.n_unconfirmed > 0 {
            rest.push(format!("{} of it were not counted again", plural(loser.n_unconfirmed, "record")));
        }
        if loser.n_with_one_other > 0 {
            let records = plural(loser.n_with_one_other, "record");
            rest.push(format!("{records} rest on it and one other party, and these two may be friends"));
        }
        if rest.is_empty() {
            rest.push("two others agree on all that it counted".to_owned());
        }
        let rest = rest.join(", and ");
        lines.push(format!("worker '{}' lost a dispute; {rest}", loser.name));
    }
    lines
}

/// Describes how much one party could have changed undetected.
fn one_word(part: &PartReport) -> String {
    let passes = (1..).zip(&part.passes).filter(|(_, pass)| pass.n_by_one > 0);
    let alone: Vec<String> = passes
        .map(|(number, pass)| {
            let share = percent(pass.work_by_one as f64 / pass.total.work.max(1) as f64);
            format!("{} of pass {number} ({share} of its work)", plural(pass.n_by_one, "record"))
        })
        .collect();
    let why = match part.agreement {
        _ if alone.is_empty() => return "no part is on the word of one party".to_owned(),
        Agreement::OnePass => "no other has confirmed them",
        Agreement::EachCross { .. } | Agreement::Whole => {
            "no other has confirmed them, nor what the same one counted in the other pass"
        }
    };
    format!("on the word of one party: {}; {why}", alone.join(" and "))
}

fn pass_line(number: usize, pass: &PassReport) -> String {
    let PassReport { method, total, n_confirmed, confirmed_work, n_verdicts, .. } = pass;
    let share = percent(*confirmed_work as f64 / total.work.max(1) as f64);
    let confirmed = match n_confirmed {
        0 => "none confirmed by a second party".to_owned(),
        n => format!("{n} confirmed by a second party ({share} of the work)"),
    };
    let verdicts = match n_verdicts {
        0 => String::new(),
        n => format!(", {} decided", plural(n, "dispute")),
    };
    format!(
        "pass {number} by {method}: {} cover each subproblem once: {} weighted, {}; {confirmed}{verdicts}",
        plural(total.n_records, "record"),
        plural(total.solutions, "solution"),
        work_text(*method, &total.work.to_string())
    )
}

fn sample_line(sample: &SampleReport) -> String {
    let SampleReport { seed, n_records, n_recounted, work, all_work, elapsed } = sample;
    let share = percent(*work as f64 / (*all_work).max(1) as f64);
    let excludes = match sample.noticed() {
        None => "it excludes nothing".to_owned(),
        Some(0.0) => "those were all: none is false".to_owned(),
        Some(noticed) => format!(
            "had {} of the records been false, one of them would have been found with 99 %",
            percent(noticed)
        ),
    };
    format!(
        "sample: {n_recounted} of {} counted again in {:.1} s ({share} of the work, seed {seed}), all right; {excludes}",
        plural(n_records, "record"),
        elapsed.as_secs_f64()
    )
}

/// Returns the report of a valid certificate in JSON. Scripts rely on its fields.
pub(crate) fn json(report: &Report) -> Value {
    let sample = report.sample.as_ref().map(|sample| {
        json!({
            "seed": sample.seed.to_string(),
            "records": sample.n_records,
            "recounted": sample.n_recounted,
            "work": sample.work.to_string(),
            "all_work": sample.all_work.to_string(),
            "seconds": sample.elapsed.as_secs_f64(),
            // Null without a recount.
            "noticed_share": sample.noticed(),
        })
    });
    json!({
        "proof": proof(report).to_string(),
        "n": report.n.get(),
        "crosses_from": report.crosses.start,
        "crosses_until": report.crosses.end,
        "crosses": report.n_crosses,
        "is_whole": report.fundamental.is_some(),
        "solutions": report.solutions.to_string(),
        "fundamental": report.fundamental.map(|fundamental| fundamental.to_string()),
        "is_published": report.is_published && report.fundamental.is_some(),
        "parts": report.parts.iter().map(part_json).collect::<Value>(),
        "sample": sample,
    })
}

fn part_json(part: &PartReport) -> Value {
    let header = &part.header;
    let (agreement, crosses_by_one_party) = match part.agreement {
        Agreement::OnePass => ("one pass", None),
        Agreement::EachCross { n_by_one } => ("each cross", Some(n_by_one)),
        Agreement::Whole => ("whole", None),
    };
    let passes = header.passes.iter().zip(&part.passes).map(|(said, found)| {
        json!({
            "method": said.method.name(),
            "decomposition": said.decomposition,
            "job": said.job.to_string(),
            "identity": said.identity.to_string(),
            "recount": f64::from(said.recount_ppm) / 1e6,
            "recount_by": said.recount_by.map(|party| party.to_string()),
            "seed": format!("{:032x}", said.seed),
            "records": found.total.n_records,
            "solutions": found.total.solutions.to_string(),
            "work": found.total.work.to_string(),
            "core_seconds": found.time_us as f64 / 1e6,
            "kernels": found.kernels.iter().map(ToString::to_string).collect::<Value>(),
            "further_counts": found.n_again,
            "confirmed_records": found.n_confirmed,
            "confirmed_work": found.confirmed_work.to_string(),
            "one_party_records": found.n_by_one,
            "one_party_work": found.work_by_one.to_string(),
            "verdicts": found.n_verdicts,
        })
    });
    let losers = part.losers.iter().map(|loser| {
        json!({
            "worker": loser.name.to_string(),
            "unconfirmed_records": loser.n_unconfirmed,
            "records_with_one_other": loser.n_with_one_other,
        })
    });
    json!({
        "crosses_from": header.crosses.start,
        "crosses_until": header.crosses.end,
        "signer": header.signer.to_string(),
        "is_known": part.is_known,
        "program": header.program.to_string(),
        "created_at": rfc3339(header.created_ms),
        "finished_at": rfc3339(header.finished_ms),
        "made_at": rfc3339(header.made_ms),
        "half_turn": header.half_turn,
        "quarter_turn": header.quarter_turn,
        "passes": passes.collect::<Value>(),
        "agreement": agreement,
        "crosses_by_one_party": crosses_by_one_party,
        "losers": losers.collect::<Value>(),
    })
}
