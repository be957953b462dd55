//! Draws one job on the whole screen.

use queens_model::{Contribution, JobStatus, VerdictStatus};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Paragraph};

use super::column_layout::{Column, Entry, Titled, bar, number, text};
use super::details::details;
use super::palette::Palette;
use super::truncate::truncate;
use super::{curve, events, footer, header, jobs, parts};
use crate::present::job::time_left_and_end;
use crate::present::numbers::{grouped, two_digits};
use crate::top::screen::{Page, Screen};

const COLUMNS: [Column; 6] = [
    text("WORKER", 0, 8),
    text("KERNEL", 5, 6),
    number("SPANS", 4),
    number("WORK", 3),
    number("CORE-HOURS", 2),
    number("SHARE", 1),
];

/// The minimum width at which parts and contributors are side by side.
const WIDE: u16 = 120;

/// The areas of the page.
#[derive(Debug, Default)]
struct Areas {
    header: Rect,
    details: Rect,
    curve: Rect,
    parts: Rect,
    counters: Rect,
    verdicts: Rect,
    events: Rect,
    footer: Rect,
}

/// The numbers of lines that the areas need.
#[derive(Clone, Copy, Debug)]
struct Needs {
    n_facts: usize,
    n_parts: usize,
    n_counters: usize,
    n_verdicts: usize,
}

/// Draws the page. O(cells of the screen + contributions); there are at most 10,000 contributions.
pub(super) fn draw(frame: &mut Frame<'_>, screen: &mut Screen, palette: Palette) {
    let Some(page) = &screen.page else { return };
    let details =
        page.status.as_ref().map(|job| details(job, palette, frame.area().width.into())).unwrap_or_default();
    let counters = page.counters.as_ref();
    let needs = Needs {
        n_facts: details.len(),
        n_parts: page.status.as_ref().map_or(0, n_parts),
        n_counters: counters.map_or(0, |counters| counters.contributions.len()),
        n_verdicts: counters.map_or(0, |counters| counters.verdicts.len()),
    };
    let areas = areas(frame.area(), needs);
    let room = (areas.curve.width.into(), parts::room(areas.parts));
    if screen.away.is_some() {
        header::draw_cluster(frame, areas.header, screen, palette);
    } else if let Some(job) = &page.status {
        draw_title(frame, areas.header, job, palette);
    } else {
        frame.render_widget(Line::from(format!(" asking for job {}", page.job)), areas.header);
    }
    if let Some(job) = &page.status {
        let bars = Rect { height: 1.min(areas.details.height), ..areas.details };
        draw_bar(frame, bars, job);
        let below = Rect {
            y: areas.details.y + bars.height,
            height: areas.details.height - bars.height,
            ..areas.details
        };
        frame.render_widget(Paragraph::new(details), below);
        let news = screen.job.as_ref().filter(|news| news.id == page.job);
        curve::draw(frame, areas.curve, (job.id, job.method), news, palette);
        let progress_history = news.map(|news| &news.progress_history);
        parts::draw(frame, areas.parts, progress_history, palette);
        draw_contributions(frame, areas.counters, page);
        let verdicts = page.counters.as_ref().map_or(&[][..], |counters| &counters.verdicts);
        draw_verdicts(frame, areas.verdicts, verdicts, palette);
    }
    events::draw(frame, areas.events, screen, Some(page.job));
    footer::draw(frame, areas.footer, screen, palette);
    screen.room = room;
}

/// Divides the page: contributors and parts get what they need, as far as possible; events a quarter, and the rest.
fn areas(area: Rect, needs: Needs) -> Areas {
    let n_facts = (needs.n_facts + 1).min(usize::from(area.height / 3).max(1));
    let [header, details, rest, footer] =
        Layout::vertical([length(1), length(n_facts), Constraint::Fill(1), length(1)]).areas(area);
    let curve = match rest.height {
        ..12 => 0,
        12..24 => 3,
        24.. => 7,
    };
    let left = usize::from(rest.height).saturating_sub(curve);
    let left = left - if left >= 8 { (left / 4).max(3) } else { 0 };
    let n_columns = usize::from(if area.width < WIDE { area.width } else { area.width / 2 - 1 }).max(1);
    let parts = needs.n_parts.div_ceil(n_columns) + 1;
    let verdicts = if needs.n_verdicts > 0 { (needs.n_verdicts + 1).min(left / 4) } else { 0 };
    let counters = (needs.n_counters + 2).max(4);
    let events = Constraint::Fill(1);
    if area.width < WIDE {
        let counters = counters.min((left / 2).max(left.saturating_sub(parts + verdicts)));
        let parts = parts.min(left - counters.min(left)).saturating_sub(verdicts);
        // A title alone is useless.
        let parts = if parts < 2 { 0 } else { parts };
        let counters = if left < 8 { left - parts } else { counters };
        let all = [length(curve), length(parts), length(counters), length(verdicts), events];
        let [curve, parts, counters, verdicts, events] = Layout::vertical(all).areas(rest);
        return Areas { header, details, curve, parts, counters, verdicts, events, footer };
    }
    let middle = parts.max(counters + verdicts).min(left);
    let [curve, middle, events] = Layout::vertical([length(curve), length(middle), events]).areas(rest);
    let [parts, right] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).spacing(2).areas(middle);
    let [counters, verdicts] = Layout::vertical([Constraint::Fill(1), length(verdicts)]).areas(right);
    Areas { header, details, curve, parts, counters, verdicts, events, footer }
}

