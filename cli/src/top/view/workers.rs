//! Draws the table of workers.

use queens_model::{WorkerState, WorkerStatus};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::column_layout::{Column, Content, Entry, Titled, number, text, word};
use super::header::title;
use super::palette::Palette;
use crate::present::work::speeds;
use crate::top::screen::Screen;

const COLUMNS: [Column; 13] = [
    text("NAME", 0, 8),
    word("STATE", 1),
    word("KERNEL", 5),
    number("THREADS", 4),
    number("SPEED", 2),
    number("LEASES", 7),
    number("RECORDED", 6),
    number("HEARD OF", 3),
    word("COUNTING", 8),
    word("SENSORS", 9),
    word("METHODS", 11),
    text("PROGRAM", 12, 7),
    text("NOTE", 10, 16),
];

/// Draws the table. O(visible workers).
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, screen: &mut Screen, palette: Palette) {
    let room = Titled::<13>::room(area);
    let is_focused = screen.is_at_workers;
    let title = title("workers", screen, &screen.workers, |lists| lists.workers.len());
    let window = screen.workers.selection.window(screen.workers.shown.len(), room);
    let selected = screen.workers.selection.place().checked_sub(window.start).filter(|_| is_focused);
    let shown = screen.workers.shown.get(window).unwrap_or_default();
    let entry = |at: &usize| {
        let worker = screen.lists.as_ref()?.workers.get(*at)?;
        Some(Entry { contents: contents(worker), style: style(worker, palette) })
    };
    let empty = match &screen.lists {
        None => "",
        Some(lists) if lists.workers.is_empty() => "no workers: 'queens-worker' makes one",
        Some(_) => "no worker has these words: Esc shows all",
    };
    let entries = shown.iter().filter_map(entry).collect();
    Titled { title, columns: COLUMNS, entries, selected, is_focused, empty }.draw(frame, area);
}

fn style(worker: &WorkerStatus, palette: Palette) -> Style {
    match worker.state {
        _ if !worker.connected => palette.bad(),
        WorkerState::Ready => Style::new(),
        WorkerState::Draining | WorkerState::Blocked => palette.attention(),
        WorkerState::Stuck | WorkerState::Failing => palette.bad(),
    }
}

fn contents(worker: &WorkerStatus) -> [Content; 13] {
    let heard = match worker.connected {
        true => format!("{:.0} s ago", worker.silent.as_secs_f64()),
        false => "lost".to_owned(),
    };
    let counting = worker.counting.map(|it| format!("job {} part {}", it.job, it.span.part()));
    let methods: Vec<&str> = worker.methods.iter().map(|method| method.name()).collect();
    [
        worker.name.as_str().into(),
        worker.state.name().into(),
        worker.kernel.as_str().into(),
        worker.n_threads.into(),
        speeds(worker.speed).into(),
        worker.n_leases.into(),
        worker.n_recorded.into(),
        heard.into(),
        counting.unwrap_or_default().into(),
        worker.sensors.into(),
        methods.join(", ").into(),
        worker.build.as_str().into(),
        worker.failure.clone().unwrap_or_default().into(),
    ]
}
