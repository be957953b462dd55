//! Text tables that fit the terminal.

use std::io::{self, IsTerminal};

use console::{Alignment, Term, measure_text_width, pad_str, truncate_str};
use queens_model::plain;
use queens_program::{print, say};

/// The spaces between two columns.
const GAP: usize = 2;

/// The minimum number of characters that truncation leaves.
const LEAST: usize = 8;

/// Truncation goes down to this many characters before a column is left out.
const ENOUGH: usize = 24;

/// The default width, for a terminal that does not report its own.
const USUAL_WIDTH: usize = 80;

/// A column: its heading, and whether it is truncated or left out on a narrow terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    heading: &'static str,
    alignment: Alignment,
    may_be_cut: bool,
    /// Columns with the lowest number are left out first; those without one stay.
    drop_order: Option<u8>,
    /// Whether the column is left out, without a word, if all its cells are empty.
    is_optional: bool,
}

impl Column {
    pub(crate) const fn text(heading: &'static str) -> Self {
        Self { heading, alignment: Alignment::Left, may_be_cut: false, drop_order: None, is_optional: false }
    }

    pub(crate) const fn number(heading: &'static str) -> Self {
        Self { heading, alignment: Alignment::Right, may_be_cut: false, drop_order: None, is_optional: false }
    }

    /// Creates a column of names and other texts whose beginning is enough.
    pub(crate) const fn name(heading: &'static str) -> Self {
        Self { heading, alignment: Alignment::Left, may_be_cut: true, drop_order: None, is_optional: false }
    }

    /// Sets the order in which columns are left out, lowest first.
    pub(crate) const fn drop_order(self, order: u8) -> Self {
        Self { drop_order: Some(order), ..self }
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

    /// Prints it to stdout. On a terminal that is too narrow, names the columns left out.
    pub(crate) fn print(&self) -> anyhow::Result<()> {
        let (lines, left_out) = self.fitted(terminal_width());
        print(&lines)?;
        say_left_out(&left_out, "--output json");
        Ok(())
    }

    /// Returns the lines, no longer than `width` if possible, and the headings of the columns left out.
    ///
    /// O(rows · columns + width · columns).
    pub(crate) fn fitted(&self, width: Option<usize>) -> (String, Vec<&'static str>) {
        let natural: Vec<usize> = (0..N)
            .map(|i| self.rows.iter().map(|row| measure_text_width(&row[i])).max().unwrap_or(0))
            .collect();
        let has_cells = |i: usize| self.rows.iter().skip(1).any(|row| !row[i].is_empty());
        let wanted: Vec<usize> = (0..N).filter(|&i| !self.columns[i].is_optional || has_cells(i)).collect();
        let mut shown = wanted.clone();
        let mut widths = natural.clone();
        if let Some(width) = width {
            let least =
                |i: usize| if self.columns[i].may_be_cut { natural[i].min(ENOUGH) } else { natural[i] };
            while length(shown.iter().map(|&i| least(i))) > width {
                let drop_order = |i: usize| self.columns[i].drop_order;
                let Some(first) =
                    shown.iter().copied().filter(|&i| drop_order(i).is_some()).min_by_key(|&i| drop_order(i))
                else {
                    break;
                };
                shown.retain(|&i| i != first);
            }
            while length(shown.iter().map(|&i| widths[i])) > width {
                let can_be_cut = |i: &usize| self.columns[*i].may_be_cut && widths[*i] > LEAST;
                let Some(widest) = shown.iter().copied().filter(can_be_cut).max_by_key(|&i| widths[i]) else {
                    break;
                };
                widths[widest] -= 1;
            }
        }
        let line = |row: &[String; N]| {
            let cells = shown.iter().map(|&i| {
                let cell = truncate_str(&row[i], widths[i], "…");
                pad_str(&cell, widths[i], self.columns[i].alignment, None).into_owned()
            });
            cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
        };
        let lines: Vec<String> = self.rows.iter().map(line).collect();
        let left_out = wanted.iter().filter(|i| !shown.contains(i));
        let left_out = left_out.map(|&i| self.columns[i].heading).collect();
        (lines.join("\n"), left_out)
    }
}

/// Returns the length of a line with columns of these widths.
fn length(widths: impl Iterator<Item = usize>) -> usize {
    widths.map(|width| width + GAP).sum::<usize>().saturating_sub(GAP)
}

/// Returns the width of stdout in characters, if it is a terminal.
pub(crate) fn terminal_width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let width = Term::stdout().size_checked().map(|(_, columns)| columns.into()).filter(|width| *width > 0);
    Some(width.unwrap_or(USUAL_WIDTH))
}

