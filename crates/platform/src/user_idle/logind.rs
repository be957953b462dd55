//! What systemd-logind knows, on Linux.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

const MANAGER: [&str; 3] =
    ["org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager"];

/// Asks systemd-logind, by `busctl`.
pub(super) fn idle_time() -> io::Result<Duration> {
    let mut command = Command::new("busctl");
    command.args(["--system", "--timeout=3", "get-property"]).args(MANAGER);
    command.args(["IdleHint", "IdleSinceHint"]).stdin(Stdio::null());
    let failed = |reason: String| io::Error::other(format!("logind does not tell it by 'busctl': {reason}"));
    let told = command.output().map_err(|error| failed(error.to_string()))?;
    let (answer, complaint) = (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    if !told.status.success() {
        return Err(failed(complaint.lines().next().unwrap_or("it failed").to_owned()));
    }
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    parse(&answer, now).ok_or_else(|| failed(format!("an answer of another form: {answer:?}")))
}

/// Parses the answer: whether the machine is idle, and since when in microseconds since 1970.
fn parse(answer: &str, now: Duration) -> Option<Duration> {
    let (is_idle, since) = answer.trim_end().split_once('\n')?;
    let since = Duration::from_micros(since.strip_prefix("t ")?.parse().ok()?);
    match is_idle {
        "b true" => Some(now.saturating_sub(since)),
        "b false" => Some(Duration::ZERO),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_understood_or_refused() {
        let check = |answer: &str, seconds: Option<u64>| {
            let expected = seconds.map(Duration::from_secs);
            assert_eq!(parse(answer, Duration::from_secs(1000)), expected, "{answer:?}");
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
