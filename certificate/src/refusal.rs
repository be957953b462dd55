//! Why a certificate is not accepted.

use std::fmt::Display;
use std::io;

use queens_solver::BoardSize;
use thiserror::Error;

/// Why a certificate proves nothing.
#[derive(Debug, Error)]
pub enum Refusal {
    /// Something in it does not hold.
    #[error("{place}: {what}")]
    Wrong {
        /// Where it stands.
        place: String,
        /// What is wrong.
        what: String,
    },
    /// It can't be read to its end, or what comes of it can't be written.
    #[error("failed to read it: {0}")]
    Io(#[from] io::Error),
    /// To check it takes long, and nobody has asked for that.
    #[error("to check n = {n} takes {time}, which is done only if asked for (--yes)")]
    Long {
        /// The size of the board, as the file says.
        n: BoardSize,
        /// How long it takes.
        time: &'static str,
    },
    /// The one who asked doesn't want to know any more.
    #[error("interrupted")]
    Interrupted,
}

impl Refusal {
    /// Something at this place does not hold.
    pub(crate) fn at(place: impl Display, what: impl Display) -> Self {
        Self::Wrong { place: place.to_string(), what: what.to_string() }
    }
}
