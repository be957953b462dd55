//! Text tables.

use console::{Alignment, measure_text_width, pad_str};
use queens_model::plain;

/// The space between two columns.
const GAP: &str = "  ";

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    heading: &'static str,
    alignment: Alignment,
    /// Whether the column is left out if all its cells are empty.
    is_optional: bool,
}

impl Column {
    pub(crate) const fn text(heading: &'static str) -> Self {
        Self { heading, alignment: Alignment::Left, is_optional: false }
    }

    pub(crate) const fn number(heading: &'static str) -> Self {
        Self { heading, alignment: Alignment::Right, is_optional: false }
    }

    /// Leaves the column out if all its cells are empty.
    pub(crate) const fn optional(self) -> Self {
        Self { is_optional: true, ..self }
    }
}

/// A table without ruled lines.
pub(crate) struct Table<const N: usize> {
    columns: [Column; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(columns: [Column; N]) -> Self {
        Self { columns, rows: vec![columns.map(|column| column.heading.to_owned())] }
    }

    pub(crate) fn add_row(&mut self, row: [String; N]) {
        self.rows.push(row.map(|cell| plain::line(&cell).into_owned()));
    }

    /// Formats the table. O(rows · columns).
    pub(crate) fn text(&self) -> String {
        let has_cells = |i: usize| self.rows.iter().skip(1).any(|row| !row[i].is_empty());
        let width = |i: usize| self.rows.iter().map(|row| measure_text_width(&row[i])).max().unwrap_or(0);
        let shown: Vec<(usize, usize)> =
            (0..N).filter(|&i| !self.columns[i].is_optional || has_cells(i)).map(|i| (i, width(i))).collect();
        let line = |row: &[String; N]| {
            let cell =
                |&(i, width): &(usize, usize)| pad_str(&row[i], width, self.columns[i].alignment, None);
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
        let mut table =
            Table::new([Column::text("NAME"), Column::number("N"), Column::text("NOW").optional()]);
        table.add_row(["rack1", "8", ""].map(str::to_owned));
        assert_eq!(table.text(), "NAME   N\nrack1  8");
        table.add_row(["a", "27", "46 °C"].map(str::to_owned));
        assert_eq!(table.text(), "NAME    N  NOW\nrack1   8\na      27  46 °C");
    }

    #[test]
    fn what_commands_a_terminal_is_no_part_of_a_cell() {
        let mut table = Table::new([Column::text("WHAT")]);
        table.add_row(["\u{1b}[31mred".to_owned()]);
        assert_eq!(table.text(), "WHAT\n\\u{1b}[31mred");
    }
}
