//! The client of coordinators: connections, discovery of the leader, the operators' calls and typed errors.

mod calls;
mod connection;
mod error;
mod greeting;
mod operator;
mod route;
mod route_list;
mod search;

pub use connection::{Connection, endpoint};
pub use error::{ClientError, Problem};
pub use greeting::Greeting;
pub use operator::{Changes, Operator, Pieces};
pub use route::{Route, RouteError, is_this_machine};
pub use route_list::Routes;
pub use search::{Attempt, Search};

pub use crate::pb::change_job_request::Change as JobChange;
pub use crate::pb::change_workers_request::Change as WorkersChange;
