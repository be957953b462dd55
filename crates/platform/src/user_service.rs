//! Programs that the system starts for a user, at log-in: by systemd, launchd or Windows' scheduled tasks.
//!
//! The texts for all systems are made everywhere, so that one test checks them.

mod description;
mod launchd;
mod systemd;
mod task_scheduler;

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use self::description::UserService;
use crate::user_files::{home_dir, user_config_dir};

/// What starts programs for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supervisor {
    /// The user's own instance of systemd, on Linux.
    Systemd,
    /// The agents of launchd, on macOS.
    Launchd,
    /// The task scheduler of Windows.
    TaskScheduler,
}

/// A path can't stand in the file of a service.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the file of a service can't have the path {0:?}: move it to one without control characters or wrong UTF-8"
)]
pub struct UnusablePath(PathBuf);

impl Supervisor {
    /// Returns the supervisor of this system.
    #[must_use]
    pub fn of_this_system() -> Self {
        if cfg!(windows) {
            Self::TaskScheduler
        } else if cfg!(target_os = "macos") {
            Self::Launchd
        } else {
            Self::Systemd
        }
    }

    /// Returns the file of a service; `None` if the environment does not tell where the user's files are.
    #[must_use]
    pub fn file(self, service: &UserService) -> Option<PathBuf> {
        let UserService { name, label, .. } = service;
        Some(match self {
            Self::Systemd => user_config_dir()?.join("systemd/user").join(format!("{name}.service")),
            Self::Launchd => home_dir()?.join("Library/LaunchAgents").join(format!("{label}.plist")),
            Self::TaskScheduler => user_config_dir()?.join("queens").join(format!("{name}.xml")),
        })
    }

    /// Returns the text of a service's file.
    ///
    /// # Errors
    /// If the program's path, or an argument, can't stand in it.
    pub fn text(self, service: &UserService) -> Result<String, UnusablePath> {
        let program = service.program.to_str().ok_or_else(|| UnusablePath(service.program.clone()))?;
        let all = [program].into_iter().chain(service.arguments.iter().map(String::as_str));
        if let Some(unusable) = all.clone().find(|text| text.chars().any(char::is_control)) {
            return Err(UnusablePath(unusable.into()));
        }
        let words: Vec<&str> = all.collect();
        Ok(match self {
            Self::Systemd => systemd::unit(service, &words),
            Self::Launchd => launchd::agent(service, &words),
            Self::TaskScheduler => task_scheduler::task(service, &words, &user_name()),
        })
    }

    /// Returns the bytes of a file with this text, in the encoding that the system reads.
    #[must_use]
    pub fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Self::Systemd | Self::Launchd => text.as_bytes().to_vec(),
            Self::TaskScheduler => {
                [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
            }
        }
    }

    /// Returns the text of a file with these bytes, as far as it is one.
    #[must_use]
    pub fn decode(self, bytes: &[u8]) -> String {
        match self {
            Self::Systemd | Self::Launchd => String::from_utf8_lossy(bytes).into_owned(),
            Self::TaskScheduler => {
                let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
                String::from_utf16_lossy(&units.collect::<Vec<_>>())
            }
        }
    }

    /// Returns the commands that make the system start a service now and at each log-in, in this order.
    #[must_use]
    pub fn start_commands(self, service: &UserService, file: &Path) -> Vec<Vec<String>> {
        let (name, file) = (service.name, file.display().to_string());
        let (unit, domain) = (format!("{name}.service"), domain());
        commands(match self {
            Self::Systemd => vec![
                vec!["systemctl", "--user", "daemon-reload"],
                vec!["systemctl", "--user", "enable", &unit],
                vec!["systemctl", "--user", "restart", &unit],
            ],
            Self::Launchd => vec![vec!["launchctl", "bootstrap", &domain, &file]],
            Self::TaskScheduler => vec![
                vec!["schtasks", "/Create", "/TN", name, "/XML", &file, "/F"],
                vec!["schtasks", "/Run", "/TN", name],
            ],
        })
    }

    /// Returns the commands that stop a service, and keep the system from starting it again. They may fail: it may not
    /// run.
    #[must_use]
    pub fn stop_commands(self, service: &UserService) -> Vec<Vec<String>> {
        let (name, unit) = (service.name, format!("{}.service", service.name));
        let agent = format!("{}/{}", domain(), service.label);
        commands(match self {
            Self::Systemd => vec![vec!["systemctl", "--user", "disable", "--now", &unit]],
            Self::Launchd => vec![vec!["launchctl", "bootout", &agent]],
            Self::TaskScheduler => {
                vec![vec!["schtasks", "/End", "/TN", name], vec!["schtasks", "/Delete", "/TN", name, "/F"]]
            }
        })
    }

    /// Returns when the system starts a service, for people.
    #[must_use]
    pub fn when_it_starts(self) -> &'static str {
        match self {
            Self::Systemd => "when you log in; 'loginctl enable-linger' makes it start with the machine",
            Self::Launchd | Self::TaskScheduler => "when you log in",
        }
    }
}

