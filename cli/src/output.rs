//! Answers on stdout.

use std::io::{self, ErrorKind, Write};

use anyhow::Context;

/// Prints a line. A reader that has gone away is no error: it has seen what it wanted.
pub(crate) fn print(line: &str) -> anyhow::Result<()> {
    match writeln!(io::stdout(), "{line}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("failed to write the answer"),
    }
}

/// Seconds for people, in the two largest units.
pub(crate) fn duration(seconds: f64) -> String {
    const UNITS: [(&str, f64); 5] =
        [("y", 365.25 * 86400.0), ("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0)];
    let whole = seconds.round();
    let Some(largest) = UNITS.iter().position(|(_, unit)| whole >= *unit) else {
        return format!("{seconds:.1} s");
    };
    let (name, unit) = UNITS[largest];
    let first = format!("{:.0} {name}", (whole / unit).floor());
    match UNITS.get(largest + 1) {
        Some((name, smaller)) => format!("{first} {:.0} {name}", (whole % unit / smaller).floor()),
        None => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(seconds: f64, expected: &str) {
        assert_eq!(duration(seconds), expected);
    }

    #[test]
    fn durations_have_two_units() {
        check(0.0, "0.0 s");
        check(0.25, "0.2 s");
        check(59.4, "59 s");
        check(59.6, "1 min 0 s");
        check(3600.0, "1 h 0 min");
        check(86399.0, "23 h 59 min");
        check(2_500_000.0, "28 d 22 h");
        check(1e10, "316 y 321 d");
    }
}
