//! Tests with damaged files: the total of a count is right, or the files are refused; valid rows can be recovered.
//!
//! `QUEENS_DAMAGES` is the number of randomly damaged databases, 40 by default, and `QUEENS_DAMAGE_SEED` the first
//! seed. The results are printed (`cargo test -- --nocapture`).

mod counting;
mod fuzz;
mod kinds;
#[path = "../../../crates/ledger/tests/simulation/random.rs"]
#[expect(dead_code, reason = "the simulation draws more")]
mod random;
mod recover;
