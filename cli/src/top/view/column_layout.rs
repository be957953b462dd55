//! Lays out tables: wide terminals get more space, and narrow ones lose the least important columns.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Borders, Cell, Paragraph, Row, Table, TableState};

use super::truncate::{cells, truncate};
use crate::present::numbers::percent;

/// Cells between two columns, for narrow and for wide tables.
const SPACING: [usize; 2] = [1, 2];
const WIDE: usize = 120;

/// Cells of the widest bar, and of the percentage beside it.
const WIDEST_BAR: usize = 60;
const PERCENTAGE: usize = 9;

/// Columns of this rank or higher go before a bar gets narrower than this.
const EXTRA: u8 = 9;
const FAIR_BAR: usize = 16 + 1 + PERCENTAGE;

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    title: &'static str,
    right: bool,
    /// Columns of the highest rank go first on narrow terminals; rank 0 always stays.
    rank: u8,
    /// The minimum width. Without it, a column is as wide as its contents: a truncated number would look like another
    /// number.
    least: Option<usize>,
}

pub(super) const fn text(title: &'static str, rank: u8, least: usize) -> Column {
    Column { title, right: false, rank, least: Some(least) }
}

pub(super) const fn word(title: &'static str, rank: u8) -> Column {
    Column { title, right: false, rank, least: None }
}

pub(super) const fn number(title: &'static str, rank: u8) -> Column {
    Column { title, right: true, rank, least: None }
}

/// The contents of a cell.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Text(String),
    /// A share, as a bar and as a percentage.
    Bar(f64),
}

impl<T: ToString> From<T> for Content {
    fn from(text: T) -> Self {
        Self::Text(text.to_string())
    }
}

impl Content {
    fn width(&self) -> usize {
        match self {
            Self::Text(text) => cells(text),
            Self::Bar(_) => WIDEST_BAR + 1 + PERCENTAGE,
        }
    }

    fn draw(&self, width: usize) -> String {
        match self {
            Self::Text(text) => truncate(text, width),
            Self::Bar(share) => bar(*share, width),
        }
    }
}

/// Formats a share in this many cells: "██████░░░    66.7 %".
pub(super) fn bar(share: f64, width: usize) -> String {
    let figures = percent(share);
    let room = width.saturating_sub(PERCENTAGE + 1);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to the room there is")]
    let full = ((share.clamp(0.0, 1.0) * room as f64) as usize).min(room);
    let bar = format!("{}{}", "█".repeat(full), "░".repeat(room - full));
    let gap = if room > 0 { " " } else { "" };
    truncate(&format!("{bar}{gap}{figures:>PERCENTAGE$}"), width)
}

/// A row of a table.
#[derive(Clone, Debug)]
pub(super) struct Entry<const N: usize> {
    pub(super) contents: [Content; N],
    pub(super) style: Style,
}

/// A table with its title.
pub(super) struct Titled<'a, const N: usize> {
    pub(super) title: String,
    pub(super) columns: [Column; N],
    /// The visible entries.
    pub(super) entries: Vec<Entry<N>>,
    /// The selected one of them.
    pub(super) selected: Option<usize>,
    pub(super) is_focused: bool,
    /// The text for an empty table.
    pub(super) empty: &'a str,
}

