//! Counting n-queens placements: boards, symmetry, decomposition and kernels.
//!
//! No I/O, no async. The only crate of the project that may hold `unsafe` code.

mod board;

pub use board::{BoardSize, InvalidBoardSize, Square};
