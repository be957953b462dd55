//! Draws a placement as a board in a terminal. Two characters for each square make it about as wide as high.

use std::fmt;

const QUEEN: char = '♛';

/// Returns the squares of a row from the left: whether each is dark, as in pictures, and whether the queen is there.
fn squares(row: usize, queen: u32, n: usize) -> impl Iterator<Item = (bool, bool)> {
    (0..n).zip(0..).map(move |(column, number)| ((row + column) % 2 == 1, number == queen))
}

/// Draws the queens of these columns with characters that every Unicode font has: a frame, and dotted dark squares.
pub(super) fn write_unicode(f: &mut fmt::Formatter<'_>, columns: &[u32]) -> fmt::Result {
    let edge = "──".repeat(columns.len());
    writeln!(f, "┌{edge}┐")?;
    for (row, &queen) in columns.iter().enumerate() {
        f.write_str("│")?;
        for (is_dark, has_queen) in squares(row, queen, columns.len()) {
            let shade = if is_dark { '░' } else { ' ' };
            let left = if has_queen { QUEEN } else { shade };
            write!(f, "{left}{shade}")?;
        }
        writeln!(f, "│")?;
    }
    write!(f, "└{edge}┘")
}

/// Draws them with the colours of a 256-colour terminal.
pub(super) fn write_colours(f: &mut fmt::Formatter<'_>, columns: &[u32]) -> fmt::Result {
    for (row, &queen) in columns.iter().enumerate() {
        if row > 0 {
            writeln!(f)?;
        }
        for (is_dark, has_queen) in squares(row, queen, columns.len()) {
            let background = if is_dark { 180 } else { 223 };
            let left = if has_queen { QUEEN } else { ' ' };
            write!(f, "\u{1b}[38;5;16;48;5;{background}m{left} ")?;
        }
        f.write_str("\u{1b}[0m")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Unicode(&'static [u32]);
    struct Colours(&'static [u32]);

    impl fmt::Display for Unicode {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write_unicode(f, self.0)
        }
    }

    impl fmt::Display for Colours {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write_colours(f, self.0)
        }
    }

    #[test]
    fn boards_are_drawn_as_they_stand_here() {
        let four = ["┌────────┐", "│  ♛░  ░░│", "│░░  ░░♛ │", "│♛ ░░  ░░│", "│░░  ♛░  │", "└────────┘"];
        assert_eq!(Unicode(&[1, 3, 0, 2]).to_string(), four.join("\n"));
        assert_eq!(Unicode(&[0]).to_string(), "┌──┐\n│♛ │\n└──┘");
        assert_eq!(Unicode(&[]).to_string(), "┌┐\n└┘");
    }

    #[test]
    fn squares_have_two_colours_and_end_with_none() {
        assert_eq!(Colours(&[0]).to_string(), "\u{1b}[38;5;16;48;5;223m♛ \u{1b}[0m");
        assert_eq!(Colours(&[]).to_string(), "");
        let drawn = Colours(&[1, 3, 0, 2]).to_string();
        assert_eq!((drawn.matches("48;5;223m").count(), drawn.matches("48;5;180m").count()), (8, 8));
        let queens = drawn.lines().map(|line| line.split('m').skip(1).position(|cell| cell.starts_with('♛')));
        assert!(queens.eq([1, 3, 0, 2].map(Some)), "{drawn:?}");
    }
}
