//! Writes output files atomically.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use queens_platform::shared_temporary_file;
use queens_program::{stop_on_signal, write_answer};
use tempfile::NamedTempFile;

/// The destination of a picture.
pub(crate) enum Target {
    Stdout,
    /// A device, a pipe or another special file: written to, not replaced.
    Special(PathBuf),
    /// A regular file, which may not exist yet.
    File(PathBuf),
}

impl Target {
    /// Returns the target at `path`, or stdout for `-`. Tries to open it, so that an error comes before the work.
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
                // Replace the target of a link, not the link.
                Self::File(fs::canonicalize(path).with_context(failed)?)
            }
            Ok(_) => Self::Special(path.to_owned()),
            // A link whose target does not exist yet.
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

    /// Writes everything. A file appears when it is complete, or stays unchanged.
    pub(crate) fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        match self {
            Self::Stdout => write_answer(|out| out.write_all(bytes)).map(drop),
            Self::Special(path) => fs::write(path, bytes).with_context(|| failed(path)),
            Self::File(path) => {
                // From here on, a signal must wait, or it would leave a temporary file.
                stop_on_signal()?;
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

/// Creates a temporary file in the directory of `path`, with the permissions of the file that it replaces, or the
/// default ones.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The error has the name of the temporary file, which would only confuse.
    let file = shared_temporary_file(dir).map_err(|error| match error.kind() {
        ErrorKind::NotFound => io::Error::other(format!("there is no directory '{}'", dir.display())),
        kind => io::Error::from(kind),
    })?;
    if let Ok(replaced) = fs::metadata(path) {
        file.as_file().set_permissions(replaced.permissions())?;
    }
    Ok(file)
}
