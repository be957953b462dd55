//! How `queens top` looks.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use queens_proto::{JobState, JobStatus, WorkerState, WorkerStatus};
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Borders, Cell, Clear, Paragraph, Row, Table, TableState};

use super::{Pane, Screen};
use crate::describe::{describe_failure, state, time_left};
use crate::output::grouped;

/// Columns of the table of jobs that are not as wide as what is in them, or as what is left: id, n, state, priority,
/// time left and workers; with what is between the columns.
const FIXED: [u16; 6] = [4, 2, 9, 5, 14, 7];
const SPACING: u16 = 1;

/// Cells of the widest bar that shows how far a job is, and of the percentage beside a bar.
const WIDEST_BAR: u16 = 40;
const PERCENTAGE: u16 = 8;

const HELP: &str = "\
Tab, ← →      go to the other table
↑ ↓, j k      choose a job or worker (PgUp, PgDn, Home, End: faster)
p             pause the job, or let it go on; has what failed tried again
d             send the workers of this name home
b             block the workers of this name, or unblock them
q, Ctrl-C     quit; nothing on the coordinator changes

DONE is the recorded share of the work; LEFT is where the truth
should lie 19 times out of 20. Any key closes this.";

pub(super) fn draw(frame: &mut Frame<'_>, screen: &mut Screen) {
    // Events get a quarter, if there is room for any; jobs what they need, and at least a third, as far as workers need
    // what is left.
    let height = frame.area().height;
    let rows = |n: Option<usize>| u16::try_from(n.unwrap_or(0)).unwrap_or(u16::MAX).saturating_add(2).max(4);
    let jobs = rows(screen.state.as_ref().map(|state| state.jobs.len()));
    let workers = rows(screen.state.as_ref().map(|state| state.workers.len()));
    let events = if height < 16 { 0 } else { height / 4 };
    let tables = height.saturating_sub(events + 2);
    let jobs = jobs.min(tables.saturating_sub(workers).max(tables / 2));
    let [head, jobs, workers, events, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(jobs),
        Constraint::Min(3),
        Constraint::Length(events),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_head(frame, head, screen);
    draw_jobs(frame, jobs, screen);
    draw_workers(frame, workers, screen);
    draw_events(frame, events, screen);
    draw_foot(frame, foot, screen);
    if screen.help {
        draw_help(frame);
    }
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    if let Some((reason, since)) = &screen.away {
        // Whom it could not reach is said as long as it answers.
        let reason = reason.split_once("/: ").map_or(reason.as_str(), |(_, reason)| reason);
        let reason = reason.split(" (is it running").next().unwrap_or(reason);
        let text = format!(" no state from the coordinator for {}: {reason}", ago(*since));
        return frame.render_widget(Line::from(text).style(alarm()), area);
    }
    let Some(state) = &screen.state else {
        return frame.render_widget(Line::from(format!(" asking {}", screen.url)), area);
    };
    if let Some(error) = state.jobs.iter().find_map(|job| job.store_error.as_deref()) {
        let text = format!(" nothing is recorded at present: {error}");
        return frame.render_widget(Line::from(text).style(alarm()), area);
    }
    let threads: u64 = state.workers.iter().map(|worker| u64::from(worker.n_threads)).sum();
    let text = format!(
        " {}   jobs: {}   workers: {}   threads: {threads}   {} M nodes/s",
        screen.url,
        state.jobs.len(),
        state.workers.len(),
        grouped(screen.rate() / 1e6),
    );
    frame.render_widget(Line::from(text).style(Modifier::BOLD), area);
}

fn draw_jobs(frame: &mut Frame<'_>, area: Rect, screen: &mut Screen) {
    let jobs = screen.state.as_ref().map_or(&[][..], |state| &state.jobs);
    let header = [
        right("JOB"),
        right("N"),
        Cell::from("STATE"),
        right("PRIO"),
        Cell::from("DONE"),
        Cell::from("LEFT"),
        right("WORKERS"),
        right("SOLUTIONS"),
    ];
    // Of a number of solutions no digit may be missing: the bars have what is left.
    let longest = jobs.iter().map(|job| job.progress.solutions.to_string().len()).max().unwrap_or(0).max(9);
    let solutions = u16::try_from(longest).unwrap_or(u16::MAX);
    let others = FIXED.iter().sum::<u16>() + 7 * SPACING + PERCENTAGE;
    let bar = area.width.saturating_sub(others.saturating_add(solutions)).min(WIDEST_BAR);
    let [id, n, state, priority, left, workers] = FIXED;
    let widths = [id, n, state, priority, bar + PERCENTAGE, left, workers, solutions].map(Constraint::Length);
    let empty = match screen.state {
        Some(_) => "no jobs: 'queens submit N' makes one",
        None => "",
    };
    let rows = jobs.iter().map(|job| job_row(job, bar.into())).collect();
    let table = Titled { title: "jobs", rows, header: Row::new(header), widths: &widths, empty };
    table.draw(frame, area, screen.pane == Pane::Jobs, &mut screen.job_table);
}

fn job_row(job: &JobStatus, width: usize) -> Row<'static> {
    let style = match job.state {
        JobState::Running | JobState::Planning => Style::new(),
        JobState::Done => Style::new().fg(Color::Green),
        JobState::Failed => Style::new().fg(Color::Red),
        JobState::Paused | JobState::Queued => Style::new().fg(Color::Yellow),
        JobState::Cancelled => Style::new().add_modifier(Modifier::DIM),
    };
    let state =
        if job.n_disputed > 0 { format!("{}!", job.state.name()) } else { job.state.name().to_owned() };
    Row::new([
        right(&job.id.to_string()),
        right(&job.n.to_string()),
        Cell::from(state),
        right(&job.priority.to_string()),
        Cell::from(bar(job.fraction(), width)),
        Cell::from(time_left(job)),
        right(&job.n_workers.to_string()),
        right(&job.progress.solutions.to_string()),
    ])
    .style(style)
}

