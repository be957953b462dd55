//! How `queens top` looks.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use queens_messages::{FleetSpeed, JobState, JobStatus, WorkerState, WorkerStatus, plain};
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Borders, Cell, Clear, Paragraph, Row, Table, TableState};

use crate::present::job::{describe_failure, state, time_left};
use crate::present::numbers::{duration, percent};
use crate::present::work::speeds;
use crate::top::screen::{Pane, Screen};

/// Cells between two columns.
const SPACING: u16 = 1;

/// Cells of the widest bar that shows how far a job is, and of the percentage beside a bar.
const WIDEST_BAR: u16 = 40;
const PERCENTAGE: u16 = 10;

const HELP: &str = "\
Tab, ← →      go to the other table
↑ ↓, j k      choose a job or worker (PgUp, PgDn, Home, End: faster)
p             pause the job, or let it go on; has what failed tried again
d             send the workers of this name home
b             block the workers of this name, or unblock them
q, Ctrl-C     quit; nothing on the coordinator changes

DONE is the recorded share of the work; LEFT is where the truth
should lie 19 times out of 20. Any key closes this.";

pub(crate) fn draw(frame: &mut Frame<'_>, screen: &mut Screen) {
    // Events get a quarter, if there is room for any; jobs what they need, and at least a third, as far as workers need
    // what is left.
    let height = frame.area().height;
    let rows = |n: Option<usize>| u16::try_from(n.unwrap_or(0)).unwrap_or(u16::MAX).saturating_add(2).max(4);
    let jobs = rows(screen.cluster.as_ref().map(|cluster| cluster.jobs.len()));
    let workers = rows(screen.cluster.as_ref().map(|cluster| cluster.workers.len()));
    let events = if height < 16 { 0 } else { height / 4 };
    let tables = height.saturating_sub(events + 3);
    let jobs = jobs.min(tables.saturating_sub(workers).max(tables / 2));
    let [head, coordinator, jobs, workers, events, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(jobs),
        Constraint::Min(3),
        Constraint::Length(events),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_head(frame, head, screen);
    draw_coordinator(frame, coordinator, screen);
    draw_jobs(frame, jobs, screen);
    draw_workers(frame, workers, screen);
    draw_events(frame, events, screen);
    draw_foot(frame, foot, screen);
    if screen.help {
        draw_help(frame);
    }
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    if let Some((problem, since)) = &screen.away {
        let reason = plain::line(&problem.to_string()).into_owned();
        let text = format!(" no state from the coordinator for {}: {reason}", ago(*since));
        return frame.render_widget(Line::from(text).style(alarm()), area);
    }
    let Some(cluster) = &screen.cluster else {
        return frame.render_widget(Line::from(format!(" asking {}", screen.url)), area);
    };
    let threads: u64 = cluster.workers.iter().map(|worker| u64::from(worker.n_threads)).sum();
    let together = FleetSpeed::of(&cluster.workers);
    let gap = together.gap().map(|gap| format!(" ({gap})")).unwrap_or_default();
    let text = format!(
        " {}   jobs: {}   workers: {}   threads: {threads}   {}{gap}",
        screen.url,
        cluster.jobs.len(),
        cluster.workers.len(),
        speeds(together.speed),
    );
    frame.render_widget(Line::from(text).style(Modifier::BOLD), area);
}

/// The coordinator itself.
fn draw_coordinator(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    let Some(cluster) = screen.cluster.as_ref().filter(|_| screen.away.is_none()) else { return };
    if let Some(error) = &cluster.store_error {
        let text = format!(" nothing is recorded at present: {error}");
        return frame.render_widget(Line::from(text).style(alarm()), area);
    }
    let Some(coordinator) = &cluster.coordinator else {
        return frame.render_widget(Line::from(" coordinator: of an older version"), area);
    };
    if !coordinator.refuses.is_empty() {
        let text = format!(" refuses {}", coordinator.refuses.join("; "));
        return frame.render_widget(Line::from(text).style(alarm()), area);
    }
    let text = format!(
        " coordinator: {}   up {}   store: {}   slowest step: {:.2} s",
        coordinator.version,
        seconds(coordinator.uptime),
        coordinator.store,
        coordinator.slowest_step.as_secs_f64(),
    );
    frame.render_widget(Line::from(text), area);
}

fn draw_jobs(frame: &mut Frame<'_>, area: Rect, screen: &mut Screen) {
    let jobs = screen.cluster.as_ref().map_or(&[][..], |cluster| &cluster.jobs);
    let longest = jobs.iter().map(|job| job.progress.solutions.to_string().len()).max().unwrap_or(0).max(9);
    let mut columns = fitting(
        [
            Column { title: "JOB", width: 4, right: true, rank: 0 },
            Column { title: "N", width: 2, right: true, rank: 1 },
            Column { title: "METHOD", width: 6, right: false, rank: 8 },
            Column { title: "STATE", width: 10, right: false, rank: 3 },
            Column { title: "PRIO", width: 5, right: true, rank: 7 },
            Column { title: "DONE", width: PERCENTAGE, right: false, rank: 2 },
            Column { title: "LEFT", width: 14, right: false, rank: 4 },
            Column { title: "WORKERS", width: 7, right: true, rank: 6 },
            Column {
                title: "SOLUTIONS",
                width: longest.try_into().unwrap_or(u16::MAX),
                right: true,
                rank: 5,
            },
        ],
        area.width,
    );
    let bar = columns.spare.min(WIDEST_BAR);
    columns.widen("DONE", bar);
    let empty = match screen.cluster {
        Some(_) => "no jobs: 'queens submit N' makes one",
        None => "",
    };
    let rows = jobs.iter().map(|job| columns.row(job_texts(job, bar.into())).style(job_style(job))).collect();
    let table = Titled { title: "jobs", rows, columns: &columns, empty };
    table.draw(frame, area, screen.pane == Pane::Jobs, &mut screen.job_table);
}

fn job_style(job: &JobStatus) -> Style {
    match job.state {
        JobState::Running | JobState::Planning | JobState::Verifying => Style::new(),
        JobState::Done => Style::new().fg(Color::Green),
        JobState::Failed | JobState::Disputed => Style::new().fg(Color::Red),
        JobState::Paused | JobState::Queued => Style::new().fg(Color::Yellow),
        JobState::Cancelled => Style::new().add_modifier(Modifier::DIM),
    }
}

fn job_texts(job: &JobStatus, bar: usize) -> [String; 9] {
    let disputed = if job.is_in_dispute() { "!" } else { "" };
    [
        job.id.to_string(),
        job.n.to_string(),
        job.method.to_string(),
        format!("{}{disputed}", job.state.name()),
        job.priority.to_string(),
        self::bar(job.fraction(), bar),
        job.plan_fraction.map_or_else(|| time_left(job), |share| format!("{} planned", percent(share.get()))),
        job.n_workers.to_string(),
        job.progress.solutions.to_string(),
    ]
}

/// "██████░░░  66.7 %"
fn bar(fraction: f64, width: usize) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to width")]
    let full = (fraction.clamp(0.0, 1.0) * width as f64) as usize;
    let bar = format!("{}{}", "█".repeat(full), "░".repeat(width - full));
    format!("{bar} {:>9}", percent(fraction))
}

