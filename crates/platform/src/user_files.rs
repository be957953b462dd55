//! Where a user's own configuration is.

use std::env;
use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the directory of the user's configuration, in which each program has a directory of its own; `None` if the
/// environment does not tell it.
///
/// On Linux `$XDG_CONFIG_HOME` or `~/.config`, on macOS `~/Library/Application Support`, on Windows `%APPDATA%`.
#[must_use]
pub fn user_config_dir() -> Option<PathBuf> {
    if cfg!(windows) {
        named("APPDATA")
    } else if cfg!(target_os = "macos") {
        named("HOME").map(|home| home.join("Library/Application Support"))
    } else {
        named("XDG_CONFIG_HOME").or_else(|| named("HOME").map(|home| home.join(".config")))
    }
}

/// Returns the user's home, by the environment.
pub(crate) fn home_dir() -> Option<PathBuf> {
    named(if cfg!(windows) { "USERPROFILE" } else { "HOME" })
}

/// Returns the absolute path in a variable of the environment. The specification of XDG has relative ones ignored.
fn named(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Creates a directory, and those above it that are missing, which only the user can enter. An existing directory stays
/// as it is.
///
/// On Windows, a directory takes the access list of the one above it, which within a user's profile is of that user.
///
/// # Errors
/// If the system fails, or something else has that path.
pub fn make_private_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;

        builder.mode(0o700);
    }
    builder.create(path)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_private_directory_is_its_owners_alone() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("a/b");
        make_private_directory(&path).expect("created");
        make_private_directory(&path).expect("it is there");
        for path in [&path, &dir.path().join("a")] {
            assert_eq!(fs::metadata(path).expect("it is there").permissions().mode() & 0o777, 0o700);
        }
        fs::write(path.join("file"), "").expect("written");
        make_private_directory(&path.join("file")).expect_err("it is a file");
    }
}
