//! A list with a selected row.

use std::ops::Range;

/// The rows of a table. The selection follows the row that the user has chosen; before the first choice, the default.
#[derive(Debug)]
pub(super) struct List<T> {
    rows: Vec<T>,
    place: usize,
    /// The first visible row.
    first: usize,
    is_chosen: bool,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), place: 0, first: 0, is_chosen: false }
    }
}

impl<T> List<T> {
    pub(super) fn rows(&self) -> &[T] {
        &self.rows
    }

    pub(super) fn selected(&self) -> Option<&T> {
        self.rows.get(self.place)
    }

    /// Replaces the rows, and finds the chosen one again by its id. O(rows).
    pub(super) fn replace<I: PartialEq>(&mut self, rows: Vec<T>, id: fn(&T) -> I, default: fn(&T) -> bool) {
        let chosen = self.selected().filter(|_| self.is_chosen).map(id);
        let found = match chosen {
            Some(chosen) => rows.iter().position(|row| id(row) == chosen).unwrap_or(self.place),
            None => rows.iter().position(default).unwrap_or(0),
        };
        self.place = found.min(rows.len().saturating_sub(1));
        self.rows = rows;
    }

    pub(super) fn move_by(&mut self, steps: isize) {
        self.place = self.place.saturating_add_signed(steps).min(self.rows.len().saturating_sub(1));
        self.is_chosen = true;
    }

    /// Returns the visible rows, which include the selected one, and its place among them.
    pub(super) fn window(&mut self, room: usize) -> (Range<usize>, usize) {
        let least = (self.place + 1).saturating_sub(room);
        let most = self.place.min(self.rows.len().saturating_sub(room));
        self.first = self.first.max(least).min(most);
        (self.first..self.rows.len().min(self.first + room), self.place - self.first)
    }
}
