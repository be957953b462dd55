//! The join's operations in plain Rust, for processors without vectors that the join knows.
//!
//! They do the same as [AVX-512](super::avx512), a word at a time. Lists are packed without a branch: each word is
//! written behind the end, and the end moves if the word stays. The compiler turns loops over lines into whatever
//! vectors the target has. Only steps have vectors of their own.

mod bits128;
mod lists;
mod planes;

use std::ops::Range;

use crate::halves::lines::{Line, Words};
use crate::halves::vectors::{
    Bucket, Head, LINES, Sieve, Sifted, Tables, Vectors, impl_vectors, with_vectors,
};

#[cfg(target_arch = "x86_64")]
pub(super) use self::{lists::number, planes::transpose};

/// The operations that every processor has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

impl_vectors!(Plain);
