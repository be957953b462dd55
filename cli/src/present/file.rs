//! Files that are whole or not there.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use queens_runtime::{cancel_on_signal, stdout};
use tempfile::NamedTempFile;
use tokio_util::sync::CancellationToken;

/// Where a picture goes.
pub(crate) enum Target {
    Stdout,
    /// No regular file but a device, a pipe or the like: written to, not replaced.
    Special(PathBuf),
    /// A file, which may not exist yet.
    File(PathBuf),
}

impl Target {
    /// The target at `path`, or stdout for `-`. Tries to open it: an error is better before the work than after.
    pub(crate) fn new(path: &Path) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Stdout);
        }
        let failed = || failed(path);
        let target = match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                return Err(io::Error::from(ErrorKind::IsADirectory)).with_context(failed);
            }
            Ok(found) if found.is_file() => {
                File::options().write(true).open(path).with_context(failed)?;
                // What a link leads to is replaced, not the link.
                Self::File(fs::canonicalize(path).with_context(failed)?)
            }
            Ok(_) => Self::Special(path.to_owned()),
            // A link that leads nowhere yet.
            Err(error) if error.kind() == ErrorKind::NotFound && path.is_symlink() => {
                Self::Special(path.to_owned())
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Self::File(path.to_owned()),
            Err(error) => return Err(error).with_context(failed),
        };
        if let Self::File(path) = &target {
            beside(path).with_context(failed)?;
        }
        Ok(target)
    }

    /// Writes everything. A file appears when it is whole, or stays as it was.
    pub(crate) fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        match self {
            Self::Stdout => {
                match stdout().and_then(|mut out| out.write_all(bytes).and_then(|()| out.flush())) {
                    Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
                    written => written.context("failed to write the picture"),
                }
            }
            Self::Special(path) => fs::write(path, bytes).with_context(|| failed(path)),
            Self::File(path) => {
                // A signal that comes from here on waits, so that no temporary file is left.
                cancel_on_signal(CancellationToken::new()).context("failed to listen to signals")?;
                replace(path, bytes).with_context(|| failed(path))
            }
        }
    }
}

fn failed(path: &Path) -> String {
    format!("failed to write '{}'", path.display())
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = beside(path)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// A temporary file in the directory of `path`, with the permissions of the file that it will replace, or the usual
/// ones.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let made = tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(dir);
    // The name of the temporary file, which the error has, would only confuse.
    let file = made.map_err(|error| match error.kind() {
        ErrorKind::NotFound => io::Error::other(format!("there is no directory '{}'", dir.display())),
        kind => io::Error::from(kind),
    })?;
    if let Ok(replaced) = fs::metadata(path) {
        file.as_file().set_permissions(replaced.permissions())?;
    }
    Ok(file)
}
