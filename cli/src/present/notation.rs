//! Notations of solutions.

use std::io;

use clap::ValueEnum;
use queens_program::is_colourful;
use queens_solver::boards::Notation;

use crate::flags::WrongUsage;

/// The maximum number of rows in a drawing, which then has a hundred million squares.
const MOST_DRAWN: u32 = 10_000;

/// A notation of solutions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// [1 3 0 2]: the column of the queen of each row, both counted from 0
    Vector,
    /// A line for each row, Q for a queen, . for an empty square
    Board,
    /// ♛ for a queen, the dark squares dotted, in a frame
    Unicode,
    /// As 'unicode', in colours; without them in files and pipes, and with NO_COLOR
    Color,
    /// 0:1,1:3,2:0,3:2: row and column of each queen, in the form of --given
    Coordinates,
    /// The vector as a JSON array
    Json,
}

impl Format {
    /// Returns the notation that stdout supports.
    ///
    /// # Errors
    /// If a drawing of this many rows would be too large.
    pub(crate) fn notation(self, n: u32) -> Result<Notation, WrongUsage> {
        let notation = match self {
            Self::Vector => Notation::Vector,
            Self::Board => Notation::Board,
            Self::Color if is_colourful(&io::stdout()) => Notation::Colours,
            Self::Unicode | Self::Color => Notation::Unicode,
            Self::Coordinates => Notation::Coordinates,
            Self::Json => Notation::Json,
        };
        if notation.is_drawing() && n > MOST_DRAWN {
            return Err(WrongUsage(format!(
                "boards are drawn up to n = {MOST_DRAWN}: take another --format"
            )));
        }
        Ok(notation)
    }
}