fn draw_workers(frame: &mut Frame<'_>, area: Rect, screen: &mut Screen) {
    let workers = screen.cluster.as_ref().map_or(&[][..], |cluster| &cluster.workers);
    let widest = workers.iter().map(|worker| speeds(worker.speed).len()).max().unwrap_or(0).max(13);
    let widest = u16::try_from(widest).unwrap_or(u16::MAX);
    let mut columns = fitting(
        [
            Column { title: "NAME", width: 8, right: false, rank: 0 },
            Column { title: "STATE", width: 9, right: false, rank: 1 },
            Column { title: "KERNEL", width: 8, right: false, rank: 5 },
            Column { title: "THREADS", width: 7, right: true, rank: 4 },
            Column { title: "SPEED", width: widest, right: true, rank: 2 },
            Column { title: "LEASES", width: 6, right: true, rank: 7 },
            Column { title: "RECORDED", width: 9, right: true, rank: 6 },
            Column { title: "HEARD OF", width: 10, right: true, rank: 3 },
            Column { title: "COUNTING", width: 20, right: false, rank: 8 },
        ],
        area.width,
    );
    // No wider than a name may be expected to be.
    columns.widen("NAME", columns.spare.min(24));
    let empty = match screen.cluster {
        Some(_) => "no workers: 'queens-worker' makes one",
        None => "",
    };
    let rows = workers.iter().map(|worker| columns.row(worker_texts(worker)).style(worker_style(worker)));
    let table = Titled { title: "workers", rows: rows.collect(), columns: &columns, empty };
    table.draw(frame, area, screen.pane == Pane::Workers, &mut screen.worker_table);
}

fn worker_style(worker: &WorkerStatus) -> Style {
    match worker.state {
        _ if !worker.connected => Style::new().fg(Color::Red),
        WorkerState::Ready => Style::new(),
        WorkerState::Draining | WorkerState::Blocked => Style::new().fg(Color::Yellow),
        WorkerState::Stuck | WorkerState::Failing => Style::new().fg(Color::Red),
    }
}

