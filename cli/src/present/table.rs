//! Text tables.

use console::{Alignment, measure_text_width, pad_str};
use queens_model::plain;

/// The space between two columns.
const GAP: &str = "  ";

/// A table without ruled lines.
///
/// The heading of a column of numbers begins with '>', as they are aligned to the right. That of a column that is left
/// out if all its cells are empty begins with '?'.
pub(crate) struct Table<const N: usize> {
    headings: [&'static str; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(headings: [&'static str; N], rows: impl IntoIterator<Item = [String; N]>) -> Self {
        let shown = headings.map(|heading| heading.trim_start_matches(['>', '?']).to_owned());
        let rows = rows.into_iter().map(|row| row.map(|cell| plain::line(&cell).into_owned()));
        Self { headings, rows: [shown].into_iter().chain(rows).collect() }
    }

    /// Formats the table. O(rows · columns).
    pub(crate) fn text(&self) -> String {
        let has_cells = |i: usize| self.rows.iter().skip(1).any(|row| !row[i].is_empty());
        let width = |i: usize| self.rows.iter().map(|row| measure_text_width(&row[i])).max().unwrap_or(0);
        let shown: Vec<(usize, usize)> = (0..N)
            .filter(|&i| !self.headings[i].starts_with('?') || has_cells(i))
            .map(|i| (i, width(i)))
            .collect();
        let line = |row: &[String; N]| {
            let cell = |&(i, width): &(usize, usize)| {
                let is_number = self.headings[i].starts_with('>');
                let alignment = if is_number { Alignment::Right } else { Alignment::Left };
                pad_str(&row[i], width, alignment, None)
            };
            shown.iter().map(cell).collect::<Vec<_>>().join(GAP).trim_end().to_owned()
        };
        self.rows.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_an_optional_one_needs_a_cell() {
        let table = |rows: &[[&str; 3]]| {
            Table::new(["NAME", ">N", "?NOW"], rows.iter().map(|row| row.map(str::to_owned)))
        };
        assert_eq!(table(&[["rack1", "8", ""]]).text(), "NAME   N\nrack1  8");
        let table = table(&[["rack1", "8", ""], ["a", "27", "46 °C"]]);
        assert_eq!(table.text(), "NAME    N  NOW\nrack1   8\na      27  46 °C");
    }

    #[test]
    fn what_commands_a_terminal_is_no_part_of_a_cell() {
        let table = Table::new(["WHAT"], [["\u{1b}[31mred".to_owned()]]);
        assert_eq!(table.text(), "WHAT\n\\u{1b}[31mred");
    }
}
