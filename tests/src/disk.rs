//! A small file system in memory that tests can fill up.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cleanup::Undo;

/// A mounted file system, unmounted on drop.
#[derive(Debug)]
pub struct SmallDisk {
    dir: PathBuf,
    _unmount: Undo,
}

impl SmallDisk {
    /// Mounts one of this many KiB over a directory, which may be a new one; `None` without the right to mount.
    ///
    /// # Panics
    /// Panics if the directory can't be made.
    #[must_use]
    pub fn over(dir: &Path, kib: u64) -> Option<Self> {
        fs::create_dir_all(dir).expect("a directory");
        let unmount = Undo::by(|| {
            let mut unmount = Command::new("umount");
            // Processes may still have files open there.
            unmount.arg("--lazy").arg(dir);
            unmount
        });
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "queens-tests"]).arg(dir);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then(|| Self { dir: dir.to_owned(), _unmount: unmount })
    }

    /// Remounts it read-only.
    ///
    /// # Panics
    /// Panics if a process still writes to it.
    pub fn make_read_only(&self) {
        let mounted = Command::new("mount").args(["-o", "remount,ro"]).arg(&self.dir).output();
        assert!(mounted.is_ok_and(|output| output.status.success()));
    }

    /// Fills it to the last byte with a file.
    ///
    /// # Panics
    /// Panics if writing fails for another reason.
    pub fn fill(&self) {
        let mut ballast = fs::File::options().create(true).append(true).open(self.ballast()).expect("a file");
        for size in [4096, 1] {
            loop {
                match ballast.write(&vec![0; size]) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    /// Removes that file.
    ///
    /// # Panics
    /// Panics if it was not filled.
    pub fn make_room(&self) {
        fs::remove_file(self.ballast()).expect("it was filled");
    }

    fn ballast(&self) -> PathBuf {
        self.dir.join("ballast")
    }
}
