//! The kernels: what a run of consecutive subproblems counts to.

mod portable;

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use thiserror::Error;

use crate::{Count, Prefixes};

/// A way to count, chosen once per process. All return the same solutions and the same nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Plain integer code that runs everywhere; the specification of the others.
    Portable,
}

impl Kernel {
    /// The fastest kernel of this processor.
    #[must_use]
    pub const fn best() -> Self {
        Self::Portable
    }

    /// The name a kernel is chosen and recorded by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
        }
    }

    /// Nodes per second to expect of one thread of a present-day machine, before anything is measured.
    #[must_use]
    pub const fn typical_rate(self) -> f64 {
        match self {
            Self::Portable => 7e7,
        }
    }

    /// Counts the next `n_subproblems` subproblems of the walk, or what is left of it, to the end.
    ///
    /// Returns `None` if `stop` was set before the end. The walk then stands somewhere inside the run, and
    /// nothing was counted.
    #[must_use]
    pub fn count(self, prefixes: &mut Prefixes<'_>, n_subproblems: u64, stop: &AtomicBool) -> Option<Count> {
        match self {
            Self::Portable => portable::count(prefixes, n_subproblems, stop),
        }
    }
}

/// What a user asks for: a kernel by name, or the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelChoice(Option<Kernel>);

impl KernelChoice {
    /// The kernel that was asked for, or the fastest of this processor.
    #[must_use]
    pub fn kernel(self) -> Kernel {
        self.0.unwrap_or_else(Kernel::best)
    }
}

/// A name that is no kernel's, or that of a kernel that can't run here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected auto or portable")]
pub struct InvalidKernel;

impl FromStr for KernelChoice {
    type Err = InvalidKernel;

    fn from_str(text: &str) -> Result<Self, InvalidKernel> {
        match text {
            "auto" => Ok(Self(None)),
            "portable" => Ok(Self(Some(Kernel::Portable))),
            _ => Err(InvalidKernel),
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
