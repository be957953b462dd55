//! For how long nobody has used keyboard or mouse.

use std::io;
use std::time::Duration;

/// Returns for how long nobody has used this machine; zero while somebody does.
///
/// On Linux, systemd-logind tells it (its `IdleHint`): desktops tell logind some minutes after the last input, and
/// logind itself looks at text terminals. It takes some milliseconds, or three seconds if logind does not answer.
///
/// # Errors
/// If logind is missing or does not answer; on macOS and Windows always.
pub fn user_idle_time() -> io::Result<Duration> {
    #[cfg(target_os = "linux")]
    {
        use std::process::{Command, Stdio};
        use std::time::SystemTime;

        const MANAGER: [&str; 3] =
            ["org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager"];
        let mut command = Command::new("busctl");
        command.args(["--system", "--timeout=3", "get-property"]).args(MANAGER);
        command.args(["IdleHint", "IdleSinceHint"]).stdin(Stdio::null());
        let failed =
            |reason: String| io::Error::other(format!("logind does not tell it by 'busctl': {reason}"));
        let told = command.output().map_err(|error| failed(error.to_string()))?;
        let (answer, complaint) =
            (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
        if !told.status.success() {
            return Err(failed(complaint.lines().next().unwrap_or("it failed").to_owned()));
        }
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        idle_time(&answer, now).ok_or_else(|| failed(format!("an answer of another form: {answer:?}")))
    }
    #[cfg(not(target_os = "linux"))]
    Err(io::Error::new(io::ErrorKind::Unsupported, "this program can't tell it on this system"))
}

/// Parses the answer: whether the machine is idle, and since when in microseconds since 1970.
#[cfg(target_os = "linux")]
fn idle_time(answer: &str, now: Duration) -> Option<Duration> {
    let (is_idle, since) = answer.trim_end().split_once('\n')?;
    let since = Duration::from_micros(since.strip_prefix("t ")?.parse().ok()?);
    match is_idle {
        "b true" => Some(now.saturating_sub(since)),
        "b false" => Some(Duration::ZERO),
        _ => None,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_logind_is_understood_or_refused() {
        let check = |answer: &str, seconds: Option<u64>| {
            assert_eq!(
                idle_time(answer, Duration::from_secs(1000)),
                seconds.map(Duration::from_secs),
                "{answer:?}"
            );
        };
        check("b false\nt 990000000\n", Some(0));
        check("b true\nt 990000000\n", Some(10));
        // Nobody is logged in.
        check("b true\nt 0\n", Some(1000));
        // The clock was set back.
        check("b true\nt 2000000000\n", Some(0));
        for wrong in [
            "",
            "b true",
            "b true\n",
            "b maybe\nt 1\n",
            "b true\nt -1\n",
            "b true\nt 1\nt 2\n",
            "t 1\nb true",
        ] {
            check(wrong, None);
        }
    }
}