fn worker_texts(worker: &WorkerStatus) -> [String; 9] {
    let heard = match worker.connected {
        true => format!("{:.0} s ago", worker.silent.as_secs_f64()),
        false => "lost".to_owned(),
    };
    let counting = worker.counting.map(|it| format!("job {} part {}", it.job, it.span.cross()));
    [
        worker.name.to_string(),
        worker.state.name().to_owned(),
        worker.kernel.to_string(),
        worker.n_threads.to_string(),
        speeds(worker.speed),
        worker.n_leases.to_string(),
        worker.n_recorded.to_string(),
        heard,
        counting.unwrap_or_default(),
    ]
}

fn draw_events(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    let block = Block::new().borders(Borders::TOP).title(" events ");
    let shown = usize::from(block.inner(area).height);
    let newest_first = screen.cluster.iter().flat_map(|cluster| cluster.events.iter().rev());
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

/// What is wrong with the selected job or worker: the columns have no room for it.
fn what_is_wrong(screen: &Screen) -> Option<Span<'static>> {
    let cluster = screen.cluster.as_ref()?;
    let wrong = match screen.pane {
        Pane::Jobs => {
            let job = cluster.jobs.get(screen.job_table.selected()?)?;
            match job.n_failed {
                0 => None,
                _ => Some(format!("{}: {}", state(job), describe_failure(job))),
            }
        }
        Pane::Workers => cluster.workers.get(screen.worker_table.selected()?)?.failure.clone(),
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

/// A column of a table.
#[derive(Clone, Copy, Debug)]
struct Column {
    title: &'static str,
    width: u16,
    right: bool,
    /// Those of the highest rank go first when there is no room.
    rank: u8,
}

/// The columns that there is room for. None is narrower than what is in it: a number without its last digits would look
/// like another number.
struct Columns<const N: usize> {
    all: [Column; N],
    shown: [bool; N],
    /// Cells that are left.
    spare: u16,
}

fn fitting<const N: usize>(all: [Column; N], width: u16) -> Columns<N> {
    let mut columns = Columns { all, shown: [true; N], spare: 0 };
    loop {
        let shown = columns.shown().map(|(column, _)| column.width.saturating_add(SPACING));
        let taken = shown.fold(0, u16::saturating_add).saturating_sub(SPACING);
        let last =
            columns.shown().filter(|(column, _)| column.rank > 0).max_by_key(|(column, _)| column.rank);
        match last {
            Some((_, at)) if taken > width => columns.shown[at] = false,
            _ => {
                columns.spare = width.saturating_sub(taken);
                return columns;
            }
        }
    }
}

impl<const N: usize> Columns<N> {
    fn shown(&self) -> impl Iterator<Item = (Column, usize)> {
        let all = self.all.into_iter().zip(0..);
        all.filter(|(_, at)| self.shown[*at])
    }

    fn widen(&mut self, title: &str, by: u16) {
        for column in self.all.iter_mut().filter(|column| column.title == title) {
            column.width += by;
        }
    }

    fn row<T: AsRef<str>>(&self, texts: [T; N]) -> Row<'static> {
        let cell = |(column, at): (Column, usize)| {
            let text: &str = texts[at].as_ref();
            let alignment = if column.right { Alignment::Right } else { Alignment::Left };
            Cell::from(Text::from(text.to_owned()).alignment(alignment))
        };
        Row::new(self.shown().map(cell).collect::<Vec<_>>())
    }
}

/// A table under its title.
struct Titled<'a, const N: usize> {
    title: &'a str,
    rows: Vec<Row<'a>>,
    columns: &'a Columns<N>,
    /// What is said when there are no rows.
    empty: &'a str,
}

impl<const N: usize> Titled<'_, N> {
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
        let header = self.columns.row(self.columns.all.map(|column| column.title));
        let widths: Vec<_> =
            self.columns.shown().map(|(column, _)| Constraint::Length(column.width)).collect();
        let table = Table::new(self.rows, widths)
            .header(header.style(Modifier::DIM))
            .block(block)
            .column_spacing(SPACING)
            .row_highlight_style(highlight);
        frame.render_stateful_widget(table, area, state);
    }
}

fn alarm() -> Style {
    Style::new().fg(Color::White).bg(Color::Red).add_modifier(Modifier::BOLD)
}

fn ago(at: Instant) -> String {
    seconds(at.elapsed())
}

fn seconds(time: Duration) -> String {
    duration(time.as_secs_f64().round().max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_without_room_are_left_out_whole() {
        let column = |title, width, rank| Column { title, width, right: false, rank };
        let all = [column("a", 4, 0), column("b", 5, 2), column("c", 6, 1)];
        for (width, expected, spare) in [
            (20, vec!["a", "b", "c"], 3),
            (17, vec!["a", "b", "c"], 0),
            (16, vec!["a", "c"], 5),
            (3, vec!["a"], 0),
        ] {
            let columns = fitting(all, width);
            assert_eq!(columns.shown().map(|(column, _)| column.title).collect::<Vec<_>>(), expected);
            assert_eq!(columns.spare, spare, "{width}");
        }
    }
}
