//! Draws the screen of `queens top`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use console::{measure_text_width, truncate_str};
use queens_model::{Event, FleetSpeed, JobState, JobStatus, WorkerState, WorkerStatus, duration, plain};
use queens_platform::is_utf8;
use ratatui::Frame;
use ratatui::buffer::Cell;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Paragraph, Wrap};

use super::requests::View;
use super::screen::{Prompt, Screen};
use crate::commands::contributions::contributions_table;
use crate::commands::jobs::{NO_JOBS, jobs_table};
use crate::commands::workers::workers_table;
use crate::present::job::describe;
use crate::present::work::speeds;

/// Colours that every terminal has; none with `NO_COLOR`. No colour is the only carrier of information, and none is a
/// background, so that light and dark terminals can show them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    pub(super) has_colors: bool,
    pub(super) is_utf8: bool,
}

impl Palette {
    /// Creates the palette that the environment asks for.
    pub(crate) fn from_env() -> Self {
        let has_colors = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { has_colors, is_utf8: is_utf8() }
    }

    fn good(self) -> Style {
        self.of(Color::Green)
    }

    fn bad(self) -> Style {
        self.of(Color::Red).add_modifier(Modifier::BOLD)
    }

    fn attention(self) -> Style {
        self.of(Color::Magenta)
    }

    fn of(self, color: Color) -> Style {
        if self.has_colors { Style::new().fg(color) } else { Style::new() }
    }

    fn of_job(self, job: &JobStatus) -> Style {
        match job.state {
            _ if job.is_in_dispute() => self.bad(),
            JobState::Running | JobState::Planning | JobState::Verifying => Style::new(),
            JobState::Done => self.good(),
            JobState::Failed | JobState::Disputed | JobState::Damaged => self.bad(),
            JobState::Paused | JobState::Queued => self.attention(),
            JobState::Cancelled => Style::new().add_modifier(Modifier::DIM),
        }
    }

    fn of_worker(self, worker: &WorkerStatus) -> Style {
        match worker.state {
            _ if !worker.connected => self.bad(),
            WorkerState::Ready => Style::new(),
            WorkerState::Draining | WorkerState::Blocked => self.attention(),
            WorkerState::Stuck | WorkerState::Failing => self.bad(),
        }
    }
}

/// Draws the screen into a terminal of any size. O(cells of the screen + contributions of one job + events).
pub(crate) fn draw(frame: &mut Frame<'_>, screen: &mut Screen, palette: Palette) {
    let area = frame.area();
    let (foot, foot_style) = foot(screen, palette);
    let foot_height = if measure_text_width(&foot) > area.width.into() { 2 } else { 1 };
    let events_height = if area.height < 16 { 0 } else { area.height / 4 };
    let rows = [
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(events_height),
        Constraint::Length(foot_height),
    ];
    let [head_area, body, events, foot_area] = Layout::vertical(rows).areas(area);
    let (head, head_style) = head(screen, palette);
    frame.render_widget(line(&head, area.width).style(head_style), head_area);
    match screen.view {
        View::Jobs => draw_jobs(frame, body, screen, palette),
        View::Workers => draw_workers(frame, body, screen, palette),
        View::Job(_) => draw_job(frame, body, screen, palette),
    }
    draw_events(frame, events, screen);
    if screen.away.is_some() {
        // Everything but the first line is out of date.
        frame.buffer_mut().set_style(body.union(events), Modifier::DIM);
    }
    frame.render_widget(Paragraph::new(foot).style(foot_style).wrap(Wrap { trim: true }), foot_area);
    if !palette.is_utf8 {
        frame.buffer_mut().content.iter_mut().for_each(to_ascii);
    }
}

