//! Notations of solutions.

use std::io;

use clap::{Args, ValueEnum};
use queens_program::{Output, OutputArgs, is_colourful};
use queens_solver::boards::Notation;

use crate::flags::WrongUsage;

/// The maximum number of rows in a drawing, which then has a hundred million squares.
const MOST_DRAWN: u32 = 10_000;

/// A notation of solutions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
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
}

/// The form of solutions.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct FormatArgs {
    /// Notation as text [default: vector]
    #[arg(long)]
    format: Option<Format>,

    #[command(flatten)]
    output: OutputArgs,
}

impl FormatArgs {
    pub(crate) fn is_json(&self) -> bool {
        self.output.output == Output::Json
    }

    /// Returns the notation that was asked for, as far as stdout supports it.
    ///
    /// # Errors
    /// If a drawing of this many rows would be too large, or JSON is to be drawn.
    pub(crate) fn notation(&self, n: u32) -> Result<Notation, WrongUsage> {
        match (self.is_json(), self.format) {
            (true, None) => Ok(Notation::Json),
            (true, Some(_)) => Err(WrongUsage("--format is for text, not for --output json".to_owned())),
            (false, format) => format.unwrap_or(Format::Vector).notation(n),
        }
    }
}

impl Format {
    /// Returns the notation that stdout supports.
    ///
    /// # Errors
    /// If a drawing of this many rows would be too large.
    fn notation(self, n: u32) -> Result<Notation, WrongUsage> {
        let notation = match self {
            Self::Vector => Notation::Vector,
            Self::Board => Notation::Board,
            Self::Color if is_colourful(&io::stdout()) => Notation::Colours,
            Self::Unicode | Self::Color => Notation::Unicode,
            Self::Coordinates => Notation::Coordinates,
        };
        if notation.is_drawing() && n > MOST_DRAWN {
            return Err(WrongUsage(format!(
                "boards are drawn up to n = {MOST_DRAWN}: take another --format"
            )));
        }
        Ok(notation)
    }
}
