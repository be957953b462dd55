//! Whatever happens to the files of a count, its total is right or it is refused; and what proves itself is saved.
//!
//! `QUEENS_DAMAGES` says how many databases are damaged at random, 300 by default, and `QUEENS_DAMAGE_SEED` where to
//! begin. What became of them is printed (`cargo test -- --nocapture`).

mod counting;
mod fuzz;
mod kinds;
#[path = "../../../ledger/tests/simulation/random.rs"]
#[expect(dead_code, reason = "the simulation draws more")]
mod random;
mod recover;
