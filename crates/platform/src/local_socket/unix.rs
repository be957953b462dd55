//! Sockets of Unix, as files.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

use super::file_name::{ENDING, file_name};
use crate::files::FoundFile;

/// A socket to which programs of the same user can connect by its name. Dropping it removes its files.
#[derive(Debug)]
pub struct LocalSocket {
    listener: UnixListener,
    /// The files of the socket and of its lock.
    paths: [PathBuf; 2],
    /// The system unlocks it when the process ends, however that happens.
    _lock: File,
}

impl LocalSocket {
    /// Opens a socket in a directory, which is created if it does not exist. Replaces that of a process that was
    /// killed. `None` if a running process has a socket of this name. Must be called in a Tokio runtime.
    ///
    /// # Errors
    /// If other users can enter the directory, or the system fails.
    pub fn bind(directory: &Path, name: &str) -> io::Result<Option<Self>> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        check_private(directory)?;
        let paths = [ENDING, "lock"].map(|ending| directory.join(format!("{}.{ending}", file_name(name))));
        let [path, lock_path] = &paths;
        let Some(lock) = lock(lock_path)? else { return Ok(None) };
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(Some(Self { listener, paths, _lock: lock }))
    }

    /// Waits for the next connection. Cancel safe.
    ///
    /// # Errors
    /// If the system fails, such as for lack of files; the next call may succeed.
    pub async fn accept(&self) -> io::Result<UnixStream> {
        Ok(self.listener.accept().await?.0)
    }
}

impl Drop for LocalSocket {
    fn drop(&mut self) {
        for path in &self.paths {
            _ = fs::remove_file(path);
        }
    }
}

/// Locks a file for this process; `None` if another process has locked it.
fn lock(path: &Path) -> io::Result<Option<File>> {
    loop {
        let mut options = OpenOptions::new();
        // Neither waits for the other end of a named pipe nor follows a link.
        let flags = rustix::fs::OFlags::NONBLOCK.union(rustix::fs::OFlags::NOFOLLOW);
        options.custom_flags(flags.bits().cast_signed());
        let file = options.write(true).create(true).truncate(false).mode(0o600).open(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
            Ok(()) => {}
        }
        // Its last owner may have removed it meanwhile.
        match FoundFile::at(path) {
            Ok(found) if found.is(&FoundFile::of(&file.metadata()?)) => return Ok(Some(file)),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
}

/// Checks that a directory is this user's alone.
fn check_private(directory: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(directory)?;
    let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    if is_ours && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    let reason = if is_ours {
        format!("others can enter '{0}': run chmod 700 '{0}'", directory.display())
    } else {
        format!("'{}' is no directory of this user", directory.display())
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::super::{connect_to_socket, sockets_in};
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("readable");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn a_socket_is_its_users_alone_has_one_owner_and_replaces_that_of_a_killed_process() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let directory = scratch.path().join("run/program");
        assert!(sockets_in(&directory).expect("none").is_empty());
        // As a killed process leaves it.
        DirBuilder::new().recursive(true).mode(0o700).create(&directory).expect("created");
        drop(UnixListener::bind(directory.join("one.socket")).expect("bound"));
        fs::write(directory.join("one.lock"), "").expect("written");
        connect_to_socket(&directory.join("one.socket")).await.expect_err("nobody listens");
        let one = LocalSocket::bind(&directory, "one").expect("bound").expect("ours");
        assert!(LocalSocket::bind(&directory, "one").expect("known").is_none(), "it has an owner");
        let two = LocalSocket::bind(&directory, "two").expect("bound").expect("ours");
        assert_eq!(sockets_in(&directory).expect("two").len(), 2);
        let mode = |path: &Path| fs::metadata(path).expect("there").mode() & 0o777;
        assert_eq!([&directory, &directory.join("one.socket")].map(|path| mode(path)), [0o700, 0o600]);
        let mut client = connect_to_socket(&directory.join("one.socket")).await.expect("connected");
        let mut served = one.accept().await.expect("accepted");
        client.write_all(b"word").await.expect("sent");
        let mut word = [0; 4];
        served.read_exact(&mut word).await.expect("received");
        assert_eq!(&word, b"word");
        drop((one, two));
        assert_eq!(names(&directory), [""; 0]);
    }

    #[tokio::test]
    async fn a_directory_that_others_can_enter_is_refused() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let directory = scratch.path().join("program");
        fs::create_dir(&directory).expect("created");
        fs::set_permissions(&directory, Permissions::from_mode(0o750)).expect("ours");
        let refused = LocalSocket::bind(&directory, "one").expect_err("refused").to_string();
        assert!(refused.starts_with("others can enter"), "{refused}");
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(&directory, &link).expect("linked");
        let refused = LocalSocket::bind(&link, "one").expect_err("refused").to_string();
        assert!(refused.ends_with("is no directory of this user"), "{refused}");
    }
}
