//! The source of the kernels.

/// The kernels, in the language that CUDA C and OpenCL C share.
pub(crate) const SOURCE: &str = concat!(
    include_str!("../kernels/language.cl"),
    include_str!("../kernels/half_boards.cl"),
    include_str!("../kernels/words.cl"),
    include_str!("../kernels/filters.cl"),
    include_str!("../kernels/join.cl"),
);
