//! Where what the ledger wants kept is kept, and what lies beside it.

mod archive;
pub mod certificate;
pub mod history;
pub mod postgres;
pub mod sqlite;

mod moving;
pub(crate) mod sql;
pub(crate) mod whereabouts;

pub use self::archive::{Archive, Records};
pub use self::moving::{MoveError, Moved, move_all};
pub use self::sql::audit::{JobAudit, Truth};
pub use self::sql::export::Exported;
pub use self::whereabouts::Whereabouts;
