//! Process-wide limits on files: how many may be open, and who may read new ones.

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::stat::{Mode, umask};

/// Raises the limit on open files, which include connections, to what the system allows. The usual limit is 1024, for
/// old programs. Returns the new limit.
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

/// Makes files and directories that this process creates accessible to its user alone.
pub fn keep_files_private() {
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
}
