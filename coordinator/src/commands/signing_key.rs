//! The commands that show a directory's signing key, and sign releases with it.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use queens_certificate::Key;
use queens_platform::{NewFile, open_regular_file};
use queens_program::print;
use queens_store::sqlite::check_database;

/// Maximal bytes of a list of checksums, above that of any release.
const LONGEST: u64 = 1 << 20;

/// Prints the public key of a directory. With `new` it creates the directory first; with `from` it imports the key.
pub(crate) fn show_key(dir: &Path, pem: bool, new: bool, from: Option<&Path>) -> anyhow::Result<()> {
    if new {
        make(dir).with_context(|| format!("cannot make a key in '{}'", dir.display()))?;
    }
    let key = from.map_or_else(|| key(dir), |file| Ok(Key::adopt(dir, file)?))?.public();
    let text = if pem { key.pem().trim_end().to_owned() } else { key.to_string() };
    print(&text)
}

pub(crate) fn sign(dir: &Path, file: &Path) -> anyhow::Result<()> {
    let mut sums = Vec::new();
    let read = open_regular_file(file).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut sums));
    read.with_context(|| format!("failed to read '{}'", file.display()))?;
    let signature = key(dir)?.sign_sums(&sums).filter(|_| sums.len() as u64 <= LONGEST);
    let Some(signature) = signature else {
        bail!(
            "'{}' is no list of SHA-256 sums, as sha256sum writes it: nothing else is signed",
            file.display()
        );
    };
    let mut path = file.as_os_str().to_owned();
    path.push(".sig");
    let path = PathBuf::from(path);
    let mut new = NewFile::begin(&path)?;
    new.file().write_all(&signature).with_context(|| format!("failed to write '{}'", path.display()))?;
    new.keep()?;
    print(&format!("'{}' is signed in '{}'", file.display(), path.display()))
}

/// Creates a directory with a key and nothing else.
fn make(dir: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(dir)?;
    if fs::read_dir(dir)?.next().is_some() {
        bail!("it is not empty");
    }
    Key::of_directory(dir)?;
    Ok(())
}

/// Returns the key of a directory. A directory without one must be a coordinator's; its key is created.
fn key(dir: &Path) -> anyhow::Result<Key> {
    if !Key::is_in(dir) {
        check_database(dir)?;
    }
    Ok(Key::of_directory(dir)?)
}
