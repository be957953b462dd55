//! Counting n-queens placements: boards, symmetry, decomposition and kernels.
//!
//! A job's [`Plan`] cuts the board into [`Cross`]es and each of those into numbered [`Subproblems`], of which a
//! [`Kernel`] counts any run. Summed with the crosses' weights, the counts are Q(n):
//!
//! ```
//! use queens_solver::{BoardSize, Kernel, Plan};
//! use std::num::NonZeroUsize;
//! use std::sync::atomic::AtomicBool;
//!
//! let never = AtomicBool::new(false);
//! let plan = Plan::new(BoardSize::new(8)?, NonZeroUsize::MIN, &never).expect("nobody stops it");
//! let mut total: u128 = 0;
//! for planned in plan.crosses() {
//!     let all = 0..planned.choice().n_subproblems;
//!     let count = planned.subproblems().count(all, Kernel::best(), &never).expect("nobody stops it");
//!     total += u128::from(planned.cross().weight()) * u128::from(count.solutions);
//! }
//! assert_eq!(total, 92);
//! # Ok::<(), queens_solver::InvalidBoardSize>(())
//! ```
//!
//! No I/O, no async. The only crate of the project that may hold `unsafe` code.

mod board;
pub mod classic;
mod cross;
mod free_rows;
mod fundamental;
mod kernel;
mod parallel;
mod placements;
mod plan;
mod prefix;
mod pruning;
mod published;
mod sample;
mod span;
mod split_mix;
mod subproblems;
mod symmetric;
mod symmetry;
#[cfg(test)]
mod tests;
mod work;

pub use board::{BoardSize, InvalidBoardSize, Square};
pub use cross::{Cross, cross_lines};
pub use fundamental::fundamental;
pub use kernel::{InvalidKernel, Kernel, KernelChoice};
pub use parallel::{ThreadError, parallel};
pub use plan::{
    Choice, DECOMPOSITION_VERSION, Plan, PlanProgress, PlannedCross, WrongCrosses, crosses_in_counting_order,
};
pub use published::{Published, published};
pub use sample::{Part, Sampler};
pub use span::{Count, EmptySpan, Span};
pub use split_mix::SplitMix;
pub use subproblems::Subproblems;
pub use symmetric::{half_turn, quarter_turn};
pub use symmetry::Symmetry;
