//! The other end of a coordinator: connections to it, what operators ask of it, and what can go wrong, by type.

mod connection;
mod error;
mod operator;
mod route;

pub use connection::{Connection, endpoint};
pub use error::{ClientError, Problem};
pub use operator::{Changes, Greeting, Operator, Pieces};
pub use route::{Route, RouteError};
