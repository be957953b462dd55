//! Boards for people: one solution, all solutions, the search itself, and pictures of all three.
//!
//! A solution is a [`Placement`]: the column of the queen of every row. Several algorithms find one ([`construction`],
//! [`local_search`], [`Completion`], [`Naive`], [`Backtracking`]). [`Solutions`] walks through all of them, and
//! [`completions`] counts those that contain given queens. [`picture`] draws placements, [`animation`] the search for
//! them, [`grid`] the distribution of a board's solutions.
//!
//! ```
//! use queens_solver::BoardSize;
//! use queens_solver::boards::Solutions;
//!
//! let all: Vec<String> = Solutions::new(BoardSize::new(4)?).map(|solution| solution.to_string()).collect();
//! assert_eq!(all, ["[1 3 0 2]", "[2 0 3 1]"]);
//! # Ok::<(), queens_solver::InvalidBoardSize>(())
//! ```
//!
//! A flag stops every long operation: there are no clocks here.

pub mod animation;
mod backtracking;
mod completion;
mod completions;
mod construction;
mod given;
pub mod grid;
mod labels;
mod local_search;
mod naive;
pub mod picture;
mod placement;
mod queen;
mod search;
mod solutions;
mod terminal;
mod theme;

pub use backtracking::{Backtracking, Step};
pub use completion::{Completion, complete};
pub use completions::{Completions, CompletionsError, completions};
pub use construction::construction;
pub use given::{Given, InvalidGiven};
pub use local_search::local_search;
pub use naive::Naive;
pub use placement::{InvalidPlacement, Notation, Placement, Written};
pub use queen::Queen;
pub use search::{SearchEnd, Tried};
pub use solutions::Solutions;
