//! Directories that are created and removed repeatedly.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, process};

pub(crate) use queens_store::sqlite::DATABASE;

/// A directory that starts empty and is removed on drop.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("queens-fuzz-{}-{name}", process::id());
        // In memory, where everybody may write there.
        let created = [PathBuf::from("/dev/shm"), std::env::temp_dir()].into_iter().find_map(|place| {
            let path = place.join(&name);
            _ = fs::remove_dir_all(&path);
            fs::create_dir(&path).is_ok().then_some(path)
        });
        Self(created.expect("a directory"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.0.join(name), bytes).expect("written");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap_or_default()
    }

    /// Returns all files in it.
    pub(crate) fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(&self.0).expect("readable").map(|entry| entry.expect("an entry"));
        let name = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        entries.map(|entry| (name(&entry), fs::read(entry.path()).expect("readable"))).collect()
    }

    /// Restores the files.
    pub(crate) fn restore(&self, contents: &BTreeMap<String, Vec<u8>>) {
        for name in self.contents().keys() {
            fs::remove_file(self.0.join(name)).expect("removed");
        }
        contents.iter().for_each(|(name, bytes)| self.write(name, bytes));
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}