/// Replaces a character that the terminal may not show.
fn to_ascii(cell: &mut Cell) {
    match cell.symbol() {
        symbol if symbol.is_ascii() => {}
        "─" | "–" => _ = cell.set_char('-'),
        "…" => _ = cell.set_char('.'),
        "▏" => _ = cell.set_char('_'),
        "↑" => _ = cell.set_char('^'),
        "↓" => _ = cell.set_char('v'),
        _ => _ = cell.set_char('?'),
    }
}

fn line(text: &str, width: u16) -> Line<'static> {
    Line::from(truncate_str(&plain::line(text), width.into(), "…").into_owned())
}

fn titled(title: &str, width: u16) -> Block<'static> {
    Block::new().borders(Borders::TOP).title(line(&format!(" {title} "), width))
}

/// Describes the coordinator, or its problem.
fn head(screen: &Screen, palette: Palette) -> (String, Style) {
    let alarm = palette.bad().add_modifier(Modifier::REVERSED);
    if let Some((problem, since)) = &screen.away {
        let since = seconds(since.elapsed());
        return (format!(" no state from the coordinator for {since}: {problem}"), alarm);
    }
    let Some(greeting) = &screen.greeting else {
        return (format!(" asking {}", screen.url), Style::new());
    };
    let coordinator = &greeting.status;
    if let Some(error) = &coordinator.store_error {
        return (format!(" nothing is recorded at present: {error}"), alarm);
    }
    if !coordinator.refuses.is_empty() {
        return (format!(" refuses {}", coordinator.refuses.join("; ")), alarm);
    }
    let role = greeting.role.as_ref().map(|role| format!("   you: {role}")).unwrap_or_default();
    let text = format!(
        " {}   {}{role}   store: {}   up {}   slowest step: {:.2} s",
        screen.url,
        coordinator.version,
        coordinator.store,
        seconds(coordinator.uptime),
        coordinator.slowest_step.as_secs_f64(),
    );
    (text, Modifier::BOLD.into())
}

fn draw_jobs(frame: &mut Frame<'_>, area: Rect, screen: &mut Screen, palette: Palette) {
    let (shown, selected) = screen.jobs.window(room(area));
    let jobs = &screen.jobs.rows()[shown];
    let styles: Vec<Style> = jobs.iter().map(|job| palette.of_job(job)).collect();
    let title = format!("jobs: {}", screen.jobs.rows().len());
    let empty = if screen.greeting.is_some() { NO_JOBS } else { "" };
    draw_table(frame, area, &title, &jobs_table(jobs), &styles, selected, empty);
}

fn draw_workers(frame: &mut Frame<'_>, area: Rect, screen: &mut Screen, palette: Palette) {
    let (shown, selected) = screen.workers.window(room(area));
    let all = screen.workers.rows();
    let workers = &all[shown];
    let styles: Vec<Style> = workers.iter().map(|worker| palette.of_worker(worker)).collect();
    let together = FleetSpeed::of(all);
    let n_threads: u64 = all.iter().map(|worker| u64::from(worker.n_threads)).sum();
    let gap = together.gap().map(|gap| format!(" ({gap})")).unwrap_or_default();
    let title = format!("workers: {}   threads: {n_threads}   {}{gap}", all.len(), speeds(together.speed));
    let table = workers_table(workers, &screen.absent);
    draw_table(frame, area, &title, &table, &styles, selected, "no workers; 'queens-worker' makes one");
}

/// Returns the number of rows of a table that fit.
fn room(area: Rect) -> usize {
    usize::from(area.height).saturating_sub(2)
}

