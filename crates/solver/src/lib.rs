//! The n-queens solver: boards, symmetry, decomposition into subproblems, and kernels that count them.
//!
//! A job's [`Plan`] cuts the board into [`Part`]s, and each part into numbered [`Subproblems`]. A [`Kernel`] counts any
//! run of them. The [`Method`] defines the parts. The sum of the counts, times the parts' weights, is Q(n):
//!
//! ```
//! use queens_solver::{BoardSize, Kernel, Method, Plan};
//! use std::num::NonZeroUsize;
//! use std::sync::atomic::AtomicBool;
//!
//! let never = AtomicBool::new(false);
//! let plan = Plan::new(BoardSize::new(8)?, Method::Search, NonZeroUsize::MIN, &never).expect("nobody stops it");
//! let mut total: u128 = 0;
//! for planned in plan.parts() {
//!     let all = 0..planned.choice().n_subproblems;
//!     let count = planned.subproblems().count(all, Kernel::best(), &never).expect("nobody stops it");
//!     total += u128::from(planned.weight()) * u128::from(count.solutions);
//! }
//! assert_eq!(total, 92);
//! # Ok::<(), queens_solver::InvalidBoardSize>(())
//! ```
//!
//! [`boards`] has single boards for people: solutions, searches step by step, pictures.
//!
//! No I/O, no async. Besides `queens-platform` and `queens-gpu` the only crate of the project that may hold `unsafe` code.

mod board;
pub mod boards;
#[cfg(any(test, target_family = "wasm"))]
mod browser;
mod choice;
pub mod classic;
mod cross;
mod free_rows;
mod fundamental;
mod halves;
mod kernel;
mod kernel_choice;
mod method;
mod parallel;
mod part;
mod placements;
mod plan;
mod prefix;
mod pruning;
mod published;
mod sample;
mod search_plan;
mod search_sample;
mod span;
mod split_mix;
mod subproblems;
mod symmetric;
mod symmetry;
#[cfg(test)]
mod tests;
mod work;

pub use board::{BoardSize, InvalidBoardSize, Square};
pub use choice::{Choice, Pass, PlanProgress};
pub use cross::{Cross, cross_lines};
pub use fundamental::fundamental;
pub use halves::{ColumnSet, HalvesPart};
pub use kernel::Kernel;
pub use kernel_choice::{InvalidKernel, KernelChoice};
pub use method::{InvalidMethod, Method};
pub use parallel::{ThreadError, parallel};
pub use part::{Part, crosses_in_counting_order, parts_in_counting_order};
pub use plan::{Plan, PlannedPart, WrongParts};
pub use published::{Published, published};
pub use sample::{SampledPart, Sampler};
pub use search_plan::DECOMPOSITION_VERSION;
pub use span::{Count, EmptySpan, Span};
pub use split_mix::SplitMix;
pub use subproblems::Subproblems;
pub use symmetric::{half_turn, quarter_turn};
pub use symmetry::Symmetry;
