//! The halves method on graphics cards: lists, filters and joins of half boards, exact to the last unit of work.
//!
//! Besides `queens-solver` and `queens-platform` the only crate of the project that may hold `unsafe` code.

mod arena;
mod card;
mod cuda;
mod device;
mod opencl;
mod shape;

pub use card::Card;
pub use device::CardError;
use shape::Shape;

/// The kernels, in the language that CUDA C and OpenCL C share.
const SOURCE: &str = include_str!("../kernels/halves.cl");

/// Returns the names of all OpenCL devices.
#[must_use]
pub fn opencl_devices() -> Vec<String> {
    opencl::names()
}

/// Opens an OpenCL device for boards of size `n`, with `bytes` of its memory.
///
/// # Errors
/// If there is no such device, or cards do not count such boards.
pub fn open_opencl(number: usize, n: u8, bytes: u64) -> Result<Card, CardError> {
    let shape = Shape::of(n).ok_or(CardError::BoardSize)?;
    Ok(Card::new(Box::new(opencl::OpenCl::open(number, shape, bytes)?), shape))
}

/// Returns the names of NVIDIA's cards.
#[must_use]
pub fn cuda_devices() -> Vec<String> {
    cuda::names()
}

/// Opens one of NVIDIA's cards for boards of size `n`, with `bytes` of its memory.
///
/// # Errors
/// If there is no such card, or cards do not count such boards.
pub fn open_cuda(number: usize, n: u8, bytes: u64) -> Result<Card, CardError> {
    let shape = Shape::of(n).ok_or(CardError::BoardSize)?;
    Ok(Card::new(Box::new(cuda::Cuda::open(number, shape, bytes)?), shape))
}