fn commands(all: Vec<Vec<&str>>) -> Vec<Vec<String>> {
    all.into_iter().map(|command| command.into_iter().map(str::to_owned).collect()).collect()
}

/// Returns the domain of launchd in which the user's agents run.
fn domain() -> String {
    #[cfg(unix)]
    return format!("gui/{}", rustix::process::getuid().as_raw());
    #[cfg(windows)]
    "gui/0".to_owned()
}

/// Returns the user's name as Windows' tasks have it.
fn user_name() -> String {
    let variable = |name| std::env::var(name).unwrap_or_default();
    [variable("USERDOMAIN"), variable("USERNAME")].join("\\").trim_start_matches('\\').to_owned()
}

/// Runs a command of the system's supervisor, without a terminal.
///
/// # Errors
/// If the program is missing, or it fails: with its last words.
pub fn run_supervisor(command: &[String]) -> io::Result<()> {
    let Some((program, arguments)) = command.split_first() else { return Ok(()) };
    let ended =
        std::process::Command::new(program).args(arguments).stdin(std::process::Stdio::null()).output()?;
    if ended.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it failed");
    Err(io::Error::other(last.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Supervisor; 3] = [Supervisor::Systemd, Supervisor::Launchd, Supervisor::TaskScheduler];

    fn service(program: &str) -> UserService {
        UserService {
            name: "queens-worker",
            label: "org.queens.worker",
            description: "Worker of n-queens counts",
            mark: "Made by 'queens-worker install'.",
            program: program.into(),
            arguments: vec!["--config".to_owned(), "/a b/50%/x.toml".to_owned()],
        }
    }

    #[test]
    fn paths_are_quoted_as_each_system_reads_them() {
        let service = service("/opt/a \"b\"/50%/$HOME\\x/<&'>/worker");
        let found = ALL.map(|supervisor| supervisor.text(&service).expect("a text"));
        let expected = [
            r#"ExecStart=:"/opt/a \"b\"/50%%/$HOME\\x/<&'>/worker" "--config" "/a b/50%%/x.toml""#,
            "<string>/opt/a &quot;b&quot;/50%/$HOME\\x/&lt;&amp;&apos;&gt;/worker</string>",
            "<Command>/opt/a &quot;b&quot;/50%/$HOME\\x/&lt;&amp;&apos;&gt;/worker</Command>",
        ];
        for (text, expected) in found.iter().zip(expected) {
            assert!(text.lines().any(|line| line.trim() == expected), "{expected}: {text}");
            assert!(text.contains(service.mark), "{text}");
        }
        assert!(
            found[2].contains("<Arguments>--config &quot;/a b/50%/x.toml&quot;</Arguments>"),
            "{}",
            found[2]
        );
    }

    #[test]
    fn a_path_that_could_end_a_line_is_refused() {
        for supervisor in ALL {
            for path in ["/a\nExecStart=/bin/sh", "/a\u{1b}", "/a\r"] {
                assert_eq!(supervisor.text(&service(path)), Err(UnusablePath(path.into())));
            }
        }
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStringExt;
            let mut wrong = service("");
            wrong.program = std::ffi::OsString::from_vec(b"/a\xff".to_vec()).into();
            Supervisor::Systemd.text(&wrong).expect_err("no UTF-8");
        }
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        for supervisor in ALL {
            let text = supervisor.text(&service("/ä/worker")).expect("a text");
            let read = supervisor.decode(&supervisor.encode(&text));
            assert_eq!(read.trim_start_matches('\u{feff}'), text);
            // Anything may be there instead.
            _ = supervisor.decode(b"\xff\xfe\xff");
        }
    }

    #[test]
    fn a_failing_command_tells_its_last_words() {
        let command = |script: &str| ["sh", "-c", script].map(str::to_owned).to_vec();
        if cfg!(unix) {
            run_supervisor(&command("true")).expect("it succeeds");
            let said = run_supervisor(&command("echo one >&2; echo two >&2; echo >&2; false"))
                .expect_err("it fails");
            assert_eq!(said.to_string(), "two");
        }
        run_supervisor(&["no such program".to_owned()]).expect_err("it is missing");
    }
}
