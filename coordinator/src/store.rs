//! Stores on servers, and moving from one store to another.

mod moving;
pub mod postgres;
mod restoring;
pub(crate) mod whereabouts;

pub use self::moving::{MoveError, Moved, move_all};
pub use self::restoring::{RestoreError, Restored, restore};
pub use self::whereabouts::Whereabouts;
