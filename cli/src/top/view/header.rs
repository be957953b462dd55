//! Draws the first lines, with the coordinator and its state, and formats the titles of tables.

use std::time::Duration;

use queens_model::plain;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;

use super::palette::Palette;
use super::truncate::truncate;
use crate::present::numbers::duration;
use crate::present::work::speeds;
use crate::top::cluster::Lists;
use crate::top::screen::{Screen, TableOf};

/// Draws the coordinator with its totals, or why it can't be reached.
pub(super) fn draw_cluster(frame: &mut Frame<'_>, area: Rect, screen: &Screen, palette: Palette) {
    if let Some((problem, since)) = &screen.away {
        let reason = plain::line(&problem.to_string()).into_owned();
        let text = format!(" no state from the coordinator for {}: {reason}", seconds(since.elapsed()));
        return draw_line(frame, area, &text, palette.alarm());
    }
    let Some(lists) = &screen.lists else {
        return draw_line(frame, area, &format!(" asking {}", screen.url), Style::new());
    };
    let gap = lists.together.gap().map(|gap| format!(" ({gap})")).unwrap_or_default();
    let text = format!(
        " {}   jobs: {}   workers: {}   threads: {}   {}{gap}",
        screen.url,
        lists.jobs.len(),
        lists.workers.len(),
        lists.n_threads,
        speeds(lists.together.speed),
    );
    draw_line(frame, area, &text, Style::new().add_modifier(Modifier::BOLD));
}

/// Draws the coordinator's own state.
pub(super) fn draw_coordinator(frame: &mut Frame<'_>, area: Rect, screen: &Screen, palette: Palette) {
    let Some(news) = screen.news.as_ref().filter(|_| screen.away.is_none()) else { return };
    let coordinator = &news.greeting.status;
    if let Some(error) = &coordinator.store_error {
        return draw_line(frame, area, &format!(" nothing is recorded at present: {error}"), palette.alarm());
    }
    if !coordinator.refuses.is_empty() {
        let text = format!(" refuses {}", coordinator.refuses.join("; "));
        return draw_line(frame, area, &text, palette.alarm());
    }
    let role = news.greeting.role.as_ref().map(|role| format!("   you: {role}")).unwrap_or_default();
    let text = format!(
        " coordinator: {}   up {}   store: {}   slowest step: {:.2} s{role}",
        coordinator.version,
        seconds(coordinator.uptime),
        coordinator.store,
        coordinator.slowest_step.as_secs_f64(),
    );
    draw_line(frame, area, &text, Style::new());
}

fn draw_line(frame: &mut Frame<'_>, area: Rect, text: &str, style: Style) {
    frame.render_widget(Line::from(truncate(text, area.width.into())).style(style), area);
}

/// The age from which a list shows its age.
const OLD: Duration = Duration::from_secs(3);

/// Formats a table's title. It has the filter, and the age of an old list: "jobs: 3 of 12 with 'running', as of 5 s ago".
pub(super) fn title<I>(
    what: &str,
    screen: &Screen,
    table: &TableOf<I>,
    n: impl Fn(&Lists) -> usize,
) -> String {
    let Some(lists) = &screen.lists else { return what.to_owned() };
    let words = table.filter.input.text().trim();
    let of_all = match words {
        "" => String::new(),
        words => format!(": {} of {} with '{words}'", table.shown.len(), n(lists)),
    };
    let age = lists.at.elapsed();
    let age = if age < OLD { String::new() } else { format!(", as of {} ago", seconds(age)) };
    format!("{what}{of_all}{age}")
}

/// Formats a time in whole seconds, at least one.
pub(super) fn seconds(time: Duration) -> String {
    duration(time.as_secs_f64().round().max(1.0))
}
