//! A placement as a board in a terminal.

use std::fmt;

use crate::picture::is_dark;
use crate::placement::Placement;
use crate::queen::Queen;

const QUEEN: char = '♛';

/// Draws with the characters that every Unicode font has: a frame, and dark squares dotted.
pub(super) fn write_unicode(f: &mut fmt::Formatter<'_>, placement: &Placement) -> fmt::Result {
    let edge = "──".repeat(placement.columns().len());
    writeln!(f, "┌{edge}┐")?;
    for queen in placement.queens() {
        write!(f, "│")?;
        for column in 0..placement.n() {
            let shade = if is_dark(Queen { row: queen.row, column }) { '░' } else { ' ' };
            let left = if column == queen.column { QUEEN } else { shade };
            write!(f, "{left}{shade}")?;
        }
        writeln!(f, "│")?;
    }
    write!(f, "└{edge}┘")
}

/// Draws with the colours of a terminal that has 256 of them.
pub(super) fn write_colours(f: &mut fmt::Formatter<'_>, placement: &Placement) -> fmt::Result {
    for queen in placement.queens() {
        if queen.row > 0 {
            writeln!(f)?;
        }
        for column in 0..placement.n() {
            let background = if is_dark(Queen { row: queen.row, column }) { 180 } else { 223 };
            let left = if column == queen.column { QUEEN } else { ' ' };
            write!(f, "\u{1b}[38;5;16;48;5;{background}m{left} ")?;
        }
        write!(f, "\u{1b}[0m")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::placement::{Notation, Placement};

    #[track_caller]
    fn check(columns: &str, notation: Notation, expected: &str) {
        let placement: Placement = columns.parse().expect("a solution");
        assert_eq!(placement.written(notation).to_string(), expected);
    }

    #[test]
    fn boards_are_drawn_as_they_stand_here() {
        check(
            "1 3 0 2",
            Notation::Unicode,
            "┌────────┐\n\
             │  ♛░  ░░│\n\
             │░░  ░░♛ │\n\
             │♛ ░░  ░░│\n\
             │░░  ♛░  │\n\
             └────────┘",
        );
        check("0", Notation::Unicode, "┌──┐\n│♛ │\n└──┘");
        check("", Notation::Unicode, "┌┐\n└┘");
    }

    #[test]
    fn squares_have_two_colours_and_end_with_none() {
        check("0", Notation::Colours, "\u{1b}[38;5;16;48;5;223m♛ \u{1b}[0m");
        check("", Notation::Colours, "");
        let four: Placement = "1 3 0 2".parse().expect("a solution");
        let drawn = four.written(Notation::Colours).to_string();
        assert_eq!(drawn.lines().count(), 4);
        assert_eq!((drawn.matches("48;5;223m").count(), drawn.matches("48;5;180m").count()), (8, 8));
        for (line, columns) in drawn.lines().zip(four.columns()) {
            let cells: Vec<&str> = line.split('m').skip(1).collect();
            assert_eq!(
                cells.iter().position(|cell| cell.starts_with('♛')),
                Some(*columns as usize),
                "{line}"
            );
        }
    }
}
