//! Chooses the method of a count.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::Duration;

use clap::Args;
use queens_model::{default_method, price_of_job};
use queens_solver::{BoardSize, Kernel, Method};
use tracing::info;

use crate::sampling::{Measured, Probing, probe};

/// The boards that are measured. For smaller n, the search is faster with any vector kernel: by a factor of 3 at 19. For
/// larger ones, halves take less than half of its time.
const MEASURED: RangeInclusive<u8> = 20..=21;

/// The board that the methods are compared on. At 20, halves take the same share of the search's time within some per
/// cent, but a sample takes a hundred times as long.
const PROBED: u8 = 21;

/// For each method the work of that board within a per cent, by `queens estimate`; and how many samples are counted on
/// one thread, and how many of them first without a measurement. All take some 20 ms with
/// the kernel avx512, and 50 with v128.
const PROBES: [(Method, f64, usize, usize); 2] =
    [(Method::Search, 1.066e12, 4, 1), (Method::Halves, 6.84e11, 24, 8)];

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct MethodArgs {
    /// How to count: 'search' below crosses, the join of 'halves', or 'auto': by halves for n = 22 to 28, and by search
    /// for other boards; at n = 20 and 21, a machine that counts alone measures which is faster
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

impl FromStr for MethodChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "auto" => Ok(Self(None)),
            name => {
                name.parse().map(|method| Self(Some(method))).map_err(|_| "expected auto, search or halves")
            }
        }
    }
}

impl From<Method> for MethodChoice {
    fn from(method: Method) -> Self {
        Self(Some(method))
    }
}

impl MethodChoice {
    /// Returns the method chosen by name.
    pub(crate) fn named(self) -> Option<Method> {
        self.0
    }

    /// Returns the method chosen by name, or the faster one for this board with this kernel on this machine. For two
    /// sizes of boards it measures, in 20 to 50 ms.
    pub(crate) fn method(self, n: BoardSize, kernel: Kernel) -> Method {
        self.0.unwrap_or_else(|| faster(n, kernel))
    }

    /// Returns the method chosen by name, or the default of jobs, as the workers are not this machine.
    pub(crate) fn in_cluster(self, n: BoardSize) -> Method {
        self.0.unwrap_or_else(|| default_method(n))
    }

    /// Says by which method a coordinator's workers count a board, why, and at which price; `None` for small boards.
    pub(crate) fn explained_in_cluster(self, n: BoardSize) -> Option<String> {
        if n.get() < *MEASURED.start() {
            return None;
        }
        let method = self.in_cluster(n);
        let why = match self.0 {
            Some(_) => "as --method says",
            None if MEASURED.contains(&n.get()) => {
                "as some kernels are slower by halves: --method halves takes them"
            }
            None if method == Method::Halves => "which are faster with any kernel",
            None => "as nobody has measured halves there",
        };
        let price = price_of_job(n, method).map(|price| format!(". {price}"));
        Some(format!("n = {n}: by {method}, {why}{}", price.unwrap_or_default()))
    }
}

/// Returns the faster method for a board: the default of jobs, or as measured with samples, once in this process for
/// each kernel (docs/HALVES.md).
fn faster(n: BoardSize, kernel: Kernel) -> Method {
    if !MEASURED.contains(&n.get()) {
        return default_method(n);
    }
    static FASTER: [OnceLock<Method>; Kernel::ALL.len()] = [const { OnceLock::new() }; Kernel::ALL.len()];
    let faster = Kernel::ALL.into_iter().zip(&FASTER).find(|(of, _)| *of == kernel);
    faster.map_or(Method::Search, |(_, faster)| *faster.get_or_init(|| measure(kernel)))
}

/// Describes the cost of a count by this machine, if it must be confirmed.
pub(crate) fn price_here(n: BoardSize, method: Method, kernel: Kernel) -> Option<String> {
    let probe = PROBES.into_iter().find(|(of, ..)| *of == method);
    queens_model::price_here(n, method, || core_seconds(probe?, kernel))
}

/// Measures which method is faster with a kernel.
fn measure(kernel: Kernel) -> Method {
    let [search, halves] = PROBES.map(|probe| core_seconds(probe, kernel));
    let Some((search, halves)) = search.zip(halves) else { return Method::Search };
    info!(%kernel, search, halves, "core-seconds that the methods should take for n = {PROBED}, by samples");
    if halves < search { Method::Halves } else { Method::Search }
}

/// Estimates the core-seconds for the probed board by a method; `None` if the measurement fails.
fn core_seconds(
    (method, work, n_samples, n_before): (Method, f64, usize, usize),
    kernel: Kernel,
) -> Option<f64> {
    let n = BoardSize::new(PROBED).ok()?;
    let probing = Probing { time: Duration::ZERO, fewest: n_samples };
    let (_, mut sample) = probe(n, method, kernel, NonZeroUsize::MIN, probing).ok()?;
    sample.pieces.drain(..n_before.min(sample.pieces.len()));
    Some(sample.board_seconds(Measured::exact(work)).value).filter(|seconds| *seconds > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submitted_job_has_a_method_with_a_reason_and_a_price() {
        let explained = |choice: &str, n| {
            let choice: MethodChoice = choice.parse().expect("a choice");
            choice.explained_in_cluster(BoardSize::new(n).expect("a board size")).unwrap_or_default()
        };
        assert_eq!(explained("auto", 19), "");
        assert!(explained("auto", 20).starts_with("n = 20: by search, as some kernels"));
        let price = "n = 28 takes some 27 to 110 core-years by halves on cores like";
        assert!(
            explained("auto", 28)
                .starts_with(&format!("n = 28: by halves, which are faster with any kernel. {price}"))
        );
        assert!(explained("auto", 29).starts_with("n = 29: by search, as nobody"));
        assert!(explained("search", 28).starts_with("n = 28: by search, as --method says. n = 28 takes"));
    }

    #[test]
    fn methods_are_chosen_by_name_or_left_to_be_measured() {
        let n = BoardSize::new(20).expect("a board size");
        for method in Method::ALL {
            let choice: MethodChoice = method.name().parse().expect("a method");
            assert_eq!((choice.named(), choice.method(n, Kernel::Portable)), (Some(method), method));
        }
        assert_eq!("auto".parse::<MethodChoice>().map(MethodChoice::named), Ok(None));
        for wrong in ["", "Search", "half", "halves "] {
            assert!(wrong.parse::<MethodChoice>().is_err(), "'{wrong}'");
        }
        let measured = MethodChoice(None).method(n, Kernel::best());
        assert_eq!(measured, MethodChoice(None).method(n, Kernel::best()), "it is measured once");
        // These need no measurement.
        for (n, kernel, method) in [
            (18, Kernel::Avx512, Method::Search),
            (19, Kernel::V128, Method::Search),
            (22, Kernel::Avx2, Method::Halves),
            (28, Kernel::Avx512, Method::Halves),
            (29, Kernel::Avx512, Method::Search),
            (18, Kernel::Portable, Method::Search),
            (27, Kernel::Portable, Method::Halves),
        ] {
            let n = BoardSize::new(n).expect("a board size");
            assert_eq!(MethodChoice(None).method(n, kernel), method, "n = {n}, {kernel}");
        }
    }
}
