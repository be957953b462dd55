//! The coordinator's HTTP server: web pages, a JSON API, metrics and health checks.
//!
//! Handlers never wait for the ledger. They read [`Snapshot`](queens_event_loop::Snapshot)s, and send the operators'
//! commands to the event loop with a timeout.

mod app;
mod certificate;
mod document;
mod health;
mod history;
mod html;
mod image;
mod job_list;
mod jobs;
mod join;
mod log_in;
mod pages;
mod part;
mod part_map;
mod part_positions;
mod parts;
mod public;
mod refusal;
mod rendered_pages;
mod routes;
mod search_steps;
mod security_headers;
mod server;
mod solution_map;
mod status;
mod summaries;
mod workers;

pub(crate) use app::PageOptions;
pub(crate) use image::ImageName;
pub(crate) use security_headers::Hosts;
pub(crate) use server::Site;
pub use server::serve_pages_to_all;
