//! `queens-worker install` and `uninstall`: what they write, and that they touch nothing else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use queens_tests::directory::files_below;
use queens_tests::prelude::*;

/// A user whose paths have all signs that need quoting, and a systemd that notes what it is told.
struct User {
    scratch: TempDir,
}

impl User {
    fn new() -> Self {
        let user = Self { scratch: TempDir::new() };
        fs::create_dir(user.path("bin")).expect("created");
        user.has_systemctl("exit 0");
        user
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    fn config(&self) -> PathBuf {
        self.path("my \"50%\" $HOME/config")
    }

    fn unit(&self) -> PathBuf {
        self.config().join("systemd/user/queens-worker.service")
    }

    fn has_systemctl(&self, script: &str) {
        let text = format!("#!/bin/sh\necho \"$*\" >>'{}'\n{script}\n", self.path("told").display());
        fs::write(self.path("bin/systemctl"), text).expect("written");
        fs::set_permissions(self.path("bin/systemctl"), fs::Permissions::from_mode(0o700)).expect("ours");
    }

    fn told(&self) -> Vec<String> {
        let told = fs::read_to_string(self.path("told")).unwrap_or_default();
        _ = fs::remove_file(self.path("told"));
        told.lines().map(str::to_owned).collect()
    }

    fn has_joined(&self) {
        fs::create_dir_all(self.config().join("queens")).expect("created");
        fs::write(self.config().join("queens/worker.toml"), "threads = 1\n").expect("written");
    }

    fn run(&self, args: &[&str]) -> Ended {
        let mut command = program("queens-worker");
        command.args(args).env("HOME", self.path("home")).env("XDG_CONFIG_HOME", self.config());
        command.env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()));
        run(command)
    }

    #[track_caller]
    fn succeeds(&self, args: &[&str]) -> String {
        let ended = self.run(args);
        assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        ended.stdout
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    if dir.exists() { files_below(dir) } else { vec![] }
}

#[test]
fn a_unit_is_written_started_and_removed() {
    let user = User::new();
    let nobody = user.run(&["install"]);
    assert!(nobody.complaint(1).contains("you have not joined yet"), "{nobody:?}");
    assert_eq!((files(&user.config()).len(), user.told().len()), (0, 0));
    user.has_joined();
    let shown = user.succeeds(&["install", "--print"]);
    assert_eq!((files(&user.config()).len(), user.told().len()), (1, 0), "it only shows");
    let said = user.succeeds(&["install"]);
    assert!(said.contains(&format!("installed  '{}'", user.unit().display())), "{said}");
    for line in ["runs       it runs now", "loginctl enable-linger", "undo       queens-worker uninstall"] {
        assert!(said.contains(line), "{said}");
    }
    let (reload, enable, restart) = (
        "--user daemon-reload",
        "--user enable queens-worker.service",
        "--user restart queens-worker.service",
    );
    assert_eq!(user.told(), [reload, enable, restart]);
    let unit = fs::read_to_string(user.unit()).expect("readable");
    assert_eq!(unit, shown);
    let toml = user.config().join("queens/worker.toml").display().to_string();
    let quoted = toml.replace('"', "\\\"").replace('%', "%%");
    let command = format!("ExecStart=:\"{}\" \"--config\" \"{quoted}\"", binary("queens-worker").display());
    assert!(unit.contains(&command), "{command}\n{unit}");
    // Again, it is the same.
    user.succeeds(&["install"]);
    assert_eq!((fs::read_to_string(user.unit()).expect("readable"), files(&user.config()).len()), (unit, 2));
    user.told();
    let said = user.succeeds(&["uninstall"]);
    assert!(said.starts_with(&format!("removed   '{}'", user.unit().display())), "{said}");
    assert_eq!(user.told(), ["--user disable --now queens-worker.service"]);
    assert_eq!(files(&user.config()), [user.config().join("queens/worker.toml")]);
    assert!(user.succeeds(&["uninstall"]).starts_with("nothing is installed: there is no '"));
    assert_eq!(user.told(), [""; 0]);
}

#[test]
fn where_no_systemd_answers_the_commands_are_shown() {
    let user = User::new();
    user.has_joined();
    user.has_systemctl("echo 'Failed to connect to bus: \u{1b}[31mno medium' >&2; exit 1");
    let said = user.succeeds(&["install"]);
    let reason = "runs       not yet, as 'systemctl --user daemon-reload' failed (Failed to connect to bus: ";
    assert!(said.contains(reason) && !said.contains('\u{1b}'), "{said}");
    assert!(
        said.contains("start it by: systemctl --user daemon-reload && systemctl --user enable"),
        "{said}"
    );
    assert!(user.unit().exists());
    let said = user.succeeds(&["uninstall"]);
    assert!(said.contains("stopped   perhaps, as") && !user.unit().exists(), "{said}");
    user.told();
}

#[test]
fn a_file_of_somebody_else_stays() {
    let user = User::new();
    user.has_joined();
    let dir = user.unit().parent().expect("a directory").to_owned();
    fs::create_dir_all(&dir).expect("created");
    let other = user.path("other");
    fs::write(&other, "[Service]\nExecStart=/bin/true\n").expect("written");
    let check = |what: &str| {
        for command in ["install", "uninstall"] {
            let refused = user.run(&[command]);
            assert!(refused.complaint(1).contains(&user.unit().display().to_string()), "{what}: {refused:?}");
        }
        assert!(fs::read_to_string(&other).expect("readable").contains("/bin/true"), "{what}");
        assert_eq!((user.told(), files(&user.config()).len()), (vec![], 2), "{what}");
    };
    fs::copy(&other, user.unit()).expect("copied");
    check("a file");
    fs::remove_file(user.unit()).expect("removed");
    symlink(&other, user.unit()).expect("linked");
    check("a link");
    fs::remove_file(user.unit()).expect("removed");
    symlink(user.path("nowhere"), user.unit()).expect("linked");
    check("a link to nothing");
    fs::remove_file(user.unit()).expect("removed");
    fs::create_dir(user.unit()).expect("created");
    fs::write(user.unit().join("file"), "").expect("written");
    check("a directory");
}

#[test]
fn systemd_takes_the_unit() {
    if !is_installed("systemd-analyze") {
        return skipped("the unit of a user, as there is no systemd-analyze");
    }
    let user = User::new();
    user.has_joined();
    user.succeeds(&["install"]);
    let verify = |unit: &Path| {
        let mut command = clean(Command::new("systemd-analyze"));
        command.args(["verify", "--user", "--man=no"]).arg(unit);
        command.env("XDG_RUNTIME_DIR", user.path("bin")).env("HOME", user.path("home"));
        run(command)
    };
    let verified = verify(&user.unit());
    assert!(verified.status.success() && verified.stderr.is_empty(), "{verified:?}");
    // It does look.
    let wrong = fs::read_to_string(user.unit()).expect("readable").replace("ExecStart=:", "ExecStart=:\"");
    fs::write(user.unit(), wrong).expect("written");
    assert_ne!(verify(&user.unit()).stderr, "");
}
