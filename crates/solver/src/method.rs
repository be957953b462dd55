//! The methods of counting a board: the search and the halves method.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::board::BoardSize;
use crate::halves::{HALVES_DECOMPOSITION_VERSION, most_memory};
use crate::kernel::Kernel;
use crate::search_plan::DECOMPOSITION_VERSION;

/// How a board is cut into parts and counted. The methods share nothing but the board, so that each checks the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// Counts the completions of crosses, by backtracking.
    Search,
    /// Counts the pairs of an upper and a lower half board that fit together.
    Halves,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 2] = [Self::Search, Self::Halves];

    /// Returns the method's name in options and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Halves => "halves",
        }
    }

    /// Returns the unit of its work, in the singular: a node of the search, or a fixed number of pairs of half boards,
    /// called unit. Sums over both methods are in units.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Search => "node",
            Self::Halves => "unit",
        }
    }

    /// Returns whether two kernels count by the same code. By halves, `v128` and `portable` do.
    #[must_use]
    pub fn is_same_code(self, one: Kernel, other: Kernel) -> bool {
        let is_plain = |kernel| matches!(kernel, Kernel::V128 | Kernel::Portable);
        one == other || self == Self::Halves && is_plain(one) && is_plain(other)
    }

    /// Returns the most memory of a thread's lists, in bytes: 0 if it keeps none. Absent without a bound: for half
    /// boards from n = 30 on.
    #[must_use]
    pub fn most_memory(self, n: BoardSize) -> Option<usize> {
        match self {
            Self::Search => Some(0),
            Self::Halves => most_memory(n),
        }
    }

    /// Returns the expected units of work per second of one thread of a present-day machine with this kernel, before any
    /// measurement.
    #[must_use]
    pub const fn typical_speed(self, kernel: Kernel) -> u32 {
        match (self, kernel) {
            (_, Kernel::Avx512) => 1_000_000_000,
            (_, Kernel::Avx2) => 600_000_000,
            (Self::Search, Kernel::V128) => 350_000_000,
            (Self::Search, Kernel::Portable) => 70_000_000,
            (Self::Halves, Kernel::V128 | Kernel::Portable) => 300_000_000,
        }
    }

    /// Returns the version of everything that decides the meaning of a subproblem number: parts and their order,
    /// images, depths. Spans of different versions or methods must not be added up.
    #[must_use]
    pub const fn decomposition(self) -> u32 {
        match self {
            Self::Search => DECOMPOSITION_VERSION,
            Self::Halves => HALVES_DECOMPOSITION_VERSION,
        }
    }
}

/// The error of an unknown method name.
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
