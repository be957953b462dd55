//! Tests that cover several modules of the crate.

mod decomposition;
mod example;
mod halves;
mod kernels;
mod oeis;

#[expect(unreachable_pub, reason = "it belongs to the crate of the whole-system tests as well")]
#[expect(dead_code, reason = "these tests do not need all of it")]
#[path = "../../../tests/src/skip.rs"]
mod skip;
