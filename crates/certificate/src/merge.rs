//! Merges certificates of parts of one board into one.

use std::io::{Read, Seek, Write};

use crate::check::{Jobs, begin, check, follows};
use crate::header::Header;
use crate::lines::Lines;
use crate::options::{Options, Stage};
use crate::refusal::Refusal;
use crate::report::Report;
use crate::writer::compressed;

/// A certificate to merge.
#[derive(Debug)]
pub struct Part<R> {
    /// The name for messages.
    pub name: String,
    /// The file.
    pub file: R,
}

/// Writes all parts of these certificates into one, in the order of their plan parts. Each part keeps its signature.
/// Checks everything first, except samples. Returns the report of each certificate, in that order.
///
/// # Errors
/// If one of them does not hold, or they leave gaps or overlap.
pub fn merge<R: Read + Seek>(
    parts: Vec<Part<R>>,
    out: impl Write,
    options: &Options<'_>,
    told: &(dyn Fn(Stage) + Sync),
) -> Result<Vec<Report>, Refusal> {
    let options = Options { sample: None, ..*options };
    let mut checked = Vec::new();
    for mut part in parts {
        let report = check(&mut part.file, &options, told).map_err(|refusal| of(&part.name, refusal))?;
        checked.push((report, part));
    }
    checked.sort_by_key(|(report, _)| (report.crosses.start, report.crosses.end));
    for pair in checked.windows(2) {
        let [(before, _), (after, part)] = pair else { continue };
        if let (Some(before), Some(after)) = (before.parts.last(), after.parts.first()) {
            follows(&before.header, &after.header).map_err(|what| Refusal::at(&part.name, what))?;
        }
    }
    let mut jobs = Jobs::default();
    for (report, part) in &checked {
        for of_part in &report.parts {
            jobs.add(&of_part.header).map_err(|what| Refusal::at(&part.name, what))?;
        }
    }
    let n_parts = checked.iter().map(|(report, _)| report.parts.len()).sum();
    let mut out = compressed(out, n_parts)?;
    let mut reports = Vec::new();
    for (report, mut part) in checked {
        let copied =
            part.file.rewind().map_err(Refusal::Io).and_then(|()| copy(&mut part.file, &mut out, &report));
        copied.map_err(|refusal| of(&part.name, refusal))?;
        reports.push(report);
    }
    out.finish()?.flush()?;
    Ok(reports)
}

/// Adds the name of the file to a refusal.
fn of(name: &str, refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Wrong { place, what } => Refusal::at(format!("'{name}', {place}"), what),
        other => other,
    }
}

/// Copies the parts of a file unchanged.
fn copy(file: impl Read, out: &mut impl Write, report: &Report) -> Result<(), Refusal> {
    let mut lines = Lines::new(file);
    for number in 0..begin(&mut lines)? {
        let header = Header::read(&mut lines)?;
        if report.parts.get(number).is_none_or(|part| part.header != header) {
            return Err(Refusal::at(lines.place(), "the file has changed meanwhile"));
        }
        write!(out, "{header}")?;
        loop {
            let line = lines.take()?;
            writeln!(out, "{line}")?;
            if line.starts_with("signature\t") {
                break;
            }
        }
    }
    lines.end()
}
