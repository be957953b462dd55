//! Chooses the method of a count.

use std::str::FromStr;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use queens_model::default_method;
use queens_runtime::default_threads;
use queens_solver::{BoardSize, Kernel, Method};
use thiserror::Error;
use tokio::sync::oneshot;
use tracing::info;

use crate::sampling::{Probing, board_nodes, board_time, probe};

/// For smaller n, the search is faster with any vector kernel.
const HALVES_FROM: u8 = 19;

/// From this n on, halves are faster with the portable kernel.
const HALVES_FROM_PORTABLE: u8 = 18;

/// From this n on, halves are faster with any vector kernel.
const HALVES_ALWAYS_FROM: u8 = 24;

/// The duration of a short measurement of each method.
const PROBING: Probing = Probing { time: Duration::from_millis(500), fewest: 8 };

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct MethodArgs {
    /// How to count: 'search' below crosses, the join of 'halves', or 'auto' for the faster one for this board on this
    /// machine. From n = 29 on, 'auto' is the search, because nobody has measured halves there
    #[arg(long, env = "QUEENS_METHOD", value_name = "METHOD", default_value = "auto")]
    method: MethodChoice,
}

impl MethodArgs {
    pub(crate) fn choice(&self) -> MethodChoice {
        self.method
    }
}

/// The user's choice: a method by name, or the faster one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MethodChoice(Option<Method>);

/// A text that names no method.
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
    /// Returns the method chosen by name.
    pub(crate) fn named(self) -> Option<Method> {
        self.0
    }

    /// Returns the method chosen by name, or the faster one for this board with this kernel on this machine.
    pub(crate) fn method(self, n: BoardSize, kernel: Kernel) -> Method {
        self.0.unwrap_or_else(|| faster(n, kernel))
    }

    /// Returns the method chosen by name, or halves where they are known to be faster without a measurement.
    pub(crate) fn unmeasured(self, n: BoardSize, kernel: Kernel) -> Method {
        self.0.or(known(n, kernel)).unwrap_or(Method::Search)
    }

    /// Returns the method chosen by name, or the faster one. Measures on a separate thread, which may take some
    /// seconds.
    pub(crate) async fn find_out(self, n: BoardSize, kernel: Kernel) -> anyhow::Result<Method> {
        if let Some(method) = self.0.or(known(n, kernel)) {
            return Ok(method);
        }
        let (sender, found) = oneshot::channel();
        // After an interrupt, the process ends with this thread.
        let find_out = move || _ = sender.send(self.method(n, kernel));
        let thread = thread::Builder::new().name("choose".to_owned()).spawn(find_out);
        thread.context("failed to start a thread")?;
        found.await.context("the choice of a method did not end")
    }

    /// Returns the method chosen by name, or the default of jobs, as the workers are not this machine.
    pub(crate) fn in_cluster(self, n: BoardSize) -> Method {
        self.0.unwrap_or_else(|| default_method(n))
    }
}

/// Returns the faster method if it is known without a measurement. Below [`HALVES_FROM`], it is the search. From
/// [`HALVES_ALWAYS_FROM`] on, it is the default of jobs. In between, vector kernels need a measurement.
fn known(n: BoardSize, kernel: Kernel) -> Option<Method> {
    let is_portable = kernel == Kernel::Portable;
    match n.get() {
        at if is_portable && (HALVES_FROM_PORTABLE..HALVES_ALWAYS_FROM).contains(&at) => Some(Method::Halves),
        ..HALVES_FROM => Some(Method::Search),
        HALVES_FROM..HALVES_ALWAYS_FROM => None,
        HALVES_ALWAYS_FROM.. => Some(default_method(n)),
    }
}

/// Returns the faster method for a board, as known or measured with samples.
fn faster(n: BoardSize, kernel: Kernel) -> Method {
    if let Some(known) = known(n, kernel) {
        return known;
    }
    let [search, halves] = [Method::Search, Method::Halves].map(|method| core_seconds(n, method, kernel));
    let Some((search, halves)) = search.zip(halves) else { return Method::Search };
    info!(%n, %kernel, search, halves, "core-seconds that the methods should take, by samples");
    if halves < search { Method::Halves } else { Method::Search }
}

/// Estimates the core-seconds of a count by this method; `None` if the measurement fails.
fn core_seconds(n: BoardSize, method: Method, kernel: Kernel) -> Option<f64> {
    let n_threads = default_threads();
    let (sampler, sample) = probe(n, method, kernel, n_threads, PROBING).ok()?;
    let work = board_nodes(&sampler, &sample, n_threads).ok()?;
    Some(board_time(&sampler, &sample, work).value).filter(|seconds| *seconds > 0.0)
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
        // These need no measurement.
        for (n, kernel, method) in [
            (18, Kernel::Avx512, Method::Search),
            (24, Kernel::Avx2, Method::Halves),
            (28, Kernel::Avx512, Method::Halves),
            (29, Kernel::Avx512, Method::Search),
            (17, Kernel::Portable, Method::Search),
            (18, Kernel::Portable, Method::Halves),
            (27, Kernel::Portable, Method::Halves),
        ] {
            let n = BoardSize::new(n).expect("a board size");
            assert_eq!(MethodChoice(None).method(n, kernel), method, "n = {n}, {kernel}");
        }
    }
}
