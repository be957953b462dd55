//! Opens regular files only.

use std::fs::{self, File, FileType, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::OFlag;

/// Opens a regular file for reading, also through a link.
///
/// Rejects everything else: a named pipe would block the program until a writer opens it, and a device may never end.
///
/// # Errors
/// If the path does not exist, can't be opened, or leads to another type of file, which the error names.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    check_type(fs::metadata(path)?.file_type())?;
    // The check below finds a pipe that has replaced the file since; opening it does not block.
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    check_type(file.metadata()?.file_type())?;
    Ok(file)
}

/// Checks that a path leads to a regular file or to nothing, before a library opens it by itself.
///
/// # Errors
/// If it leads to another type of file, which the error names.
pub fn check_regular_file(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        found => check_type(found?.file_type()),
    }
}

fn check_type(found: FileType) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let what = match found {
        found if found.is_fifo() => "a pipe",
        found if found.is_dir() => "a directory",
        found if found.is_socket() => "a socket",
        _ => "a device",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, and not a regular file")))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = |name: &str| dir.path().join(name);
        fs::write(path("file"), "text").expect("written");
        symlink(path("file"), path("link")).expect("a link");
        for name in ["file", "link"] {
            let mut text = String::new();
            open_regular_file(&path(name)).expect("a file").read_to_string(&mut text).expect("a text");
            assert_eq!((text.as_str(), check_regular_file(&path(name)).is_ok()), ("text", true));
        }
        mkfifo(&path("pipe"), Mode::S_IRWXU).expect("a pipe");
        symlink(path("pipe"), path("link to a pipe")).expect("a link");
        fs::create_dir(path("directory")).expect("a directory");
        let _socket = UnixListener::bind(path("socket")).expect("a socket");
        let others = [
            (path("pipe"), "it is a pipe, and not a regular file"),
            (path("link to a pipe"), "it is a pipe, and not a regular file"),
            (path("directory"), "it is a directory, and not a regular file"),
            (path("socket"), "it is a socket, and not a regular file"),
            ("/dev/zero".into(), "it is a device, and not a regular file"),
        ];
        for (path, reason) in others {
            assert_eq!(open_regular_file(&path).expect_err("no file").to_string(), reason);
            assert_eq!(check_regular_file(&path).expect_err("no file").to_string(), reason);
        }
        let missing = open_regular_file(&path("missing")).expect_err("nothing is there");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        check_regular_file(&path("missing")).expect("nothing is there");
    }
}
