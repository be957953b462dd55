//! What an X server knows of its keyboards and mice, on Linux.

use std::env;
use std::error::Error;
use std::io;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use x11rb::connection::Connection;
use x11rb::protocol::screensaver::ConnectionExt;
use x11rb::rust_connection::RustConnection;

/// How long a server may take.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Whether an earlier question is still without an answer.
static IS_ASKING: AtomicBool = AtomicBool::new(false);

/// Returns the display of this user's session on this machine; `None` if there is no X server, or if it sees a part of
/// the input only.
///
/// The user's systemd starts its services before the desktop, and learns of the display later: so it is asked if the
/// environment has none.
pub(super) fn display() -> Option<String> {
    let own = [("DISPLAY", env::var("DISPLAY")), ("WAYLAND_DISPLAY", env::var("WAYLAND_DISPLAY"))];
    let own: Vec<String> =
        own.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value.ok()?))).collect();
    if !own.is_empty() {
        return display_in(&own.join("\n"));
    }
    let asked = Command::new("systemctl").args(["--user", "show-environment"]).stdin(Stdio::null()).output();
    display_in(&String::from_utf8_lossy(&asked.ok()?.stdout))
}

/// Returns the display that variables name, one a line. The X server of a Wayland session sees only what programs of
/// X11 get, and a display with a host's name is another machine's.
fn display_in(variables: &str) -> Option<String> {
    let value = |name: &str| {
        let mut values = variables.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        values.next().filter(|value| !value.is_empty())
    };
    let display = value("DISPLAY").filter(|display| display.starts_with(':'))?;
    value("WAYLAND_DISPLAY").is_none().then(|| display.to_owned())
}

/// Asks the X server of a display. A server that hangs holds one thread until it ends.
pub(super) fn idle_time(display: String) -> io::Result<Duration> {
    let no_answer = || io::Error::new(io::ErrorKind::TimedOut, "the X server does not answer");
    if IS_ASKING.swap(true, Ordering::SeqCst) {
        return Err(no_answer());
    }
    let (sender, answers) = mpsc::channel();
    let asking = thread::Builder::new().name("x11".to_owned()).spawn(move || {
        let answer = ask(&display).map_err(|error| error.to_string());
        IS_ASKING.store(false, Ordering::SeqCst);
        // Nobody waits any more after the time limit.
        _ = sender.send(answer);
    });
    if let Err(error) = asking {
        IS_ASKING.store(false, Ordering::SeqCst);
        return Err(error);
    }
    answers.recv_timeout(TIMEOUT).map_err(|_| no_answer())?.map_err(io::Error::other)
}

fn ask(display: &str) -> Result<Duration, Box<dyn Error>> {
    let (server, screen) = RustConnection::connect(Some(display))?;
    let root = server.setup().roots.get(screen).ok_or("the X server has no such screen")?.root;
    let answer = server.screensaver_query_info(root)?.reply()?;
    Ok(Duration::from_millis(answer.ms_since_user_input.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_display_that_sees_all_input_is_asked() {
        for (variables, expected) in [
            ("DISPLAY=:0", Some(":0")),
            ("HOME=/home/anna\nDISPLAY=:1.0\nLANG=C", Some(":1.0")),
            ("DISPLAY=:0\nWAYLAND_DISPLAY=", Some(":0")),
            ("DISPLAY=:0\nWAYLAND_DISPLAY=wayland-0", None),
            // By SSH, or of another machine.
            ("DISPLAY=localhost:10.0", None),
            ("DISPLAY=desk:0", None),
            ("DISPLAY=", None),
            ("XDISPLAY=:0\nDISPLAYS=:0", None),
            ("", None),
        ] {
            assert_eq!(display_in(variables).as_deref(), expected, "{variables:?}");
        }
    }

    #[test]
    fn a_display_without_a_server_is_an_error() {
        idle_time(":59999".to_owned()).expect_err("there is no such server");
        idle_time(":\u{1b}[31m".to_owned()).expect_err("there is no such display");
    }
}
