//! Files that are not there before, and whole when they are.

use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tempfile::NamedTempFile;

/// A file on its way. It is gone unless it is [kept](Self::keep).
pub(crate) struct NewFile {
    pub(crate) file: NamedTempFile,
    path: PathBuf,
}

impl NewFile {
    /// Begins a file that will be at `path`, where nothing may be yet.
    pub(crate) fn begin(path: &Path) -> anyhow::Result<Self> {
        if path.symlink_metadata().is_ok() {
            bail!("{}", is_there(path));
        }
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let made = tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(dir);
        let file = made.with_context(|| format!("failed to write to directory '{}'", dir.display()))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Gives it its name. Nothing is overwritten.
    pub(crate) fn keep(self) -> anyhow::Result<()> {
        let Self { file, path } = self;
        file.as_file().sync_all().with_context(|| format!("failed to write '{}'", path.display()))?;
        match file.persist_noclobber(&path) {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => bail!("{}", is_there(&path)),
            Err(error) => Err(error.error).with_context(|| format!("failed to write '{}'", path.display())),
        }
    }
}

fn is_there(path: &Path) -> String {
    format!("'{}' is there already: nothing is overwritten", path.display())
}
