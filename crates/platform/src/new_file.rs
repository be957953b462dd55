//! Creates files atomically, and never overwrites one.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use thiserror::Error;

use crate::files::{shared_temporary_file, sync_directory};

/// A file under construction, with a temporary name. It is deleted unless it is [kept](Self::keep).
#[derive(Debug)]
pub struct NewFile {
    file: NamedTempFile,
    path: PathBuf,
}

/// Why a file can't be created.
#[derive(Debug, Error)]
pub enum NoNewFile {
    /// The path exists.
    #[error("'{}' is there already: nothing is overwritten", .0.display())]
    Exists(PathBuf),
    /// The directory of the path does not exist.
    #[error("there is no directory '{}' to write into", .0.display())]
    NoDirectory(PathBuf),
    /// The file can't be written.
    #[error("failed to write '{}'", path.display())]
    Unwritable {
        /// The file's path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl NewFile {
    /// Creates a temporary file for `path`, which must not exist.
    ///
    /// # Errors
    /// If `path` exists, or no file can be created in its directory.
    pub fn begin(path: &Path) -> Result<Self, NoNewFile> {
        if path.symlink_metadata().is_ok() {
            return Err(NoNewFile::Exists(path.to_owned()));
        }
        if !parent(path).exists() {
            return Err(NoNewFile::NoDirectory(parent(path).to_owned()));
        }
        // The error names the temporary file, which would only confuse.
        let file =
            shared_temporary_file(parent(path)).map_err(|error| unwritable(path, error.kind().into()))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Returns the temporary file.
    pub fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Renames the file to its path. Never overwrites another file.
    ///
    /// # Errors
    /// If the path exists by now, or the system fails.
    pub fn keep(self) -> Result<(), NoNewFile> {
        let Self { file, path } = self;
        file.as_file().sync_all().map_err(|error| unwritable(&path, error))?;
        file.persist_noclobber(&path).map_err(|error| match error.error.kind() {
            ErrorKind::AlreadyExists => NoNewFile::Exists(path.clone()),
            _ => unwritable(&path, error.error),
        })?;
        // The directory entry must survive a power failure, too.
        sync_directory(parent(&path)).map_err(|error| unwritable(&path, error))
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn unwritable(path: &Path, source: io::Error) -> NoNewFile {
    NoNewFile::Unwritable { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn two_at_once_leave_one_whole_file_and_nothing_else() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("file");
        let begin = || NewFile::begin(&path).expect("nothing is there");
        let (mut one, mut other, dropped) = (begin(), begin(), begin());
        one.file().write_all(b"on").expect("written");
        other.file().write_all(b"other").expect("written");
        one.file().write_all(b"e").expect("written");
        drop(dropped);
        one.keep().expect("nothing is there");
        assert!(matches!(other.keep(), Err(NoNewFile::Exists(_))));
        assert!(matches!(NewFile::begin(&path), Err(NoNewFile::Exists(_))));
        assert_eq!(fs::read(&path).expect("readable"), b"one");
        assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 1);
    }

    #[test]
    fn links_are_not_followed() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (path, target) = (dir.path().join("file"), dir.path().join("target"));
        symlink(&target, &path).expect("a link");
        assert!(matches!(NewFile::begin(&path), Err(NoNewFile::Exists(_))));
        fs::remove_file(&path).expect("removed");
        let file = NewFile::begin(&path).expect("nothing is there");
        symlink(&target, &path).expect("a link");
        assert!(matches!(file.keep(), Err(NoNewFile::Exists(_))));
        assert!(!target.exists());
        let error = NewFile::begin(&dir.path().join("missing/file")).expect_err("no directory").to_string();
        assert!(error.starts_with("there is no directory '"), "{error}");
    }
}
