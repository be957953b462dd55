//! The choice of a kernel: by its name, or by a measurement.

use std::num::NonZeroUsize;
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::board::BoardSize;
use crate::kernel::Kernel;
use crate::method::Method;
use crate::plan::Plan;

/// The board that kernels are compared on: a tenth of a millisecond with AVX-512, two milliseconds without vectors.
const PROBED: u8 = 11;

/// How often each kernel counts it, in turn.
const ROUNDS: usize = 5;

/// In how many of the rounds a kernel must take a tenth less than one with wider vectors: other work may disturb some.
const FASTER: usize = 4;

/// A user's choice of kernel: by name, or the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelChoice(Option<Kernel>);

impl KernelChoice {
    /// Returns the chosen kernel, or the fastest of this machine. The first call measures that, in some 12 ms of
    /// processor time, unless there is only one; later ones in this process return the same.
    #[must_use]
    pub fn kernel(self) -> Kernel {
        static FASTEST: OnceLock<Kernel> = OnceLock::new();
        self.0.unwrap_or_else(|| *FASTEST.get_or_init(measured))
    }
}

/// Returns the fastest kernel of this machine by a measurement.
fn measured() -> Kernel {
    let here: Vec<Kernel> = Kernel::ALL.into_iter().filter(|kernel| kernel.is_available()).collect();
    let never = AtomicBool::new(false);
    let n = BoardSize::new(PROBED).ok().filter(|_| here.len() > 1);
    let Some(plan) = n.and_then(|n| Plan::new(n, Method::Search, NonZeroUsize::MIN, &never)) else {
        return Kernel::best();
    };
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let time = |&kernel: &Kernel| {
            let began = Instant::now();
            for part in plan.parts() {
                _ = part.subproblems().count(0..part.choice().n_subproblems, kernel, &never);
            }
            began.elapsed()
        };
        rounds.push(here.iter().map(time).collect());
    }
    here[fastest(&rounds)]
}

/// Returns the position of the fastest kernel, by their times in several rounds. Those before win unless another takes a
/// tenth less in most rounds: with equal times, wider vectors are better for larger boards.
fn fastest(rounds: &[Vec<Duration>]) -> usize {
    let n_kernels = rounds.first().map_or(0, Vec::len);
    (1..n_kernels).fold(0, |best, other| {
        let is_faster =
            |times: &&Vec<Duration>| times[other].saturating_mul(10) < times[best].saturating_mul(9);
        if rounds.iter().filter(is_faster).count() >= FASTER { other } else { best }
    })
}

/// The error of an unknown kernel name, or of a kernel that can't run here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidKernel {
    /// No kernel has this name.
    #[error("expected auto, avx512, avx2, v128 or portable")]
    Unknown,
    /// The processor lacks the kernel's instructions.
    #[error("this processor lacks what the {0} kernel needs; auto takes the fastest it can run")]
    Unavailable(Kernel),
}

impl FromStr for KernelChoice {
    type Err = InvalidKernel;

    fn from_str(text: &str) -> Result<Self, InvalidKernel> {
        if text == "auto" {
            return Ok(Self(None));
        }
        let kernel = Kernel::ALL.into_iter().find(|kernel| kernel.name() == text);
        let kernel = kernel.ok_or(InvalidKernel::Unknown)?;
        if kernel.is_available() { Ok(Self(Some(kernel))) } else { Err(InvalidKernel::Unavailable(kernel)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_chosen_by_its_name_or_by_its_speed() {
        let auto: KernelChoice = "auto".parse().expect("a choice");
        let chosen = auto.kernel();
        assert!(chosen.is_available() && auto.kernel() == chosen);
        assert_eq!("portable".parse::<KernelChoice>().map(KernelChoice::kernel), Ok(Kernel::Portable));
        assert_eq!("sse".parse::<KernelChoice>(), Err(InvalidKernel::Unknown));
        let of = |rounds: [[u64; 3]; ROUNDS]| {
            fastest(&rounds.map(|times| times.map(Duration::from_micros).to_vec()))
        };
        assert_eq!(of([[100, 160, 1600]; ROUNDS]), 0);
        assert_eq!(of([[100, 91, 1600]; ROUNDS]), 0);
        assert_eq!(of([[100, 89, 1600]; ROUNDS]), 1);
        assert_eq!(of([[1000, 900, 800]; ROUNDS]), 2);
        // Other work on the machine disturbs some rounds.
        let (usual, disturbed) = ([100, 160, 1600], [5000, 160, 1600]);
        assert_eq!(of([usual, disturbed, disturbed, usual, disturbed]), 0);
        let (slow, disturbed) = ([200, 160, 100], [200, 160, 5000]);
        assert_eq!(of([slow, slow, disturbed, slow, slow]), 2);
        assert_eq!(fastest(&[]), 0);
    }
}
