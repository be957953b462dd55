//! By which method to count.

use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use queens_process::default_threads;
use queens_solver::{BoardSize, Kernel, Method};
use thiserror::Error;
use tracing::info;

use crate::sampling::{Probing, board_nodes, board_time, probe};

/// Below, the search is faster on any machine.
const HALVES_FROM: u8 = 19;

/// From here on halves are faster on any machine, with any kernel of vectors.
const HALVES_ALWAYS_FROM: u8 = 24;

/// A short look at each method.
const PROBING: Probing = Probing { time: Duration::from_millis(500), fewest: 32 };

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

/// The method that counts a board faster, as samples of it say. Where nobody has to measure, nothing is measured: below
/// [`HALVES_FROM`], and where halves have been faster on every machine.
fn faster(n: BoardSize, kernel: Kernel) -> Method {
    if n.get() < HALVES_FROM {
        return Method::Search;
    }
    if n.get() >= HALVES_ALWAYS_FROM && kernel != Kernel::Portable {
        return Method::Halves;
    }
    let [search, halves] = [Method::Search, Method::Halves].map(|method| core_seconds(n, method, kernel));
    let Some((search, halves)) = search.zip(halves) else { return Method::Search };
    info!(%n, %kernel, search, halves, "core-seconds that the methods should take, by samples");
    if halves < search { Method::Halves } else { Method::Search }
}

/// What a count by this method should take; `None` if it can't be measured.
fn core_seconds(n: BoardSize, method: Method, kernel: Kernel) -> Option<f64> {
    let n_threads = default_threads();
    let (sampler, sample) = probe(n, method, kernel, n_threads, PROBING).ok()?;
    let nodes = board_nodes(&sampler, &sample, n_threads).ok()?;
    Some(board_time(&sampler, &sample, nodes).value).filter(|seconds| *seconds > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_chosen_by_name_or_left_to_be_measured() {
        let n = BoardSize::new(20).expect("a board size");
        for method in Method::ALL {
            let choice: MethodChoice = method.name().parse().expect("a method");
            assert_eq!((choice.named(), choice.method(n, Kernel::Portable)), (Some(method), method));
        }
        assert_eq!("auto".parse::<MethodChoice>().map(MethodChoice::named), Ok(None));
        for wrong in ["", "Search", "half", "halves "] {
            assert_eq!(wrong.parse::<MethodChoice>(), Err(InvalidMethodChoice), "'{wrong}'");
        }
        let small = BoardSize::new(18).expect("a board size");
        assert_eq!(MethodChoice(None).method(small, Kernel::Portable), Method::Search);
    }
}