/// "██████░░░  66.7 %"
fn bar(fraction: f64, width: usize) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to width")]
    let full = (fraction.clamp(0.0, 1.0) * width as f64) as usize;
    let bar = format!("{}{}", "█".repeat(full), "░".repeat(width - full));
    format!("{bar}{:6.1} %", fraction * 100.0)
}

fn draw_workers(frame: &mut Frame<'_>, area: Rect, screen: &mut Screen) {
    let workers = screen.state.as_ref().map_or(&[][..], |state| &state.workers);
    let header = [
        Cell::from("NAME"),
        Cell::from("STATE"),
        Cell::from("KERNEL"),
        right("THREADS"),
        right("M NODES/S"),
        right("LEASES"),
        right("RECORDED"),
        right("HEARD OF"),
    ];
    // As wide as the others leave it, but not wider than a name may be expected to be.
    let name = area.width.saturating_sub(58 + 7 * SPACING).clamp(8, 32);
    let widths = [
        Constraint::Length(name),
        Constraint::Length(9),
        Constraint::Length(8),
        Constraint::Length(7),
        Constraint::Length(9),
        Constraint::Length(6),
        Constraint::Length(9),
        Constraint::Length(10),
    ];
    let empty = match screen.state {
        Some(_) => "no workers: 'queens-worker' makes one",
        None => "",
    };
    let rows = workers.iter().map(worker_row).collect();
    let table = Titled { title: "workers", rows, header: Row::new(header), widths: &widths, empty };
    table.draw(frame, area, screen.pane == Pane::Workers, &mut screen.worker_table);
}

fn worker_row(worker: &WorkerStatus) -> Row<'static> {
    let style = match worker.state {
        _ if !worker.connected => Style::new().fg(Color::Red),
        WorkerState::Ready => Style::new(),
        WorkerState::Draining | WorkerState::Blocked => Style::new().fg(Color::Yellow),
        WorkerState::Stuck | WorkerState::Failing => Style::new().fg(Color::Red),
    };
    let heard = match worker.connected {
        true => format!("{:.0} s ago", worker.silent.as_secs_f64()),
        false => "lost".to_owned(),
    };
    Row::new([
        Cell::from(worker.name.clone()),
        Cell::from(worker.state.name()),
        Cell::from(worker.kernel.clone()),
        right(&worker.n_threads.to_string()),
        right(&format!("{:.0}", worker.rate / 1e6)),
        right(&worker.n_leases.to_string()),
        right(&worker.n_recorded.to_string()),
        right(&heard),
    ])
    .style(style)
}

