//! Shared functions of all programs: arguments, help, error messages, logs and signals.

mod arguments;
mod credentials;
pub mod documents;
pub mod help;
mod log_throttle;
pub mod logs;
mod new_file;
mod output;
mod signals;

pub use arguments::{arguments, arguments_with, default_threads, threads, threads_beside_cards, wrong_usage};
pub use credentials::{CONNECTION, CredentialsArgs, TrustArgs};
pub use log_throttle::LogThrottle;
pub use new_file::{NewFile, NoNewFile};
pub use output::{complain, is_colourful, print, print_some, print_styled, say, stdout, write_answer};
pub use signals::{cancel_on_signal, ready};

/// The version of the programs. A release also has its commit, if known: "0.1.0+1a2b3c4d5e6f".
pub const VERSION: &str = env!("QUEENS_VERSION");

/// Returns the text of `--version` after the program's name: version, commit and its date, target, and the kernels,
/// which the caller names.
#[must_use]
pub fn version_in_full(kernels: &str) -> String {
    let commit = match (VERSION.split_once('+'), env!("QUEENS_COMMIT_DATE")) {
        (Some((_, commit)), "") => commit.to_owned(),
        (Some((_, commit)), date) => format!("{commit} of {date}"),
        (None, _) => "not known".to_owned(),
    };
    format!("{VERSION}\ncommit   {commit}\ntarget   {}\nkernels  {kernels}", env!("QUEENS_TARGET"))
}
