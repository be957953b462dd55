//! The methods of counting a board.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::board::BoardSize;
use crate::halves::{HALVES_DECOMPOSITION_VERSION, most_memory};
use crate::kernel::Kernel;
use crate::search_plan::DECOMPOSITION_VERSION;

/// How a board is cut into parts, and what counts them. The methods share nothing but the board, so that each checks
/// the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// The completions of crosses, by backtracking.
    Search,
    /// The pairs of an upper and a lower half board that fit together.
    Halves,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 2] = [Self::Search, Self::Halves];

    /// The name a method is chosen and recorded by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Halves => "halves",
        }
    }

    /// What its work is counted in, in the singular: of the search a node, of halves a unit, which is so many pairs and
    /// has no name of its own. What adds up both is told in units.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Search => "node",
            Self::Halves => "unit",
        }
    }

    /// What a thread with this kernel keeps in lists at most, in bytes: 0 where it keeps none; absent where nothing
    /// bounds it, which is so for halves by the portable kernel, and from n = 30 on by any.
    #[must_use]
    pub fn most_memory(self, n: BoardSize, kernel: Kernel) -> Option<usize> {
        match self {
            Self::Search => Some(0),
            Self::Halves if kernel == Kernel::Portable => None,
            Self::Halves => most_memory(n),
        }
    }

    /// The version of everything that decides what a subproblem number of this method means: parts and their order,
    /// images, depths. Spans counted under different versions or by different methods must not be added up.
    #[must_use]
    pub const fn decomposition(self) -> u32 {
        match self {
            Self::Search => DECOMPOSITION_VERSION,
            Self::Halves => HALVES_DECOMPOSITION_VERSION,
        }
    }
}

/// A name that is no method's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected search or halves")]
pub struct InvalidMethod;

impl FromStr for Method {
    type Err = InvalidMethod;

    fn from_str(text: &str) -> Result<Self, InvalidMethod> {
        Self::ALL.into_iter().find(|method| method.name() == text).ok_or(InvalidMethod)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
