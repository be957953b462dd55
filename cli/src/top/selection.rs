//! The selected line of a list, and its scrolling.

use std::ops::Range;

/// A selection that follows the chosen entry through changes of the list. Before the first choice, it follows the
/// list's default.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selection<I> {
    chosen: Option<I>,
    /// The position of the selected line.
    place: usize,
    /// The first visible line.
    first: usize,
}

impl<I> Default for Selection<I> {
    fn default() -> Self {
        Self { chosen: None, place: 0, first: 0 }
    }
}

impl<I: PartialEq> Selection<I> {
    /// Returns the position of the selected line.
    pub(super) fn place(&self) -> usize {
        self.place
    }

    /// Finds the chosen entry in the changed list; if it is gone, selects another one in its place. O(lines).
    pub(super) fn settle(&mut self, lines: impl ExactSizeIterator<Item = I>, unasked: usize) {
        let last = lines.len().saturating_sub(1);
        let mut lines = lines;
        let found = self.chosen.as_ref().map(|chosen| lines.position(|line| line == *chosen));
        self.place = match found {
            None => unasked,
            Some(found) => found.unwrap_or(self.place),
        }
        .min(last);
    }

    /// Moves the choice by this many lines.
    pub(super) fn move_by(&mut self, steps: isize, n_lines: usize, line: impl Fn(usize) -> Option<I>) {
        self.place = self.place.saturating_add_signed(steps).min(n_lines.saturating_sub(1));
        self.chosen = line(self.place);
    }

    /// Returns the visible lines, which include the selected one.
    pub(super) fn window(&mut self, n_lines: usize, room: usize) -> Range<usize> {
        let least = (self.place + 1).saturating_sub(room);
        let most = self.place.min(n_lines.saturating_sub(room));
        self.first = self.first.max(least).min(most);
        self.first..n_lines.min(self.first + room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_with_what_was_chosen() {
        let mut selection = Selection::default();
        let line = |lines: &'static str| move |at| lines.chars().nth(at);
        let settle = |selection: &mut Selection<char>, lines: &str, unasked| {
            selection.settle(lines.chars().collect::<Vec<_>>().into_iter(), unasked);
            selection.place()
        };
        assert_eq!(settle(&mut selection, "abc", 2), 2);
        assert_eq!(settle(&mut selection, "abc", 1), 1);
        selection.move_by(-1, 3, line("abc"));
        assert_eq!(settle(&mut selection, "xyabc", 1), 2);
        assert_eq!(settle(&mut selection, "xy", 0), 1);
        assert_eq!(settle(&mut selection, "", 0), 0);
        assert_eq!(settle(&mut selection, "bca", 0), 2);
        selection.move_by(isize::MIN, 3, line("bca"));
        assert_eq!(settle(&mut selection, "ab", 0), 1);
    }

    #[test]
    fn it_is_always_among_what_there_is_room_for() {
        let mut selection = Selection::default();
        let window = |selection: &mut Selection<usize>, steps, n, room| {
            selection.move_by(steps, n, Some);
            selection.window(n, room)
        };
        assert_eq!(window(&mut selection, 0, 3, 5), 0..3);
        assert_eq!(window(&mut selection, 7, 100, 5), 3..8);
        assert_eq!(window(&mut selection, -2, 100, 5), 3..8);
        assert_eq!(window(&mut selection, -4, 100, 5), 1..6);
        assert_eq!(window(&mut selection, isize::MAX, 100, 5), 95..100);
        assert_eq!(window(&mut selection, 0, 100, 20), 80..100);
        assert_eq!(window(&mut selection, 0, 100, 0), 99..99);
        assert_eq!(window(&mut selection, 0, 2, 5), 0..2);
    }
}
