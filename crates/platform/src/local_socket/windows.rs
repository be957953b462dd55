//! Sockets of Windows: named pipes with random names, which files in a directory of this user tell.
//!
//! Names of pipes are visible to all users, and anybody may take one first. Nobody guesses a random one, and only this
//! user can open the pipe.

use std::collections::hash_map::RandomState;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::windows::named_pipe::{ClientOptions, NamedPipeClient, NamedPipeServer, ServerOptions};
use tokio::sync::Mutex;
use tokio_util::either::Either;
use windows_sys::Win32::Foundation::ERROR_PIPE_BUSY;

use super::file_name::{ENDING, file_name};
use crate::secrets::access_list::Descriptor;
use crate::user_files::make_private_directory;

/// One end of a pipe: the server's, or the client's.
pub type LocalStream = Either<NamedPipeServer, NamedPipeClient>;

/// The start of the names of pipes.
const PIPES: &str = r"\\.\pipe\";

/// The longest name of a pipe, in bytes.
const LONGEST: u64 = 256;

/// The pause before a pipe is opened again that serves somebody else, and how often that is done.
const PAUSE: Duration = Duration::from_millis(20);
const MOST_TRIES: usize = 100;

/// A socket to which programs of the same user can connect by its name. Dropping it removes its files.
#[derive(Debug)]
pub struct LocalSocket {
    name: String,
    descriptor: Descriptor,
    /// The end of the pipe to which the next client connects.
    next: Mutex<NamedPipeServer>,
    /// The file that tells the pipe's name.
    path: PathBuf,
    /// Locked by this process. The system unlocks it when the process ends, however that happens.
    _lock: File,
}

impl LocalSocket {
    /// Opens a socket in a directory, which is created if it does not exist. Replaces that of a process that was
    /// killed. `None` if a running process has a socket of this name. Must be called in a Tokio runtime.
    ///
    /// # Errors
    /// If the system fails.
    pub fn bind(directory: &Path, name: &str) -> io::Result<Option<Self>> {
        make_private_directory(directory)?;
        let file_name = file_name(name);
        let lock_path = directory.join(format!("{file_name}.lock"));
        let lock = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(lock_path)?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
            Ok(()) => {}
        }
        let descriptor = Descriptor::of_owner(&lock)?;
        let random = || RandomState::new().build_hasher().finish();
        let name = format!("{PIPES}queens-{:016x}{:016x}", random(), random());
        let next = Mutex::new(open(&name, &descriptor, true)?);
        let path = directory.join(format!("{file_name}.{ENDING}"));
        File::create(&path)?.write_all(name.as_bytes())?;
        Ok(Some(Self { name, descriptor, next, path, _lock: lock }))
    }

    /// Waits for the next connection. Cancel safe.
    ///
    /// # Errors
    /// If the system fails; the next call may succeed.
    pub async fn accept(&self) -> io::Result<LocalStream> {
        let mut next = self.next.lock().await;
        next.connect().await?;
        let connected = std::mem::replace(&mut *next, open(&self.name, &self.descriptor, false)?);
        Ok(Either::Left(connected))
    }
}

impl Drop for LocalSocket {
    fn drop(&mut self) {
        // The lock's file stays: an open one can't be removed.
        _ = fs::remove_file(&self.path);
    }
}

/// Opens an end of a pipe, which only this user and the system can open from the other side.
fn open(name: &str, descriptor: &Descriptor, is_first: bool) -> io::Result<NamedPipeServer> {
    let mut options = ServerOptions::new();
    options.first_pipe_instance(is_first).reject_remote_clients(true);
    descriptor.with_attributes(|attributes| {
        // SAFETY: the attributes are valid during the call.
        unsafe { options.create_with_security_attributes_raw(name, attributes) }
    })
}

/// Connects to the pipe that a file names.
pub(super) async fn connect(path: &Path) -> io::Result<LocalStream> {
    let mut name = String::new();
    File::open(path)?.take(LONGEST).read_to_string(&mut name)?;
    if !name.starts_with(PIPES) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it names no pipe"));
    }
    let mut n_tries = 0;
    loop {
        match ClientOptions::new().open(&name) {
            Err(error)
                if error.raw_os_error() == Some(ERROR_PIPE_BUSY.cast_signed()) && n_tries < MOST_TRIES =>
            {
                n_tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
            opened => return Ok(Either::Right(opened?)),
        }
    }
}