fn length(n: usize) -> Constraint {
    Constraint::Length(u16::try_from(n).unwrap_or(u16::MAX))
}

/// Returns the number of parts of the plan that are counted.
fn n_parts(job: &JobStatus) -> usize {
    let all = usize::try_from(job.n_parts).unwrap_or(usize::MAX);
    let parts = job.terms.part_range;
    parts.map_or(all, |parts| parts.range().len())
}

fn draw_title(frame: &mut Frame<'_>, area: Rect, job: &JobStatus, palette: Palette) {
    let JobStatus { id, n, method, priority, .. } = job;
    let state = job.state.name();
    let text = format!(" job {id}   n = {n}   {method}   {state}   priority {priority}");
    let style = jobs::style(job, palette).add_modifier(Modifier::BOLD);
    frame.render_widget(Line::from(truncate(&text, area.width.into())).style(style), area);
}

fn draw_bar(frame: &mut Frame<'_>, area: Rect, job: &JobStatus) {
    let width = usize::from(area.width);
    let left = match time_left_and_end(job).as_str() {
        "-" => String::new(),
        left => format!("   left: {left}"),
    };
    let room = width.saturating_sub(left.chars().count() + 1).clamp(20.min(width), 100);
    let text = format!(" {}{left}", bar(job.fraction(), room.saturating_sub(1)));
    frame.render_widget(Line::from(truncate(&text, width)), area);
}

fn draw_contributions(frame: &mut Frame<'_>, area: Rect, page: &Page) {
    let counters = page.counters.as_ref();
    let contributions: &[Contribution] = counters.map_or(&[], |counters| &counters.contributions);
    let all = contributions.iter().map(|it| it.work as f64).sum::<f64>().max(1.0);
    let room = Titled::<6>::room(area);
    let first = page.scrolled.min(contributions.len().saturating_sub(room));
    let entry = |it: &Contribution| Entry {
        contents: [
            it.worker.as_str().into(),
            it.kernel.as_str().into(),
            it.n_spans.into(),
            grouped(it.work as f64).into(),
            two_digits(it.time.as_secs_f64() / 3600.0).into(),
            format!("{:.1} %", it.work as f64 / all * 100.0).into(),
        ],
        style: Style::new(),
    };
    let more = match contributions.len() {
        n if n > room => format!(" ({} to {} of {n}, ↑ ↓)", first + 1, (first + room).min(n)),
        _ => String::new(),
    };
    let table = Titled {
        title: format!("contributions{more}"),
        columns: COLUMNS,
        entries: contributions.iter().skip(first).take(room).map(entry).collect(),
        selected: None,
        is_focused: false,
        empty: if counters.is_some() { "nothing is recorded yet" } else { "" },
    };
    table.draw(frame, area);
}

/// Draws the latest verdicts that fit.
fn draw_verdicts(frame: &mut Frame<'_>, area: Rect, verdicts: &[VerdictStatus], palette: Palette) {
    let title = format!(" disputes that were decided: {} ", verdicts.len());
    let block = Block::new().borders(Borders::TOP).title(truncate(&title, area.width.into()));
    let room = usize::from(block.inner(area).height);
    let mut latest: Vec<&VerdictStatus> = verdicts.iter().collect();
    latest.sort_by_key(|it| std::cmp::Reverse(it.at_ms));
    let line = |it: &&VerdictStatus| {
        let (span, by, lost_by) = (it.span, &it.worker, &it.lost_worker);
        let (solutions, lost) = (it.count.solutions, it.lost.solutions);
        let text = format!(" {span}: {solutions} by {by}, not {lost} by {lost_by}");
        Line::styled(truncate(&text, area.width.into()), palette.bad())
    };
    let lines: Vec<Line<'_>> = latest.iter().take(room).map(line).collect();
    frame.render_widget(Paragraph::new(lines).block(block), area);
}
