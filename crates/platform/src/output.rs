//! Stdout, and terminals.

use std::io::IsTerminal;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether stdout was closed when this process started.
#[cfg(target_os = "linux")]
static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Checks stdout before `main`. Rust's start-up code in `main` replaces a closed stdout with `/dev/null`, and an answer
/// written there would be lost.
//
// SAFETY: this section holds pointers to functions of this type. The C library calls them one after the other before
// `main`, on the only thread. This one makes a system call and keeps no state but the flag.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = look_at_stdout;

#[cfg(target_os = "linux")]
extern "C" fn look_at_stdout() {
    let is_closed = rustix::io::fcntl_getfd(std::io::stdout()) == Err(rustix::io::Errno::BADF);
    WAS_CLOSED.store(is_closed, Ordering::Relaxed);
}

/// Returns whether this process started with a closed stdout, so that what it prints is lost. Known on Linux; elsewhere
/// `false`.
#[must_use]
pub fn was_stdout_closed() -> bool {
    #[cfg(target_os = "linux")]
    return WAS_CLOSED.load(Ordering::Relaxed);
    #[cfg(not(target_os = "linux"))]
    false
}

/// Returns whether the reader of a pipe to stdout is still there. Known on Unix; elsewhere `true`.
#[must_use]
pub fn has_reader(stdout: &std::io::Stdout) -> bool {
    #[cfg(unix)]
    {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut polled = [PollFd::new(stdout, PollFlags::empty())];
        let has_answered = poll(&mut polled, Some(&Timespec::default())).is_ok();
        !(has_answered && polled[0].revents().contains(PollFlags::ERR))
    }
    #[cfg(windows)]
    {
        _ = stdout;
        true
    }
}

/// Returns whether the user's locale shows all characters, by the variables of POSIX. On Windows they always are.
#[must_use]
pub fn is_utf8() -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(std::env::var_os);
    let locale = set.into_iter().find(|locale| !locale.is_empty()).unwrap_or_default();
    let locale = locale.to_string_lossy().to_ascii_lowercase();
    cfg!(windows) || locale.contains("utf-8") || locale.contains("utf8")
}

/// Returns whether a stream is a terminal that obeys control sequences, so that it can overwrite lines and show
/// colours.
///
/// On Unix the variable TERM tells it. On Windows the console is told to obey them, which it can since Windows 10.
pub fn is_screen(stream: &impl IsTerminal) -> bool {
    if !stream.is_terminal() {
        return false;
    }
    #[cfg(unix)]
    return std::env::var_os("TERM").is_some_and(|name| !name.is_empty() && name != "dumb");
    #[cfg(windows)]
    anstyle_query::windows::enable_ansi_colors().unwrap_or(false)
}
