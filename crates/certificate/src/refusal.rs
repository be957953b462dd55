//! The errors of checking a certificate.

use std::fmt::Display;
use std::io;

use queens_solver::BoardSize;
use thiserror::Error;

/// Why a certificate is refused.
#[derive(Debug, Error)]
pub enum Refusal {
    /// Its content is wrong.
    #[error("{place}: {what}")]
    Wrong {
        /// The place in the file.
        place: String,
        /// The error.
        what: String,
    },
    /// Reading it, or writing the result, failed.
    #[error("failed to read it: {0}")]
    Io(#[from] io::Error),
    /// The check takes long, and was not explicitly requested.
    #[error("to check n = {n} takes {time}, which is done only if asked for (--yes)")]
    Long {
        /// The size of the board, from the file.
        n: BoardSize,
        /// The time that it takes.
        time: &'static str,
    },
    /// The check was cancelled.
    #[error("interrupted")]
    Interrupted,
}

impl Refusal {
    /// Returns a refusal of the content at this place.
    pub(crate) fn at(place: impl Display, what: impl Display) -> Self {
        Self::Wrong { place: place.to_string(), what: what.to_string() }
    }
}
