//! Files and directories.

use std::fs::{self, File, FileType, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// Raises the limit on open files, which include connections, to what the system allows. Returns the new limit.
///
/// On Unix the usual limit is 1024, for old programs. Windows has no limit below its memory: that counts as `u64::MAX`.
///
/// # Errors
/// If the limit can't be read or raised.
pub fn allow_many_files() -> io::Result<u64> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

        let limit = getrlimit(Resource::Nofile);
        // macOS takes no higher limit (OPEN_MAX), although it tells one.
        let most = if cfg!(target_os = "macos") { 10_240 } else { u64::MAX };
        let wanted = limit.maximum.map_or(most, |maximum| maximum.min(most));
        if limit.current.is_some_and(|current| current < wanted) {
            let current = Some(wanted).filter(|wanted| *wanted < u64::MAX);
            setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum })?;
        }
        Ok(wanted)
    }
    #[cfg(windows)]
    Ok(u64::MAX)
}

/// Opens a regular file for reading, also through a link.
///
/// Rejects everything else: a named pipe would block the program until a writer opens it, and a device may never end.
/// Windows has neither among its files.
///
/// # Errors
/// If the path does not exist, can't be opened, or leads to another type of file, which the error names.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    check_type(fs::metadata(path)?.file_type())?;
    let mut options = OpenOptions::new();
    options.read(true);
    // The check below finds a pipe that has replaced the file since; opening it does not block.
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;

        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = options.open(path)?;
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
    let what = if found.is_dir() { "a directory" } else { special(found) };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, and not a regular file")))
}

fn special(found: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;

        if found.is_fifo() {
            return "a pipe";
        }
        if found.is_socket() {
            return "a socket";
        }
    }
    _ = found;
    "a device"
}

/// Makes the names of files in a directory survive a power failure.
///
/// Windows can't do that for a directory, and this does nothing there: it is left to the file system.
///
/// # Errors
/// If the system fails.
pub fn sync_directory(dir: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        File::open(dir)?.sync_all()
    }
    #[cfg(windows)]
    {
        _ = dir;
        Ok(())
    }
}

/// Writes a file that only the user can read, in place of another. A crash leaves the old one or the new one.
///
/// # Errors
/// If the system fails.
pub fn replace_private_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = path.parent().ok_or(io::ErrorKind::NotADirectory)?;
    let mut file = NamedTempFile::new_in(dir)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync_directory(dir)
}

/// Creates a temporary file in a directory, with the permissions that the process gives to new files: on Unix by its
/// umask, on Windows by the directory.
///
/// # Errors
/// If the system fails.
pub fn shared_temporary_file(dir: &Path) -> io::Result<NamedTempFile> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        // Without this, nobody else may read it.
        tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o666)).tempfile_in(dir)
    }
    #[cfg(windows)]
    tempfile::Builder::new().tempfile_in(dir)
}

/// The part of SQLite that opens files without locking them.
pub const SQLITE_WITHOUT_LOCKS: &str = if cfg!(windows) { "win32-none" } else { "unix-none" };

/// Locks a database of SQLite for this process by its file, whatever the file's name: the lock is released when the
/// returned file is closed. Returns `None` where that is impossible.
///
/// On Linux, this is a lock of `flock`, which does not conflict with those of SQLite (`fcntl`). It may on macOS and
/// does on Windows, so there the file has no such lock.
///
/// # Errors
/// If another process has locked the file, or the system fails.
pub fn lock_database(path: &Path) -> Result<Option<File>, TryLockError> {
    if !cfg!(target_os = "linux") {
        return Ok(None);
    }
    let file = File::open(path).map_err(TryLockError::Error)?;
    file.try_lock()?;
    Ok(Some(file))
}

/// A file that is at some path, if the system tells which one.
#[derive(Clone, Copy, Debug)]
pub struct FoundFile {
    /// Its length in bytes.
    pub len: u64,
    id: Option<(u64, u64)>,
}

impl FoundFile {
    /// Finds a file, through links. The times of a file are not asked for: since Linux 6.13, a file whose times were
    /// read gets a new one with its next write, which the next `fsync` has to write, too.
    ///
    /// # Errors
    /// If there is none, or the system does not tell.
    pub fn at(path: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};

            match statx(CWD, path, AtFlags::empty(), StatxFlags::INO | StatxFlags::SIZE) {
                Ok(found) => {
                    let device = makedev(found.stx_dev_major, found.stx_dev_minor);
                    return Ok(Self { len: found.stx_size, id: Some((device, found.stx_ino)) });
                }
                Err(rustix::io::Errno::NOSYS) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Self::of(&fs::metadata(path)?))
    }

    /// Returns the file of this description.
    pub(crate) fn of(found: &fs::Metadata) -> Self {
        #[cfg(unix)]
        let id = {
            use std::os::unix::fs::MetadataExt;

            Some((found.dev(), found.ino()))
        };
        #[cfg(windows)]
        let id = None;
        Self { len: found.len(), id }
    }

    /// Whether both are one file. Windows does not tell it: then `true`, as a file in use can't be removed or replaced
    /// there.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

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
        let made = std::process::Command::new("mkfifo").arg(path("pipe")).status();
        assert!(made.is_ok_and(|made| made.success()));
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

    #[test]
    fn a_file_is_known_by_more_than_its_name() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        File::create(&one).expect("a file").write_all(b"0123456789").expect("written");
        let file = File::open(&one).expect("a file");
        fs::copy(&one, &other).expect("copied");
        let open = FoundFile::of(&file.metadata().expect("it is open"));
        let [one, other] = [one, other].map(|path| FoundFile::at(&path).expect("it is there"));
        assert_eq!((open.is(&one), open.is(&other), other.len), (true, false, 10));
    }
}
