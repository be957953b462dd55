//! Temporary directories.

use std::path::{Path, PathBuf};

use crate::cleanup::{Leftover, Registered};

/// A new directory for a test. It is removed when this is dropped, and when the test program is interrupted.
#[derive(Debug)]
pub struct TempDir {
    // Removed first.
    dir: tempfile::TempDir,
    _registered: Registered,
}

impl TempDir {
    /// Makes an empty directory that only this user may enter.
    ///
    /// # Panics
    /// Panics if it can't be made.
    #[expect(clippy::new_without_default, reason = "it makes a directory")]
    #[must_use]
    pub fn new() -> Self {
        let (dir, registered) = Registered::make(|| {
            let dir = tempfile::TempDir::new();
            let path = dir.as_ref().map(|dir| dir.path().to_owned()).unwrap_or_default();
            (dir, Leftover::Directory(path))
        });
        Self { dir: dir.expect("a temporary directory"), _registered: registered }
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the path of an entry with this name.
    #[must_use]
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path().join(name)
    }
}

impl AsRef<Path> for TempDir {
    fn as_ref(&self) -> &Path {
        self.path()
    }
}
