//! What the three programs share: arguments, help, error messages, logs and signals; configuration files, traces and
//! metrics ([`service`]) of the two that run for long.

mod arguments;
mod credentials;
pub mod documents;
pub mod help;
pub mod logs;
mod output;
#[cfg(feature = "service")]
pub mod service;
mod signals;
#[cfg(feature = "checks")]
pub mod tests;

pub use arguments::{arguments, threads, threads_beside_cards, wrong_usage};
pub use credentials::{CONNECTION, CredentialsArgs, TrustArgs};
pub use output::{
    Output, OutputArgs, complain, is_colourful, print, print_some, print_styled, say, stdout, write_answer,
};
pub use signals::{end_if_signalled, note_ctrl_c, ready, stop_on_signal};