/// Names the columns left out on a narrow terminal, and the option that prints all of them, in a line that is short
/// itself.
pub(crate) fn say_left_out(headings: &[&str], instead: &str) {
    if !headings.is_empty() {
        say(&format!("left out: {}; {instead} has all", headings.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(width: Option<usize>, expected: &[&str], left_out: &[&str]) {
        let columns = [
            Column::name("NAME"),
            Column::number("N").drop_order(2),
            Column::text("KERNEL").drop_order(1),
            Column::text("STATE"),
        ];
        let mut table = Table::new(columns);
        let rows =
            [["rack1", "8", "avx512", "here"], ["a name that is too long to be shown", "27", "", "gone"]];
        rows.into_iter().for_each(|row| table.add_row(row.map(str::to_owned)));
        let (lines, found) = table.fitted(width);
        assert_eq!((lines.lines().collect::<Vec<_>>(), &found[..]), (expected.to_vec(), left_out));
        assert!(
            width.is_none_or(|width| width < 15 || lines.lines().all(|line| line.chars().count() <= width))
        );
    }

    #[test]
    fn a_table_is_no_wider_than_its_terminal() {
        let all = [
            "NAME                                  N  KERNEL  STATE",
            "rack1                                 8  avx512  here",
            "a name that is too long to be shown  27          gone",
        ];
        check(None, &all, &[]);
        check(Some(54), &all, &[]);
        check(
            Some(48),
            &[
                "NAME                            N  KERNEL  STATE",
                "rack1                           8  avx512  here",
                "a name that is too long to b…  27          gone",
            ],
            &[],
        );
        check(
            Some(40),
            &[
                "NAME                            N  STATE",
                "rack1                           8  here",
                "a name that is too long to b…  27  gone",
            ],
            &["KERNEL"],
        );
        check(
            Some(20),
            &["NAME           STATE", "rack1          here", "a name that …  gone"],
            &["N", "KERNEL"],
        );
        check(Some(3), &["NAME      STATE", "rack1     here", "a name …  gone"], &["N", "KERNEL"]);
    }

    #[test]
    fn an_optional_column_is_there_if_one_cell_is_not_empty() {
        let mut table = Table::new([Column::name("NAME"), Column::text("SENSORS").drop_order(1).optional()]);
        table.add_row(["rack1", ""].map(str::to_owned));
        assert_eq!(table.fitted(None), ("NAME\nrack1".to_owned(), vec![]));
        table.add_row(["rack2", "46 °C"].map(str::to_owned));
        assert_eq!(table.fitted(None), ("NAME   SENSORS\nrack1\nrack2  46 °C".to_owned(), vec![]));
        assert_eq!(table.fitted(Some(5)), ("NAME\nrack1\nrack2".to_owned(), vec!["SENSORS"]));
    }

    #[test]
    fn what_commands_a_terminal_is_no_part_of_a_cell() {
        let mut table = Table::new([Column::text("WHAT")]);
        table.add_row(["\u{1b}[31mred".to_owned()]);
        assert_eq!(table.fitted(None).0, "WHAT\n\\u{1b}[31mred");
    }
}
