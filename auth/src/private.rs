//! Files that hold secrets.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Makes a file that is not there, and that nobody but its owner may read.
///
/// # Errors
/// If that can't be done, or there is one.
pub fn new_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
