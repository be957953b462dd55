//! Draws the screen of `queens top`.

mod column_layout;
mod curve;
mod details;
mod events;
mod footer;
mod header;
mod job_page;
mod jobs;
mod overlay;
mod palette;
mod parts;
mod truncate;
mod workers;

#[cfg(test)]
mod tests;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Modifier;

pub(crate) use palette::Palette;

use crate::top::screen::{Front, Screen};

/// Draws the screen into a terminal of any size. O(cells of the screen + data of one job and of events).
pub(crate) fn draw(frame: &mut Frame<'_>, screen: &mut Screen, palette: Palette) {
    match screen.page {
        Some(_) => job_page::draw(frame, screen, palette),
        None => draw_tables(frame, screen, palette),
    }
    if screen.away.is_some() {
        // Everything but the line with the problem is out of date.
        let area = frame.area();
        let old = Rect { y: area.y + 1.min(area.height), height: area.height.saturating_sub(2), ..area };
        frame.buffer_mut().set_style(old, Modifier::DIM);
    }
    match &mut screen.front {
        Some(Front::Help(first)) => *first = overlay::draw_help(frame, *first),
        Some(Front::Form(form)) => overlay::draw_form(frame, form, palette),
        Some(Front::Question(..) | Front::Filter(_)) | None => {}
    }
}

/// Draws jobs and workers, the curve of the selected job between them, and events.
fn draw_tables(frame: &mut Frame<'_>, screen: &mut Screen, palette: Palette) {
    let [header, coordinator, jobs, curve, workers, events, footer] = areas(frame.area(), screen);
    header::draw_cluster(frame, header, screen, palette);
    header::draw_coordinator(frame, coordinator, screen, palette);
    jobs::draw(frame, jobs, screen, palette);
    workers::draw(frame, workers, screen, palette);
    events::draw(frame, events, screen, None);
    footer::draw(frame, footer, screen, palette);
    screen.room = (curve.width.into(), 0);
    if curve.height > 0
        && let Some(job) = screen.selected_job()
    {
        let news = screen.job.as_ref().filter(|news| news.id == job.id);
        curve::draw(frame, curve, (job.id, job.method), news, palette);
    }
}

/// Divides the screen: tables get what they need, as far as possible; events at least a quarter, and the rest.
fn areas(area: Rect, screen: &Screen) -> [Rect; 7] {
    let rows = |n: usize| u16::try_from(n).unwrap_or(u16::MAX).saturating_add(2).max(4);
    let (jobs, workers) = (rows(screen.jobs.shown.len()), rows(screen.workers.shown.len()));
    let curve = match area.height {
        _ if screen.jobs.shown.is_empty() => 0,
        ..20 => 0,
        20..36 => 3,
        _ => 6,
    };
    let room = area.height.saturating_sub(3 + curve);
    let events = if area.height < 16 { 0 } else { room / 4 };
    let tables = room - events;
    let jobs = jobs.min(tables.saturating_sub(workers).max(tables / 2));
    let workers = if events == 0 { tables - jobs } else { workers.min(tables - jobs) };
    Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(jobs),
        Constraint::Length(curve),
        Constraint::Length(workers),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area)
}
