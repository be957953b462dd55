//! Draws panels in front of the screen: help and forms.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Padding, Paragraph};

use super::palette::Palette;
use super::truncate::{cells, truncate};
use crate::top::form::Form;
use crate::top::keys::KEYS;

/// Explanations of figures.
const EXPLAINED: [&str; 3] = [
    "DONE is the recorded share of the work. LEFT is where the truth",
    "should lie 19 times out of 20. The curve is of the selected job,",
    "over all the time that its coordinator has measured it.",
];

/// Draws the help from a line on, at most to its last lines. Returns the first visible line.
pub(super) fn draw_help(frame: &mut Frame<'_>, first: usize) -> usize {
    let keys =
        KEYS.iter().filter(|key| !key.long.is_empty()).map(|key| format!("{:<7}{}", key.key, key.long));
    let explained = EXPLAINED.into_iter().map(str::to_owned);
    let lines: Vec<String> = keys.chain([String::new()]).chain(explained).collect();
    let room = usize::from(frame.area().height).saturating_sub(2);
    let first = first.min(lines.len().saturating_sub(room));
    let end =
        if lines.len() > room { " ↓: more, other keys close this. " } else { " Any key closes this. " };
    let shown = lines.into_iter().skip(first).map(Line::from).collect();
    draw_box(frame, " keys ", end, shown);
    first
}

pub(super) fn draw_form(frame: &mut Frame<'_>, form: &Form, palette: Palette) {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (what, value, expected, is_here) in form.fields() {
        let value = format!("{value}{}", if is_here { "▏" } else { " " });
        let emphasis = if is_here { Modifier::BOLD } else { Modifier::empty() };
        lines.push(Line::from(vec![
            Span::styled(format!("{what:<9}{value:<7} "), emphasis),
            Span::styled(expected.to_owned(), Modifier::DIM),
        ]));
    }
    if let Some(wrong) = &form.wrong {
        lines.push(Line::styled(wrong.clone(), palette.bad()));
    }
    draw_box(frame, &format!(" {} ", form.title()), " Enter: do it, Tab: next, Esc: drop it ", lines);
}

/// Draws lines in a box in the middle of the screen, truncated to its size.
fn draw_box(frame: &mut Frame<'_>, title: &str, end: &str, lines: Vec<Line<'_>>) {
    let widest = lines.iter().map(Line::width).max().unwrap_or(0).max(cells(end)).max(cells(title));
    let length = |n: usize| Constraint::Length(u16::try_from(n).unwrap_or(u16::MAX));
    let area: Rect = frame.area().centered(length(widest + 4), length(lines.len() + 2));
    let room = usize::from(area.width);
    let block = Block::bordered()
        .title(truncate(title, room.saturating_sub(2)))
        .title_bottom(truncate(end, room.saturating_sub(2)))
        .padding(Padding::horizontal(1));
    let lines = lines.into_iter().map(|line| cut(line, room.saturating_sub(4)));
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()).block(block), area);
}

/// Truncates a line to this width.
fn cut(line: Line<'_>, width: usize) -> Line<'static> {
    let (style, mut room) = (line.style, width);
    let spans = line.spans.into_iter().map(|span| {
        let text = truncate(&span.content, room);
        room = room.saturating_sub(cells(&text));
        Span::styled(text, span.style)
    });
    Line::from(spans.collect::<Vec<_>>()).style(style)
}
