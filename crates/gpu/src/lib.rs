//! The halves method on graphics cards: lists, filters and joins of half boards, exact to the last unit of work.
//!
//! docs/GPU.md explains the stages and has measurements. The kernels have one source for CUDA C and OpenCL C
//! (`kernels`); `.ci/ptx` compiles them for NVIDIA's cards, and drivers of OpenCL compile them when a card is opened.
//! The libraries of both drivers are loaded when they are asked for. A program that can't load libraries finds no card.
//!
//! Besides `queens-solver` and `queens-platform` the only crate of the project that may hold `unsafe` code.

mod arena;
mod card;
mod card_id;
mod cuda;
mod device;
mod devices;
mod opencl;
mod pace;
mod sensors;
mod shape;
#[cfg(test)]
mod tests;

pub use card::Card;
pub use card_id::{CardId, CardInfo, InvalidCardId};
pub use device::CardError;
pub use devices::{ChosenCards, InvalidCards, cards};
