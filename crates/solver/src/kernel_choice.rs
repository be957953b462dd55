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

/// A kernel replaces one with wider vectors if it takes a tenth less time in this many of [`ROUNDS`] comparisons. Other
/// work on the machine may disturb some of them.
const FASTER: usize = 4;
const ROUNDS: usize = 5;

/// A user's choice of kernel: by name, or the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelChoice(Option<Kernel>);

impl KernelChoice {
    /// The fastest kernel of this machine.
    pub const AUTO: Self = Self(None);

    /// Returns the chosen kernel, or the fastest of this machine. The first call measures that, in some 5 ms of processor
    /// time, unless there is only one; later ones in this process return the same.
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
    let time = |kernel| {
        let began = Instant::now();
        for part in plan.parts() {
            _ = part.subproblems().count(0..part.choice().n_subproblems, kernel, &never);
        }
        began.elapsed()
    };
    fastest(&here, time)
}

/// Returns the fastest of some kernels by their times. With equal times the one before wins: wider vectors are better
/// for larger boards. Each comparison ends as soon as it is decided.
fn fastest(kernels: &[Kernel], mut time: impl FnMut(Kernel) -> Duration) -> Kernel {
    let mut is_faster = |other, best| {
        let (mut n_faster, mut n_rounds) = (0, 0);
        while n_faster < FASTER && n_rounds - n_faster <= ROUNDS - FASTER {
            n_faster += usize::from(time(other).saturating_mul(10) < time(best).saturating_mul(9));
            n_rounds += 1;
        }
        n_faster == FASTER
    };
    let best =
        kernels.iter().copied().reduce(|best, other| if is_faster(other, best) { other } else { best });
    best.unwrap_or(Kernel::Portable)
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
            return Ok(Self::AUTO);
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
        let auto = KernelChoice::AUTO;
        assert_eq!("auto".parse(), Ok(auto));
        let chosen = auto.kernel();
        assert!(chosen.is_available() && auto.kernel() == chosen);
        assert_eq!("portable".parse::<KernelChoice>().map(KernelChoice::kernel), Ok(Kernel::Portable));
        assert_eq!("sse".parse::<KernelChoice>(), Err(InvalidKernel::Unknown));
        let all = [Kernel::Avx512, Kernel::Avx2, Kernel::Portable];
        let of = |times: [u64; 3]| {
            let time = |kernel| all.iter().zip(times).find(|(one, _)| **one == kernel).map(|(_, time)| time);
            fastest(&all, |kernel| Duration::from_micros(time(kernel).expect("one of them")))
        };
        assert_eq!(of([100, 160, 1600]), Kernel::Avx512);
        assert_eq!(of([100, 91, 1600]), Kernel::Avx512);
        assert_eq!(of([100, 89, 1600]), Kernel::Avx2);
        assert_eq!(of([1000, 900, 800]), Kernel::Portable);
        assert_eq!(fastest(&[], |_| Duration::ZERO), Kernel::Portable);
        // Other work on the machine disturbs one comparison, whichever kernel counts then.
        for (disturbed, chosen) in [(Kernel::Avx512, Kernel::Avx512), (Kernel::Avx2, Kernel::Avx2)] {
            let mut n_disturbed = 0;
            let time = |kernel| {
                n_disturbed += usize::from(kernel == disturbed);
                let usual = if kernel == chosen { 100 } else { 150 };
                Duration::from_micros(if kernel == disturbed && n_disturbed == 1 { 5000 } else { usual })
            };
            assert_eq!(fastest(&all[..2], time), chosen);
        }
    }
}
