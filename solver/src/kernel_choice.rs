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

/// How often each kernel counts it, in turn: the shortest time is the least disturbed by other work.
const ROUNDS: usize = 3;

/// A user's choice of kernel: by name, or the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelChoice(Option<Kernel>);

impl KernelChoice {
    /// Returns the chosen kernel, or the fastest of this machine. The first call measures that, in less than 20 ms of
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
    let mut shortest = vec![(Duration::MAX, Kernel::Portable); here.len()];
    for _ in 0..ROUNDS {
        for (shortest, &kernel) in shortest.iter_mut().zip(&here) {
            let began = Instant::now();
            for part in plan.parts() {
                _ = part.subproblems().count(0..part.choice().n_subproblems, kernel, &never);
            }
            *shortest = (began.elapsed().min(shortest.0), kernel);
        }
    }
    faster_by_a_tenth(&shortest)
}

/// Returns the fastest kernel. Those before win unless another takes a tenth less: with equal times, wider vectors are
/// better for larger boards.
fn faster_by_a_tenth(times: &[(Duration, Kernel)]) -> Kernel {
    let faster = |best: &(Duration, Kernel), other: &(Duration, Kernel)| {
        if other.0.saturating_mul(10) < best.0.saturating_mul(9) { *other } else { *best }
    };
    let best = times.iter().copied().reduce(|best, other| faster(&best, &other));
    best.map_or(Kernel::Portable, |(_, kernel)| kernel)
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
        let fastest = auto.kernel();
        assert!(fastest.is_available() && auto.kernel() == fastest);
        assert_eq!("portable".parse::<KernelChoice>().map(KernelChoice::kernel), Ok(Kernel::Portable));
        assert_eq!("sse".parse::<KernelChoice>(), Err(InvalidKernel::Unknown));
        let times = |avx512, avx2, portable| {
            let all = [(avx512, Kernel::Avx512), (avx2, Kernel::Avx2), (portable, Kernel::Portable)];
            faster_by_a_tenth(&all.map(|(micros, kernel)| (Duration::from_micros(micros), kernel)))
        };
        assert_eq!(times(100, 160, 1600), Kernel::Avx512);
        assert_eq!(times(100, 91, 1600), Kernel::Avx512);
        assert_eq!(times(100, 89, 1600), Kernel::Avx2);
        assert_eq!(times(1000, 900, 800), Kernel::Portable);
        assert_eq!(faster_by_a_tenth(&[]), Kernel::Portable);
    }
}
