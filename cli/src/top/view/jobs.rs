//! Draws the table of jobs.

use queens_model::{JobState, JobStatus};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::column_layout::{Column, Content, Entry, Titled, number, text, word};
use super::header::title;
use super::palette::Palette;
use crate::present::job::{ends, fault, time_left};
use crate::present::numbers::{duration, percent};
use crate::top::screen::Screen;

const COLUMNS: [Column; 12] = [
    number("JOB", 0),
    number("N", 1),
    word("METHOD", 8),
    word("STATE", 3),
    number("PRIO", 7),
    text("DONE", 2, 9),
    word("LEFT", 4),
    number("WORKERS", 6),
    number("SOLUTIONS", 5),
    word("COUNTED FOR", 10),
    text("ENDS", 9, 20),
    text("NOTE", 11, 24),
];

/// Draws the table. O(visible jobs).
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, screen: &mut Screen, palette: Palette) {
    let room = Titled::<12>::room(area);
    let is_focused = !screen.is_at_workers;
    let title = title("jobs", screen, &screen.jobs, |lists| lists.jobs.len());
    let window = screen.jobs.selection.window(screen.jobs.shown.len(), room);
    let selected = screen.jobs.selection.place().checked_sub(window.start);
    let shown = screen.jobs.shown.get(window).unwrap_or_default();
    let entry = |at: &usize| {
        let job = screen.lists.as_ref()?.jobs.get(*at)?;
        Some(Entry { contents: contents(job), style: style(job, palette) })
    };
    let empty = match &screen.lists {
        None => "",
        Some(lists) if lists.jobs.is_empty() => "no jobs: 's' or 'queens submit N' makes one",
        Some(_) => "no job has these words: Esc shows all",
    };
    let entries = shown.iter().filter_map(entry).collect();
    Titled { title, columns: COLUMNS, entries, selected, is_focused, empty }.draw(frame, area);
}

/// Returns the style of a job's state.
pub(super) fn style(job: &JobStatus, palette: Palette) -> Style {
    match job.state {
        _ if job.is_in_dispute() => palette.bad(),
        JobState::Running | JobState::Planning | JobState::Verifying => Style::new(),
        JobState::Done => palette.good(),
        JobState::Failed | JobState::Disputed | JobState::Damaged => palette.bad(),
        JobState::Paused | JobState::Queued => palette.attention(),
        JobState::Cancelled => Style::new().add_modifier(Modifier::DIM),
    }
}

fn contents(job: &JobStatus) -> [Content; 12] {
    let disputed = if job.is_in_dispute() { "!" } else { "" };
    let left =
        job.plan_fraction.map_or_else(|| time_left(job), |share| format!("{} planned", percent(share.get())));
    let ends = ends(job).map(|ends| ends.trim_start_matches("done ").to_owned());
    [
        job.id.into(),
        job.n.into(),
        job.method.into(),
        format!("{}{disputed}", job.state.name()).into(),
        job.priority.into(),
        Content::Bar(job.fraction()),
        left.into(),
        job.n_workers.into(),
        job.progress.solutions.into(),
        duration(job.active.as_secs_f64()).into(),
        ends.unwrap_or_default().into(),
        note(job).into(),
    ]
}

/// Returns further remarks on a job.
fn note(job: &JobStatus) -> String {
    let waits = job.waits_for.as_ref().map(|what| format!("waits for {what}"));
    let pass = match (job.second, job.terms.second_of) {
        (Some(second), _) => Some(format!("second pass: job {second}")),
        (None, Some(first)) => Some(format!("second pass of job {first}")),
        (None, None) => None,
    };
    let notes = [job.pass_mismatch.clone(), fault(job), waits, job.part(), pass];
    notes.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