fn draw_events(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    let block = Block::new().borders(Borders::TOP).title(" events ");
    let shown = usize::from(block.inner(area).height);
    let newest_first = screen.state.iter().flat_map(|state| state.events.iter().rev());
    let lines: Vec<Line<'_>> = newest_first
        .take(shown)
        .map(|event| {
            let at = UNIX_EPOCH + Duration::from_millis(event.at_ms);
            let age = SystemTime::now().duration_since(at).unwrap_or_default();
            let age = Span::styled(format!("{:>8} ago  ", seconds(age)), Modifier::DIM);
            let job = event.job.map(|job| format!("job {job}: ")).unwrap_or_default();
            Line::from(vec![age, Span::raw(job), Span::raw(event.text.as_str())])
        })
        .collect();
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn draw_foot(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    let line = if let Some(question) = screen.question() {
        Line::from(format!(" {question}")).style(Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD))
    } else if screen.asking {
        Line::from(" asking the coordinator…")
    } else if let Some((message, good)) = screen.message() {
        let color = if good { Color::Green } else { Color::Red };
        Line::from(format!(" {message}")).style(color)
    } else {
        let keys: &[(&str, &str)] = match screen.pane {
            Pane::Jobs => {
                &[("↑↓", "choose"), ("p", "pause/resume"), ("Tab", "workers"), ("?", "help"), ("q", "quit")]
            }
            Pane::Workers => &[
                ("↑↓", "choose"),
                ("d", "drain"),
                ("b", "block/unblock"),
                ("Tab", "jobs"),
                ("?", "help"),
                ("q", "quit"),
            ],
        };
        let key = |&(key, what): &(&'static str, &'static str)| {
            [Span::styled(format!(" {key} "), Modifier::REVERSED), Span::raw(format!(" {what}  "))]
        };
        let mut spans: Vec<Span<'_>> = keys.iter().flat_map(key).collect();
        spans.extend(what_is_wrong(screen));
        Line::from(spans)
    };
    frame.render_widget(line, area);
}

/// What the selected row has to say that its columns can't.
fn what_is_wrong(screen: &Screen) -> Option<Span<'static>> {
    let state_shown = screen.state.as_ref()?;
    let wrong = match screen.pane {
        Pane::Jobs => {
            let job = state_shown.jobs.get(screen.job_table.selected()?)?;
            match job.n_failed {
                0 => None,
                _ => Some(format!("{}: {}", state(job), describe_failure(job))),
            }
        }
        Pane::Workers => state_shown.workers.get(screen.worker_table.selected()?)?.failure.clone(),
    };
    wrong.map(|wrong| Span::styled(wrong, Color::Red))
}

fn draw_help(frame: &mut Frame<'_>) {
    let text = Text::from(HELP);
    let width = u16::try_from(text.width()).unwrap_or(u16::MAX).saturating_add(4);
    let height = u16::try_from(text.height()).unwrap_or(u16::MAX).saturating_add(2);
    let area = frame.area().centered(Constraint::Length(width), Constraint::Length(height));
    let block = Block::bordered().title(" keys ").padding(ratatui::widgets::Padding::horizontal(1));
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(text).block(block), area);
}

/// A table under its title.
struct Titled<'a> {
    title: &'a str,
    rows: Vec<Row<'a>>,
    header: Row<'a>,
    widths: &'a [Constraint],
    /// What is said when there are no rows.
    empty: &'a str,
}

impl Titled<'_> {
    fn draw(self, frame: &mut Frame<'_>, area: Rect, focused: bool, state: &mut TableState) {
        let title = Span::styled(
            format!(" {} ", self.title),
            if focused { Modifier::REVERSED | Modifier::BOLD } else { Modifier::empty() },
        );
        let block = Block::new().borders(Borders::TOP).title(title);
        if self.rows.is_empty() {
            let text = Text::styled(format!("  {}", self.empty), Modifier::DIM);
            return frame.render_widget(Paragraph::new(text).block(block), area);
        }
        let highlight = if focused { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
        let table = Table::new(self.rows, self.widths)
            .header(self.header.style(Modifier::DIM))
            .block(block)
            .column_spacing(SPACING)
            .row_highlight_style(highlight);
        frame.render_stateful_widget(table, area, state);
    }
}

fn right(text: &str) -> Cell<'static> {
    Cell::from(Text::from(text.to_owned()).alignment(Alignment::Right))
}

fn alarm() -> Style {
    Style::new().fg(Color::White).bg(Color::Red).add_modifier(Modifier::BOLD)
}

fn ago(at: Instant) -> String {
    seconds(at.elapsed())
}

fn seconds(time: Duration) -> String {
    crate::output::duration(time.as_secs_f64().round().max(1.0))
}
