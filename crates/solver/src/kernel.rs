//! The kernels of the search: count runs of consecutive subproblems.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod blocks;
mod level;
mod passes;
mod portable;
mod v128;

use std::fmt;
use std::sync::atomic::AtomicBool;

use self::v128::V128;
#[cfg(target_arch = "x86_64")]
use self::{avx2::Avx2, avx512::Avx512};
use crate::prefix::Prefixes;
use crate::span::Count;

/// A counting implementation, chosen once per process. All return the same solutions and the same nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Plain integer code that runs everywhere; the specification of the others.
    Portable,
    /// Four states at a time, on processors with vectors of 128 bits: NEON, SSE4.1 or WebAssembly's.
    V128,
    /// Eight states at a time, on processors with AVX2.
    Avx2,
    /// Sixteen states at a time, on processors with AVX-512.
    Avx512,
}

impl Kernel {
    /// All kernels, the fastest first.
    pub const ALL: [Self; 4] = [Self::Avx512, Self::Avx2, Self::V128, Self::Portable];

    /// Returns whether this processor can run the kernel.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            Self::V128 => V128::detect().is_some(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => Avx2::detect().is_some(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => Avx512::detect().is_some(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }

    /// Lists all kernels and those that run here, for people: "avx2, v128, portable; here v128, portable".
    #[must_use]
    pub fn list() -> String {
        let names =
            |some: &mut dyn Iterator<Item = Self>| some.map(Self::name).collect::<Vec<_>>().join(", ");
        let here = names(&mut Self::ALL.into_iter().filter(|kernel| kernel.is_available()));
        format!("{}; here {here}", names(&mut Self::ALL.into_iter()))
    }

    /// Returns the kernel with the widest vectors of this processor, nearly always the fastest.
    /// [`KernelChoice`](crate::KernelChoice) measures it.
    #[must_use]
    pub fn best() -> Self {
        Self::ALL.into_iter().find(|kernel| kernel.is_available()).unwrap_or(Self::Portable)
    }

    /// Returns the kernel's name in options and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::V128 => "v128",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Counts the next `n_subproblems` subproblems of the walk, or those that are left.
    ///
    /// Returns `None` if `stop` was set before the end. The walk is then inside the run, and nothing was counted.
    ///
    /// # Panics
    /// If this processor can't run the kernel.
    pub(crate) fn count(
        self,
        prefixes: &mut Prefixes<'_>,
        n_subproblems: u64,
        stop: &AtomicBool,
    ) -> Option<Count> {
        match self {
            Self::Portable => portable::count(prefixes, n_subproblems, stop),
            Self::V128 => {
                let vectors = V128::detect().unwrap_or_else(|| self.lacks());
                blocks::count(vectors, &passes::ARRAYS, prefixes, n_subproblems, stop)
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                let vectors = Avx2::detect().unwrap_or_else(|| self.lacks());
                blocks::count(vectors, &passes::ARRAYS, prefixes, n_subproblems, stop)
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                let vectors = Avx512::detect().unwrap_or_else(|| self.lacks());
                blocks::count(vectors, &avx512::ARRAYS, prefixes, n_subproblems, stop)
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => self.lacks(),
        }
    }

    fn lacks(self) -> ! {
        panic!("this processor can't run the {self} kernel")
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