fn draw_table(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    table: &str,
    styles: &[Style],
    selected: usize,
    empty: &str,
) {
    let block = titled(title, area.width);
    let style = |at: usize| match at.checked_sub(1) {
        None => Modifier::DIM.into(),
        Some(row) if row == selected && row < styles.len() => styles[row].add_modifier(Modifier::REVERSED),
        Some(row) => styles.get(row).copied().unwrap_or_default(),
    };
    let mut lines: Vec<Line<'_>> =
        table.lines().enumerate().map(|(at, text)| line(text, area.width).style(style(at))).collect();
    if lines.len() == 1 {
        lines = vec![line(empty, area.width)];
    }
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// Draws one job: what `queens status` and `queens contributions` print.
fn draw_job(frame: &mut Frame<'_>, area: Rect, screen: &mut Screen, palette: Palette) {
    let View::Job(id) = screen.view else { return };
    let page = &mut screen.page;
    let Some(job) = &page.status else { return };
    let contributions = match page.contributions.as_slice() {
        [] => String::new(),
        all => contributions_table(all),
    };
    let text = format!("{}\n\n{contributions}", describe(job));
    // Long lines are wrapped, between words.
    let n_rows = |line: &str| measure_text_width(line).div_ceil(usize::from(area.width.max(1))).max(1);
    let n_lines = u16::try_from(text.lines().map(n_rows).sum::<usize>()).unwrap_or(u16::MAX);
    page.scrolled = page.scrolled.min(n_lines.saturating_sub(area.height.saturating_sub(1)));
    let block =
        titled(&format!("job {id}: {}", job.state.name()), area.width).title_style(palette.of_job(job));
    let text = Paragraph::new(plain::lines(&text).into_owned()).wrap(Wrap { trim: false });
    frame.render_widget(text.scroll((page.scrolled, 0)).block(block), area);
}

/// Draws the latest events that fit, of all jobs or of one. O(events).
fn draw_events(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    let of = if let View::Job(id) = screen.view { Some(id) } else { None };
    let title = of.map_or_else(|| "events".to_owned(), |job| format!("events of job {job}"));
    let latest_first = screen.events.iter().rev().filter(|event| of.is_none() || event.job == of);
    let lines: Vec<Line<'_>> =
        latest_first.take(area.height.into()).map(|event| event_line(event, area.width)).collect();
    frame.render_widget(Paragraph::new(lines).block(titled(&title, area.width)), area);
}

fn event_line(event: &Event, width: u16) -> Line<'static> {
    let at = UNIX_EPOCH + Duration::from_millis(event.at_ms);
    let age = seconds(SystemTime::now().duration_since(at).unwrap_or_default());
    let job = event.job.map(|job| format!("job {job}: ")).unwrap_or_default();
    line(&format!("{age:>11} ago  {job}{}", event.text), width)
}

/// Returns the last line: a prompt, a message, or else the keys.
fn foot(screen: &Screen, palette: Palette) -> (String, Style) {
    let message = screen.message();
    let problem = message.map(|(text, _)| format!("  {text}")).unwrap_or_default();
    let asked = palette.attention().add_modifier(Modifier::BOLD);
    match &screen.prompt {
        Some(Prompt::Question(action)) => (format!("{} y: yes, any other key: no", action.question()), asked),
        Some(Prompt::Line(text)) => (format!("queens {text}▏ Enter: do it, Esc: cancel{problem}"), asked),
        None if screen.is_acting => ("asking the coordinator…".to_owned(), Style::new()),
        None => match message {
            Some((text, true)) => (text.to_owned(), palette.good()),
            Some((text, false)) => (text.to_owned(), palette.bad()),
            None => (keys(screen), Modifier::DIM.into()),
        },
    }
}

fn keys(screen: &Screen) -> String {
    let [general, changes] = match screen.view {
        View::Jobs => [
            "q quit  Enter show  Tab workers",
            "p pause/resume  s submit  u priority  v verify-more  c cancel",
        ],
        View::Workers => ["q quit  Enter show job  Tab jobs", "d drain  b block/unblock  s submit"],
        View::Job(_) => {
            ["q quit  Esc back  ↑↓ scroll", "p pause/resume  u priority  v verify-more  c cancel"]
        }
    };
    if screen.is_for_viewer() { general.to_owned() } else { format!("{general}  {changes}") }
}

/// Formats a time in whole seconds, at least one.
fn seconds(time: Duration) -> String {
    duration(time.as_secs_f64().round().max(1.0))
}
