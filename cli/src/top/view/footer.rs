//! Draws the last line: a question, an answer, or else the keys.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::palette::Palette;
use super::truncate::{cells, truncate};
use crate::present::job::{fault, state};
use crate::top::keys::{KEYS, Key, View};
use crate::top::screen::{Front, Screen};

/// Cells between two keys.
const GAP: usize = 2;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, screen: &Screen, palette: Palette) {
    let width = usize::from(area.width);
    let line = |text: String, style: Style| Line::from(truncate(&text, width)).style(style);
    let asked = |text: String| line(text, palette.attention().add_modifier(Modifier::BOLD));
    let line = match &screen.front {
        Some(Front::Question(_, question)) => asked(format!(" {question} y: yes, any other key: no")),
        Some(Front::Filter(_)) => {
            let (what, table) = match screen.is_at_workers {
                true => ("workers", &screen.workers.filter),
                false => ("jobs", &screen.jobs.filter),
            };
            asked(format!(" {what} with: {}▏  Enter: keep, Esc: as before", table.input.text()))
        }
        _ if screen.asking => line(" asking the coordinator…".to_owned(), Style::new()),
        _ => match screen.message() {
            Some((message, true)) => line(format!(" {message}"), palette.good()),
            Some((message, false)) => line(format!(" {message}"), palette.bad()),
            None => keys(screen, width, palette),
        },
    };
    frame.render_widget(line, area);
}

/// Returns the keys that fit, and the problem of the selected job or worker.
fn keys(screen: &Screen, width: usize, palette: Palette) -> Line<'static> {
    let keys = fitting(screen.place(), screen.is_for_viewer(), width);
    let mut spans = vec![Span::raw(" ")];
    for Key { key, short, .. } in keys {
        spans.push(Span::styled(key, Modifier::REVERSED));
        spans.push(Span::raw(format!(" {short}{:GAP$}", "")));
    }
    if let Some(wrong) = what_is_wrong(screen) {
        let taken: usize = spans.iter().map(Span::width).sum();
        spans.push(Span::styled(truncate(&wrong, width.saturating_sub(taken)), palette.bad()));
    }
    Line::from(spans)
}

fn fitting(place: View, is_for_viewer: bool, width: usize) -> Vec<Key> {
    let is_named =
        |key: &Key| !key.short.is_empty() && key.places.contains(&place) && !(key.decides && is_for_viewer);
    let mut keys: Vec<Key> = KEYS.into_iter().filter(is_named).collect();
    let taken = |keys: &[Key]| keys.iter().map(|it| cells(it.key) + 1 + cells(it.short) + GAP).sum::<usize>();
    while taken(&keys) > width + 1 {
        let Some(least) = keys.iter().map(|key| key.rank).max() else { break };
        let Some(at) = keys.iter().rposition(|key| key.rank == least) else { break };
        keys.remove(at);
    }
    keys
}

/// Describes the problem of the selected job or worker.
fn what_is_wrong(screen: &Screen) -> Option<String> {
    match screen.place() {
        View::Workers => screen.selected_worker()?.failure.clone(),
        View::Jobs | View::Page => {
            let job = screen.job_at_hand()?;
            Some(format!("{}: {}", state(job), fault(job)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_names_the_keys_there_is_room_for() {
        let shorts = |place, is_for_viewer, width| {
            let keys = fitting(place, is_for_viewer, width);
            keys.iter().map(|key| key.short).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            shorts(View::Jobs, false, 120),
            "look submit pause/resume priority cancel filter workers help quit"
        );
        assert_eq!(shorts(View::Jobs, false, 80), "look submit pause/resume priority cancel help quit");
        assert_eq!(shorts(View::Jobs, false, 40), "look help quit");
        assert_eq!(shorts(View::Jobs, false, 16), "help quit");
        assert_eq!(shorts(View::Jobs, true, 120), "look filter workers help quit");
        assert_eq!(shorts(View::Workers, false, 80), "look submit drain block/unblock filter help quit");
        assert_eq!(shorts(View::Page, false, 80), "back pause/resume priority cancel help quit");
    }
}
