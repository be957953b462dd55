//! How solutions are written.

use clap::ValueEnum;
use queens_boards::Notation;

/// How to write a solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// [1 3 0 2]: the column of the queen of each row, both counted from 0
    Vector,
    /// A line for each row, Q for a queen, . for an empty square
    Board,
    /// 0:1,1:3,2:0,3:2: row and column of each queen, as --given reads them
    Coordinates,
    /// The vector as a JSON array
    Json,
}

impl From<Format> for Notation {
    fn from(format: Format) -> Self {
        match format {
            Format::Vector => Self::Vector,
            Format::Board => Self::Board,
            Format::Coordinates => Self::Coordinates,
            Format::Json => Self::Json,
        }
    }
}