impl<const N: usize> Titled<'_, N> {
    /// Returns the number of entries that fit.
    pub(super) fn room(area: Rect) -> usize {
        usize::from(area.height).saturating_sub(2)
    }

    /// Draws the table. O(visible entries).
    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        let emphasis = if self.is_focused { Modifier::REVERSED | Modifier::BOLD } else { Modifier::empty() };
        let title = truncate(&format!(" {} ", self.title), usize::from(area.width));
        let block = Block::new().borders(Borders::TOP).title(Line::styled(title, emphasis));
        if self.entries.is_empty() {
            let text = truncate(&format!("  {}", self.empty), usize::from(area.width));
            return frame.render_widget(Paragraph::new(Text::styled(text, Modifier::DIM)).block(block), area);
        }
        let spacing = SPACING[usize::from(usize::from(area.width) >= WIDE)];
        let widths = self.widths(usize::from(area.width), spacing);
        let shown = || (0..N).filter(|at| widths[*at] > 0);
        let cell = |text: String, column: &Column| {
            let alignment = if column.right { Alignment::Right } else { Alignment::Left };
            Cell::from(Text::from(text).alignment(alignment))
        };
        let header = shown().map(|at| cell(truncate(self.columns[at].title, widths[at]), &self.columns[at]));
        let header = Row::new(header.collect::<Vec<_>>()).style(Modifier::DIM);
        let rows = self.entries.iter().map(|entry| {
            let texts = shown().map(|at| cell(entry.contents[at].draw(widths[at]), &self.columns[at]));
            Row::new(texts.collect::<Vec<_>>()).style(entry.style)
        });
        let highlight = if self.is_focused { Modifier::REVERSED } else { Modifier::BOLD };
        let lengths = shown().map(|at| Constraint::Length(u16::try_from(widths[at]).unwrap_or(u16::MAX)));
        let table = Table::new(rows, lengths.collect::<Vec<_>>())
            .header(header)
            .block(block)
            .column_spacing(u16::try_from(spacing).unwrap_or(1))
            .row_highlight_style(highlight);
        let mut state = TableState::new().with_selected(self.selected);
        frame.render_stateful_widget(table, area, &mut state);
        self.leave_bar_as_it_is(frame, area, &widths, spacing);
    }

    /// Keeps the bar of the selected entry as it is: reversed, a full bar would look empty.
    fn leave_bar_as_it_is(&self, frame: &mut Frame<'_>, area: Rect, widths: &[usize; N], spacing: usize) {
        let Some(selected) = self.selected.filter(|at| *at < self.entries.len()) else { return };
        let is_bar = |at: &usize| matches!(self.entries[selected].contents[*at], Content::Bar(_));
        for at in (0..N).filter(is_bar) {
            let before = taken(&widths[..at], spacing) + spacing;
            let [x, y, width] = [before, selected + 2, widths[at].saturating_sub(PERCENTAGE + 1)]
                .map(|n| u16::try_from(n).unwrap_or(u16::MAX));
            let bar = Rect { x: area.x.saturating_add(x), y: area.y.saturating_add(y), width, height: 1 };
            let shown = bar.intersection(area);
            frame.buffer_mut().set_style(shown, Style::new().remove_modifier(Modifier::REVERSED));
        }
    }

    /// Returns the width of each column; 0 for columns that don't fit or are empty. When all have their minimum, bars
    /// get half of the remaining width, and the part that no other column needs.
    fn widths(&self, width: usize, spacing: usize) -> [usize; N] {
        let natural: [usize; N] = std::array::from_fn(|at| {
            let widest = self.entries.iter().map(|entry| entry.contents[at].width()).max().unwrap_or(0);
            if widest > 0 { widest.max(cells(self.columns[at].title)) } else { 0 }
        });
        let least: [usize; N] = std::array::from_fn(|at| {
            self.columns[at].least.map_or(natural[at], |least| least.min(natural[at]))
        });
        let is_bar =
            |at: &usize| self.entries.iter().any(|entry| matches!(entry.contents[*at], Content::Bar(_)));
        let mut by_rank: [usize; N] = std::array::from_fn(|at| at);
        by_rank.sort_by_key(|at| self.columns[*at].rank);
        let mut widths: [usize; N] =
            std::array::from_fn(|at| if is_bar(&at) { least[at].max(FAIR_BAR) } else { least[at] });
        let drop_from = |rank: u8, widths: &mut [usize; N]| {
            for at in by_rank.into_iter().rev() {
                if taken(widths, spacing) > width && self.columns[at].rank >= rank {
                    widths[at] = 0;
                }
            }
        };
        drop_from(EXTRA, &mut widths);
        by_rank.into_iter().filter(is_bar).for_each(|at| widths[at] = least[at]);
        drop_from(1, &mut widths);
        let bars = || by_rank.into_iter().filter(is_bar);
        let others = by_rank.into_iter().filter(|at| !is_bar(at));
        let half = width.saturating_sub(taken(&widths, spacing)) / 2;
        for (at, most) in bars().map(|at| (at, half)).chain(others.chain(bars()).map(|at| (at, width))) {
            if widths[at] > 0 {
                let spare = width.saturating_sub(taken(&widths, spacing)).min(most);
                widths[at] += spare.min(natural[at] - widths[at]);
            }
        }
        widths
    }
}

/// Returns the total width of columns of these widths.
fn taken(widths: &[usize], spacing: usize) -> usize {
    let shown = widths.iter().filter(|width| **width > 0);
    shown.map(|width| width + spacing).sum::<usize>().saturating_sub(spacing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_get_what_they_need_and_the_least_important_go_first() {
        let columns = [text("A", 0, 4), number("B", 2), text("C", 1, 2), word("D", 3)];
        let contents = ["alphabet", "12345", "gamma", ""].map(Content::from);
        let table = Titled {
            title: String::new(),
            columns,
            entries: vec![Entry { contents, style: Style::new() }],
            selected: None,
            is_focused: false,
            empty: "",
        };
        for (width, expected) in [
            (30, [8, 5, 5, 0]),
            (20, [8, 5, 5, 0]),
            (18, [8, 5, 3, 0]),
            (13, [4, 5, 2, 0]),
            (12, [8, 0, 3, 0]),
            (5, [5, 0, 0, 0]),
            (3, [4, 0, 0, 0]),
        ] {
            assert_eq!(table.widths(width, 1), expected, "{width}");
        }
    }

    #[test]
    fn bars_fill_their_room_and_are_full_only_at_the_end() {
        for (share, width, expected) in [
            (0.5, 20, "█████░░░░░    50.0 %"),
            (0.999_999, 14, "███░    99.9 %"),
            (1.0, 14, "████     100 %"),
            (0.5, 9, "   50.0 %"),
            (0.0, 10, "      0 %"),
        ] {
            assert_eq!(bar(share, width).trim_start(), expected.trim_start(), "{share} in {width}");
        }
    }
}
