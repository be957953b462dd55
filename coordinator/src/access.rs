//! Who is let in, and to what.
//!
//! The [`Book`] keeps invitations, the names bound to them, and decisions, in a file of its own or in tables on a server
//! (`shelf`); a thread, the `keeper`, reads and writes it for a running coordinator, also what `queens-coordinator invite`
//! and `revoke`, or other coordinators, change beside it. [`Admission`] says of each request, by gRPC or HTTP, whether its sender may make it: `permits` is the one
//! table of what each takes. What is decided, and what becomes of it, is recorded. Whoever is let in has a `Pass`, which ends with its invitation.

mod admission;
mod book;
pub(crate) mod book_error;
pub(crate) mod contents;
mod decisions;
mod entry;
mod failures;
mod keeper;
mod names;
mod noted_body;
mod noting;
mod pass;
mod permits;
mod portions;
mod ration;
mod rows;
mod schema;
mod sessions;
mod shared;
mod shelf;

pub use self::admission::Admission;
pub(crate) use self::admission::{COOKIE, NotLetIn};
pub use self::book::{Book, Place, Wanted};
pub use self::book_error::BookError;
pub(crate) use self::keeper::NotBound;
pub(crate) use self::pass::{OVER, Pass};
#[cfg(test)]
pub(crate) use self::permits::requests;
pub use self::portions::Quota;
pub(crate) use self::sessions::LONGEST as SESSION;
