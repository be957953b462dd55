//! Shared functions of all programs: arguments, help, error messages, logs and signals.

mod arguments;
mod credentials;
pub mod documents;
pub mod help;
pub mod logs;
mod output;
mod signals;

pub use arguments::{arguments, arguments_with, threads, threads_beside_cards, wrong_usage};
pub use credentials::{CONNECTION, CredentialsArgs, TrustArgs};
pub use output::{complain, is_colourful, print, print_some, print_styled, say, stdout, write_answer};
pub use signals::{cancel_on_signal, ready};
