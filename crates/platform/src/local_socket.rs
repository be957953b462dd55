//! Sockets by which programs of one user talk to each other on one machine.
//!
//! On Unix they are files in a directory that only this user can enter. On Windows they are named pipes that only this
//! user can open, whose names are in files of such a directory.

use std::io;
use std::path::{Path, PathBuf};

use tokio::io::AsyncReadExt;

mod file_name;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use file_name::ENDING;
#[cfg(unix)]
pub use unix::LocalSocket;
#[cfg(windows)]
pub use windows::{LocalSocket, LocalStream};

/// A connection between two programs of one user.
#[cfg(unix)]
pub type LocalStream = tokio::net::UnixStream;

/// Returns the directory for the sockets of a program: `$XDG_RUNTIME_DIR/PROGRAM`, or else `$XDG_STATE_HOME/PROGRAM` or
/// `~/.local/state/PROGRAM`; on Windows `%LOCALAPPDATA%\PROGRAM`.
///
/// # Errors
/// If none of these variables has an absolute path.
pub fn socket_directory(program: &str) -> io::Result<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let (above, missing) = if cfg!(windows) {
        (variable("LOCALAPPDATA"), "LOCALAPPDATA is not set")
    } else {
        let state = || variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
        (variable("XDG_RUNTIME_DIR").or_else(state), "neither XDG_RUNTIME_DIR nor HOME is set")
    };
    let above = above.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, missing))?;
    Ok(above.join(program))
}

/// Returns the paths of all sockets in a directory, in the order of their names; none if it does not exist. Some may
/// have lost their process.
///
/// # Errors
/// If the directory can't be read.
pub fn sockets_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let mut found: Vec<PathBuf> =
        paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == ENDING)).collect();
    found.sort();
    Ok(found)
}

/// Connects to a socket.
///
/// # Errors
/// If no process has it, or the system fails.
pub async fn connect_to_socket(path: &Path) -> io::Result<LocalStream> {
    #[cfg(unix)]
    return LocalStream::connect(path).await;
    #[cfg(windows)]
    windows::connect(path).await
}

/// Reads until the other end closes the connection, but at most so many bytes.
///
/// # Errors
/// If the connection breaks.
pub async fn read_answer(stream: LocalStream, most: u64) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    match stream.take(most).read_to_end(&mut answer).await {
        // Windows tells the end of a pipe so.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(answer),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test]
    async fn programs_find_each_other_and_talk() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let directory = scratch.path().join("run");
        assert!(sockets_in(&directory).expect("none").is_empty());
        let socket = LocalSocket::bind(&directory, "ä b").expect("bound").expect("ours");
        assert!(LocalSocket::bind(&directory, "ä b").expect("known").is_none(), "it has an owner");
        let path = sockets_in(&directory).expect("one").remove(0);
        for round in 0..3 {
            let mut client = connect_to_socket(&path).await.expect("connected");
            let mut served = socket.accept().await.expect("accepted");
            client.write_all(b"word\n").await.expect("sent");
            let mut word = [0; 5];
            served.read_exact(&mut word).await.expect("received");
            assert_eq!(&word, b"word\n", "{round}");
            served.write_all(&[b'x'; 10_000]).await.expect("sent");
            served.shutdown().await.expect("closed");
            drop(served);
            let answer = read_answer(client, 1 << 20).await.expect("all of it");
            assert_eq!(answer, [b'x'; 10_000], "{round}");
        }
        // Several clients at once.
        let mut clients = Vec::new();
        for _ in 0..3 {
            let (client, served) = tokio::join!(connect_to_socket(&path), socket.accept());
            clients.push((client.expect("connected"), served.expect("accepted")));
        }
        drop((clients, socket));
        assert!(sockets_in(&directory).expect("none").is_empty());
        connect_to_socket(&path).await.expect_err("nobody listens");
        // What a killed process leaves.
        std::fs::write(&path, r"\\.\pipe\queens-nobody").expect("written");
        connect_to_socket(&path).await.expect_err("nobody listens");
        let socket = LocalSocket::bind(&directory, "ä b").expect("bound").expect("ours");
        let (client, served) = tokio::join!(connect_to_socket(&path), socket.accept());
        drop((client.expect("connected"), served.expect("accepted")));
    }
}
