//! Answers on stdout, and numbers in them.

use anyhow::Context;

/// Prints an answer to stdout.
pub(crate) fn print(lines: &str) -> anyhow::Result<()> {
    queens_process::print(lines).context("failed to write the answer")
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

/// A range of seconds for people, no narrower than it is: "4 to 6 min".
pub(crate) fn range(low: f64, high: f64) -> String {
    const UNITS: [(&str, f64); 4] = [("y", 365.25 * 86400.0), ("d", 86400.0), ("h", 3600.0), ("min", 60.0)];
    let (name, unit) = UNITS.into_iter().find(|(_, unit)| high >= 2.0 * unit).unwrap_or(("s", 1.0));
    let (low, high) = ((low / unit).floor(), (high / unit).ceil().max(1.0));
    if low < 1.0 {
        format!("at most {high:.0} {name}")
    } else if low < high {
        format!("{low:.0} to {high:.0} {name}")
    } else {
        format!("{high:.0} {name}")
    }
}

/// A unit for times that are not known better than to a few per cent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeUnit {
    /// In the plural.
    pub(crate) name: &'static str,
    seconds: f64,
}

impl TimeUnit {
    /// The largest unit of which there are two.
    pub(crate) fn of(seconds: f64) -> Self {
        const UNITS: [(&str, f64); 4] =
            [("years", 365.25 * 86400.0), ("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)];
        let (name, unit) =
            UNITS.into_iter().find(|(_, unit)| seconds >= 2.0 * unit).unwrap_or(("seconds", 1.0));
        Self { name, seconds: unit }
    }

    /// A time in this unit, to two digits.
    pub(crate) fn rounded(self, seconds: f64) -> String {
        two_digits(seconds / self.seconds)
    }
}

/// A number to two digits, in thousands.
fn two_digits(number: f64) -> String {
    if number <= 0.0 {
        return "0".to_owned();
    }
    // By way of text, which rounds once: "9.96" has to become "10", not "10.0".
    let scientific = format!("{number:.1e}");
    let exponent: i32 =
        scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let rounded: f64 = scientific.parse().unwrap_or(number);
    match usize::try_from(1 - exponent) {
        Ok(n_decimals) => format!("{rounded:.n_decimals$}"),
        Err(_) => grouped(rounded),
    }
}

/// A whole number with its digits in thousands.
pub(crate) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// "1 thread", "2 threads"
pub(crate) fn threads(n_threads: usize) -> String {
    if n_threads == 1 { "1 thread".to_owned() } else { format!("{n_threads} threads") }
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

    #[track_caller]
    fn check_range(low: f64, high: f64, expected: &str) {
        assert_eq!(range(low, high), expected);
    }

    #[test]
    fn ranges_are_rounded_outwards() {
        check_range(0.0, 0.0, "at most 1 s");
        check_range(0.4, 2.1, "at most 3 s");
        check_range(3.9, 5.1, "3 to 6 s");
        check_range(100.0, 119.0, "100 to 119 s");
        check_range(110.0, 121.0, "1 to 3 min");
        check_range(250.0, 350.0, "4 to 6 min");
        check_range(14400.0, 14400.0, "4 h");
        check_range(20.0 * 86400.0, 29.5 * 86400.0, "20 to 30 d");
    }

    #[track_caller]
    fn check_rounded(seconds: f64, expected: &str) {
        let unit = TimeUnit::of(seconds);
        assert_eq!(format!("{} {}", unit.rounded(seconds), unit.name), expected);
    }

    #[test]
    fn rough_times_have_two_digits() {
        check_rounded(0.0, "0 seconds");
        check_rounded(0.004_56, "0.0046 seconds");
        check_rounded(1.0, "1.0 seconds");
        check_rounded(9.96, "10 seconds");
        check_rounded(119.0, "120 seconds");
        check_rounded(121.0, "2.0 minutes");
        check_rounded(7200.0, "2.0 hours");
        check_rounded(1e9, "32 years");
        check_rounded(1e14, "3,200,000 years");
    }
}
