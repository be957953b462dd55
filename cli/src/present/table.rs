//! Tables for people.

use comfy_table::{CellAlignment, Table, presets};

/// A table without lines.
pub(crate) fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

/// Aligns the numbers in these columns.
pub(crate) fn align_right(table: &mut Table, columns: &[usize]) {
    for &column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
