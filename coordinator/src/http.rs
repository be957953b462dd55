//! What the coordinator shows in a browser and tells programs by HTTP: pages, a JSON API, health.
//!
//! No handler waits for the ledger: what is told comes from [`Snapshot`](queens_event_loop::Snapshot)s, and what
//! operators decide is sent to the event loop with a limit on the time that its answer may take.

mod answer;
mod app;
mod board;
mod cells;
mod crosses;
mod curves;
mod document;
mod explain;
mod followers;
mod gate;
mod guard;
mod health;
mod histories;
mod job_list;
mod jobs;
mod live;
mod log_in;
mod map;
mod metrics;
mod missing;
mod news;
mod object;
mod pages;
mod refusal;
mod routes;
mod site;
mod spread;
mod standby;
mod view;
mod words;
mod worker_list;
mod workers;

pub use site::Site;
