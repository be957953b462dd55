//! How many files a process may have open.

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Lets this process open as many files, connections among them, as the system allows it to: the usual limit of 1024 is
/// meant for programs that do not know better. Returns how many that are.
///
/// # Errors
/// If the limit can't be read or raised.
pub fn allow_many_files() -> io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(hard)
}
