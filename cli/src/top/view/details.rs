//! Draws details of a job besides its progress.

use queens_model::{JobState, JobStatus, Share};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::palette::Palette;
use super::truncate::{cells, truncate};
use crate::present::job::{comparison, fault};
use crate::present::numbers::{date, duration};

/// Cells between two facts.
const GAP: usize = 3;

/// A fact: its label and its value.
struct Fact {
    what: &'static str,
    is: String,
    style: Style,
}

/// Formats the facts in lines of this width, as many in each line as fit.
pub(super) fn details(job: &JobStatus, palette: Palette, width: usize) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = Vec::new();
    let mut taken = width;
    for Fact { what, is, style } in all(job, palette) {
        let is = truncate(&is, width.saturating_sub(cells(what) + 2));
        let needed = cells(what) + 1 + cells(&is);
        if taken + GAP + needed > width {
            lines.push(Line::from(" "));
            taken = 1;
        } else {
            taken += GAP;
            lines.iter_mut().last().into_iter().for_each(|line| line.push_span(format!("{:GAP$}", "")));
        }
        taken += needed;
        if let Some(line) = lines.last_mut() {
            line.push_span(Span::styled(format!("{what} "), Modifier::DIM));
            line.push_span(Span::styled(is, style));
        }
    }
    lines
}

/// Returns all facts, the most important first.
fn all(job: &JobStatus, palette: Palette) -> Vec<Fact> {
    let (plain, good, bad) = (Style::new(), palette.good(), palette.bad());
    let found = match job.state {
        JobState::Done => "solutions",
        _ if job.is_provisional() => "provisional",
        _ => "found so far",
    };
    let compared = (job.state == JobState::Done).then(|| comparison(job));
    let at = |ms: Option<u64>| ms.map(|ms| date(ms / 1000));
    let recount = (job.terms.recount != Share::NOTHING).then(|| {
        let of = format!("{} of the work", job.terms.recount);
        format!("{of}: {} spans confirmed, {} open", job.n_verified, job.recounting.n_open)
    });
    let pass = match (job.second, job.terms.second_of) {
        (Some(second), _) => Some(format!("job {second}")),
        (None, Some(first)) => Some(format!("of job {first}")),
        (None, None) => None,
    };
    let all = [
        ("in doubt", job.pass_mismatch.clone(), bad),
        ("disputed", job.disputes(), bad),
        (if job.state == JobState::Damaged { "damaged" } else { "failed" }, fault(job), bad),
        ("waits for", job.waits_for.clone(), palette.attention()),
        (found, Some(job.progress.solutions.to_string()), plain),
        ("compared", compared, if job.agrees() == Some(false) { bad } else { good }),
        ("fundamental", job.fundamental.map(|count| count.to_string()), plain),
        ("workers", Some(job.n_workers.to_string()), plain),
        ("counted for", Some(duration(job.active.as_secs_f64())), plain),
        ("second counts", recount, plain),
        ("second pass", pass, plain),
        ("counts only", job.part(), plain),
        ("identity", job.identity.map(|identity| identity.to_string()), plain),
        ("submitted", at((job.created_ms > 0).then_some(job.created_ms)), plain),
        ("begun", at(job.started_ms), plain),
        (if job.state == JobState::Done { "finished" } else { "given up" }, at(job.finished_ms), plain),
    ];
    all.into_iter().filter_map(|(what, is, style)| Some(Fact { what, is: is?, style })).collect()
}
