//! Text tables.

use console::{Alignment, measure_text_width, pad_str};
use queens_model::plain;

/// The space between two columns.
const GAP: &str = "  ";

/// Formats a table without ruled lines. O(rows · columns).
///
/// The heading of a column of numbers begins with '>', as they are aligned to the right. That of a column that is left
/// out if all its cells are empty begins with '?'.
pub(crate) fn table<const N: usize>(
    headings: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let first = headings.map(|heading| heading.trim_start_matches(['>', '?']).to_owned());
    let rows = rows.into_iter().map(|row| row.map(|cell| plain::line(&cell).into_owned()));
    let rows: Vec<[String; N]> = [first].into_iter().chain(rows).collect();
    let has_cells = |i: usize| rows.iter().skip(1).any(|row| !row[i].is_empty());
    let width = |i: usize| rows.iter().map(|row| measure_text_width(&row[i])).max().unwrap_or(0);
    let shown: Vec<(usize, usize)> =
        (0..N).filter(|&i| !headings[i].starts_with('?') || has_cells(i)).map(|i| (i, width(i))).collect();
    let line = |row: &[String; N]| {
        let cell = |&(i, width): &(usize, usize)| {
            let is_number = headings[i].starts_with('>');
            let alignment = if is_number { Alignment::Right } else { Alignment::Left };
            pad_str(&row[i], width, alignment, None)
        };
        shown.iter().map(cell).collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_an_optional_one_needs_a_cell() {
        let text =
            |rows: &[[&str; 3]]| table(["NAME", ">N", "?NOW"], rows.iter().map(|row| row.map(str::to_owned)));
        assert_eq!(text(&[["rack1", "8", ""]]), "NAME   N\nrack1  8");
        let text = text(&[["rack1", "8", ""], ["a", "27", "46 °C"]]);
        assert_eq!(text, "NAME    N  NOW\nrack1   8\na      27  46 °C");
    }

    #[test]
    fn what_commands_a_terminal_is_no_part_of_a_cell() {
        let text = table(["WHAT"], [["\u{1b}[31mred".to_owned()]]);
        assert_eq!(text, "WHAT\n\\u{1b}[31mred");
    }
}
