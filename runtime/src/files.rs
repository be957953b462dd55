//! How many files a process may have open, and who may read those that it makes.

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::stat::{Mode, umask};

/// Lets this process open as many files as the system allows; connections count as files. The usual limit is 1024, for
/// the sake of old programs. Returns the new limit.
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

/// Files and directories that this process makes from now on are its user's alone: nobody else reads or writes them.
pub fn keep_files_private() {
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
}
