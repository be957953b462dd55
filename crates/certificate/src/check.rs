//! Checks a certificate without trusting it: makes the plans again, sums all records, and recounts some.

use std::collections::BTreeSet;
use std::io::Read;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use queens_model::JobIdentity;
use queens_solver::{BoardSize, fundamental, half_turn, published, quarter_turn};

use crate::header::{Header, MAGIC, read_format};
use crate::lines::Lines;
use crate::options::{Options, Stage, time_to_check};
use crate::part_check::{PartCheck, compare_symmetric};
use crate::plans::Plans;
use crate::refusal::Refusal;
use crate::report::{PartReport, Report};
use crate::sample::Draw;

/// The maximum number of parts of a file.
const MOST_PARTS: usize = 4096;

/// Checks a certificate. Calls `told` with its progress from time to time.
///
/// # Errors
/// If anything in it does not hold.
pub fn check(
    input: impl Read,
    options: &Options<'_>,
    told: &(dyn Fn(Stage) + Sync),
) -> Result<Report, Refusal> {
    let mut lines = Lines::new(input);
    let n_parts = begin(&mut lines)?;
    let mut draw = options.sample.map(Draw::of);
    let mut plans: Option<Plans<'_>> = None;
    let mut parts: Vec<PartReport> = Vec::new();
    let mut jobs = Jobs::default();
    for number in 1..=n_parts {
        let header = Header::read(&mut lines)?;
        let n = header.n;
        if let Some((time, true)) = time_to_check(n).filter(|_| !options.long) {
            return Err(Refusal::Long { n, time });
        }
        let place = format!("{} (part {number})", lines.place());
        if let Some(before) = parts.last() {
            follows(&before.header, &header).map_err(|what| Refusal::at(&place, what))?;
        }
        jobs.add(&header).map_err(|what| Refusal::at(&place, what))?;
        let plans = plans.get_or_insert_with(|| Plans::of(header.n, options.n_threads, options.stop));
        parts.push(PartCheck { options, told }.read(&mut lines, header, plans, draw.as_mut())?);
    }
    lines.end()?;
    let (Some(first), Some(last), Some(plans)) = (parts.first(), parts.last(), plans) else {
        return Err(Refusal::at("line 1", "it has no parts"));
    };
    let (n, n_crosses) = (first.header.n, first.header.n_crosses);
    let crosses = first.header.crosses.start..last.header.crosses.end;
    let mut solutions: u128 = 0;
    for part in &parts {
        let of_part = part.passes.first().map_or(0, |pass| pass.total.solutions);
        solutions = solutions
            .checked_add(of_part)
            .ok_or_else(|| Refusal::at("totals", "the sum of the parts is over 2^128"))?;
    }
    let fundamental =
        (crosses == (0..n_crosses)).then(|| check_whole(n, solutions, &first.header)).transpose()?;
    check_symmetric(&parts, n, options.stop, told)?;
    let tell = |done, of| told(Stage::Recounting { done, of });
    let recount = |draw: Draw| draw.recount(&plans, (options.kernel, options.n_threads), options.stop, &tell);
    let sample = draw.map(recount).transpose()?;
    let is_published = published(n).is_some();
    Ok(Report { n, crosses, n_crosses, solutions, fundamental, is_published, parts, sample })
}

/// Reads the first line; returns the number of parts.
pub(crate) fn begin<R: Read>(lines: &mut Lines<R>) -> Result<usize, Refusal> {
    lines.line(MAGIC, |fields| {
        read_format(fields)?;
        let n_parts = fields.number("the number of parts")?;
        if (1..=MOST_PARTS).contains(&n_parts) {
            Ok(n_parts)
        } else {
            Err(format!("it has {n_parts} parts: expected 1 to {MOST_PARTS}"))
        }
    })
}

/// Checks that a part continues where the previous one ends.
pub(crate) fn follows(before: &Header, after: &Header) -> Result<(), String> {
    let name = |header: &Header| {
        let Range { start, end } = header.crosses;
        let pass = header.passes.first();
        let (method, version) = pass.map_or(("?", 0), |pass| (pass.method.name(), pass.decomposition));
        (format!("n = {} by {method}, decomposition {version}", header.n), start..end)
    };
    let ((of_before, before_range), (of_after, after_range)) = (name(before), name(after));
    if of_before != of_after || before.n_crosses != after.n_crosses {
        return Err(format!("a part of {of_after} can't follow one of {of_before}"));
    }
    let (end, start) = (before_range.end, after_range.start);
    if start > end {
        return Err(format!("there is a gap: crosses {end}..{start} are in no part"));
    }
    if start < end {
        let until = after_range.end.min(end);
        return Err(format!("the parts overlap: crosses {start}..{until} are in two"));
    }
    Ok(())
}

/// The jobs of the parts, by their identities.
#[derive(Debug, Default)]
pub(crate) struct Jobs(BTreeSet<JobIdentity>);

impl Jobs {
    /// Adds the jobs of a part. All plan parts of a job are adjacent and in one part of the file, so two of these have
    /// different jobs.
    pub(crate) fn add(&mut self, header: &Header) -> Result<(), String> {
        for identity in header.passes.iter().map(|pass| pass.identity) {
            if !self.0.insert(identity) {
                return Err(format!("it is of job {identity}, as another part is"));
            }
        }
        Ok(())
    }
}

/// Checks that the symmetric placements are those of the board.
fn check_symmetric(
    parts: &[PartReport],
    n: BoardSize,
    stop: &AtomicBool,
    told: &(dyn Fn(Stage) + Sync),
) -> Result<(), Refusal> {
    // If they are published, each header has been compared with them.
    if published(n).is_some() {
        return Ok(());
    }
    told(Stage::Turning(n));
    let right = half_turn(n, stop).zip(quarter_turn(n, stop));
    let right = right.filter(|_| !stop.load(Ordering::Relaxed)).ok_or(Refusal::Interrupted)?;
    for (number, part) in (1..).zip(parts) {
        compare_symmetric(&part.header, right)
            .map_err(|what| Refusal::at(format!("header of part {number}"), what))?;
    }
    Ok(())
}

/// Checks that the total of a whole board can be right; returns the fundamental number.
fn check_whole(n: BoardSize, solutions: u128, header: &Header) -> Result<u128, Refusal> {
    let known = published(n);
    if let Some(known) = known.filter(|known| known.solutions != solutions) {
        return Err(Refusal::at(
            "totals",
            format!("it has {solutions} solutions, but {} are published for n = {n}", known.solutions),
        ));
    }
    let fundamental = fundamental(n, solutions, header.half_turn, header.quarter_turn).ok_or_else(|| {
        Refusal::at(
            "totals",
            format!(
                "{solutions} solutions contradict the {} and {} symmetric ones: by Burnside's lemma their sum is a \
                 multiple of 8",
                header.half_turn, header.quarter_turn
            ),
        )
    })?;
    if known.is_some_and(|known| known.fundamental != fundamental) {
        return Err(Refusal::at(
            "totals",
            format!("{fundamental} fundamental solutions differ from the published number"),
        ));
    }
    Ok(fundamental)
}
