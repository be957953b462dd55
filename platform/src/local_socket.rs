//! Sockets by which programs of one user talk to each other on one machine.
//!
//! On Unix they are files in a directory that only this user can enter. Windows has none yet: all functions fail there.

use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
mod unix;

#[cfg(unix)]
pub use unix::LocalSocket;

/// A connection between two programs of one user.
#[cfg(unix)]
pub type LocalStream = tokio::net::UnixStream;

/// A connection between two programs of one user. There is none on Windows.
#[cfg(windows)]
pub type LocalStream = tokio::io::DuplexStream;

/// A socket to which programs of the same user can connect by its name. There is none on Windows.
#[cfg(windows)]
#[derive(Debug)]
pub enum LocalSocket {}

#[cfg(windows)]
impl LocalSocket {
    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn bind(_directory: &Path, _name: &str) -> io::Result<Option<Self>> {
        Err(unsupported())
    }

    /// Is never called.
    ///
    /// # Errors
    /// None.
    pub async fn accept(&self) -> io::Result<LocalStream> {
        match *self {}
    }
}

#[cfg(windows)]
fn unsupported() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "this program has no local sockets on Windows yet")
}

/// Returns the directory for the sockets of a program: `$XDG_RUNTIME_DIR/PROGRAM`, or else `$XDG_STATE_HOME/PROGRAM` or
/// `~/.local/state/PROGRAM`.
///
/// # Errors
/// If none of these variables has an absolute path; on Windows always.
pub fn socket_directory(program: &str) -> io::Result<PathBuf> {
    #[cfg(unix)]
    {
        let variable =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = || variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
        let above = variable("XDG_RUNTIME_DIR").or_else(state);
        let missing = || io::Error::new(io::ErrorKind::NotFound, "neither XDG_RUNTIME_DIR nor HOME is set");
        Ok(above.ok_or_else(missing)?.join(program))
    }
    #[cfg(windows)]
    {
        _ = program;
        Err(unsupported())
    }
}

/// Returns the paths of all sockets in a directory, in the order of their names; none if it does not exist. Some may
/// have lost their process.
///
/// # Errors
/// If the directory can't be read.
pub fn sockets_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    #[cfg(unix)]
    {
        let entries = match std::fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        let mut found: Vec<PathBuf> = paths
            .into_iter()
            .filter(|path| path.extension().is_some_and(|end| end == unix::ENDING))
            .collect();
        found.sort();
        Ok(found)
    }
    #[cfg(windows)]
    {
        _ = directory;
        Err(unsupported())
    }
}

/// Connects to a socket.
///
/// # Errors
/// If no process has it, or the system fails.
pub async fn connect_to_socket(path: &Path) -> io::Result<LocalStream> {
    #[cfg(unix)]
    return LocalStream::connect(path).await;
    #[cfg(windows)]
    {
        _ = path;
        Err(unsupported())
    }
}
