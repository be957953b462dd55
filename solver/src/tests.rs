//! What goes across the whole crate.

mod decomposition;
mod kernels;
