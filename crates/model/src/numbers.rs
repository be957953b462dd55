//! Formats numbers, times and shares for people.

use std::fmt::Display;
use std::time::Duration;

use crate::date::date;

const HOUR: f64 = 3600.0;
const DAY: f64 = 24.0 * HOUR;

/// A year, in seconds.
pub(crate) const YEAR: f64 = 365.25 * DAY;

/// A unit for times that are known only to a few per cent.
#[derive(Clone, Copy, Debug)]
pub struct TimeUnit {
    /// In the plural.
    pub name: &'static str,
    seconds: f64,
}

impl TimeUnit {
    /// Returns the largest unit that a time has at least two of.
    #[must_use]
    pub fn of(seconds: f64) -> Self {
        const UNITS: [(&str, f64); 4] = [("years", YEAR), ("days", DAY), ("hours", HOUR), ("minutes", 60.0)];
        let (name, unit) =
            UNITS.into_iter().find(|(_, unit)| seconds >= 2.0 * unit).unwrap_or(("seconds", 1.0));
        Self { name, seconds: unit }
    }

    /// Formats a time in this unit, with two digits.
    #[must_use]
    pub fn rounded(self, seconds: f64) -> String {
        two_digits(seconds / self.seconds)
    }
}

/// Formats a time with two digits, in the largest unit that it has at least two of: "3.1 days", or "3.1 core-days" with
/// the prefix "core-".
#[must_use]
pub fn rough_time(seconds: f64, prefix: &str) -> String {
    let unit = TimeUnit::of(seconds);
    format!("{} {prefix}{}", unit.rounded(seconds), unit.name)
}

/// Formats a number with two digits, grouped by thousands.
#[must_use]
pub fn two_digits(number: f64) -> String {
    if number <= 0.0 {
        return "0".to_owned();
    }
    // Formatting rounds only once: "9.96" must become "10", not "10.0".
    let scientific = format!("{number:.1e}");
    let exponent: i32 =
        scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let rounded: f64 = scientific.parse().unwrap_or(number);
    match usize::try_from(1 - exponent) {
        Ok(n_decimals) => format!("{rounded:.n_decimals$}"),
        Err(_) => grouped(rounded),
    }
}

/// Formats thread time in hours: "0.53", "1,234".
#[must_use]
pub fn core_hours(hours: f64) -> String {
    if hours < 100.0 { format!("{hours:.2}") } else { grouped(hours) }
}

/// Formats a number as a whole one, grouped by thousands.
#[must_use]
pub fn grouped(number: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rounded one, from 0 on")]
    let whole = number.round_ties_even() as u128;
    queens_solver::boards::grid::grouped(whole)
}

/// Formats seconds in the two largest units.
#[must_use]
pub fn duration(seconds: f64) -> String {
    const UNITS: [(&str, f64); 5] = [("y", YEAR), ("d", DAY), ("h", HOUR), ("min", 60.0), ("s", 1.0)];
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

/// Formats a share: "0.0031 %", "14.1 %". Rounds down, so that only a complete share is 100 %.
#[must_use]
pub fn percent(share: f64) -> String {
    const LEAST: f64 = 0.0001;
    // A little more, so that 0.07 is 7 %.
    let percent = share * 100.0 * (1.0 + 1e-12);
    let n_decimals = match percent {
        _ if share >= 1.0 => return "100 %".to_owned(),
        ..=0.0 => return "0 %".to_owned(),
        ..LEAST => return format!("<{LEAST} %"),
        ..0.001 => 5,
        ..0.01 => 4,
        ..0.1 => 3,
        ..10.0 => 2,
        _ => 1,
    };
    let parts = 10_f64.powi(n_decimals);
    let down = ((percent * parts).floor() / parts).min(99.9);
    format!("{down:.0$} %", n_decimals.unsigned_abs() as usize)
}

/// Formats a range of seconds: "45 to 60 min". Never narrows it, and omits insignificant digits.
#[must_use]
pub fn range(low: f64, high: f64) -> String {
    const UNITS: [(&str, f64); 5] = [("y", YEAR), ("d", DAY), ("h", HOUR), ("min", 60.0), ("s", 1.0)];
    const MOST: f64 = 1000.0;
    // The largest unit that fits both ends, or else the upper one.
    let both = UNITS
        .iter()
        .find(|(_, unit)| high >= 2.0 * unit && low >= *unit && (*unit == YEAR || high < MOST * unit));
    let upper = || UNITS.iter().find(|(_, unit)| high >= 2.0 * unit);
    let (name, unit) = both.or_else(upper).copied().unwrap_or(("s", 1.0));
    let (low, high) = (low / unit, high / unit);
    // Two significant digits, and whole numbers.
    let digits = |number: f64| 10_f64.powf((number.max(1.0).log10().floor() - 1.0).max(0.0));
    let low = (low / digits(low)).floor() * digits(low);
    let high = ((high / digits(high)).ceil() * digits(high)).max(1.0);
    if low < 1.0 {
        format!("at most {high:.0} {name}")
    } else if low < high {
        format!("{low:.0} to {high:.0} {name}")
    } else {
        format!("about {high:.0} {name}")
    }
}

/// Formats when something ends that takes from `low` to `high` seconds after `now` (seconds since 1970): "2026-11-22
/// 01:00 to 03:00 UTC". `None` below an hour, or from 1000 years on.
#[must_use]
pub fn done_at(now: u64, low: f64, high: f64) -> Option<String> {
    const LONGEST: f64 = 1000.0 * YEAR;
    if !(HOUR..LONGEST).contains(&high) {
        return None;
    }
    let spread = high - low;
    // No more exact than the range is.
    let step = if spread < 2.0 * DAY { 600 } else { 86400 };
    let seconds =
        |after: f64| now.saturating_add(Duration::from_secs_f64(after.clamp(0.0, LONGEST)).as_secs());
    let (first, last) = (date(seconds(low) / step * step), date(seconds(high).div_ceil(step) * step));
    // "YYYY-MM-DD HH:MM UTC"
    let (day, time) = (|date: &str| date[..10].to_owned(), |date: &str| date[11..].to_owned());
    Some(match () {
        () if high >= 2.0 * YEAR => format!("{} to {}", &first[..4], &last[..4]),
        () if step > 600 => format!("{} to {}", day(&first), day(&last)),
        () if first == last => first,
        () if day(&first) == day(&last) => format!("{} to {}", &first[..16], time(&last)),
        () => format!("{} to {last}", &first[..16]),
    })
}

/// Formats a number with its noun: "1 thread", "2 threads".
#[must_use]
pub fn plural(number: impl Display, word: &str) -> String {
    let number = number.to_string();
    let ending = if number == "1" { "" } else { "s" };
    format!("{number} {word}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_rounded(seconds: f64, expected: &str) {
        assert_eq!(rough_time(seconds, ""), expected);
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
        check_range(104.0, 119.0, "100 to 120 s");
        check_range(14.2 * HOUR, 53.2 * HOUR, "14 to 54 h");
        check_range(2.0, 3.0 * HOUR, "at most 3 h");
        check_range(45.1 * 60.0, 59.2 * 60.0, "45 to 60 min");
        check_range(3120.0, 3120.0, "about 52 min");
        check_range(316.2 * YEAR, 374.0 * YEAR, "310 to 380 y");
        check_range(110.0, 121.0, "1 to 3 min");
        check_range(250.0, 350.0, "4 to 6 min");
        check_range(14400.0, 14400.0, "about 4 h");
        check_range(20.0 * 86400.0, 29.5 * 86400.0, "20 to 30 d");
    }

    #[test]
    fn shares_have_digits_that_say_something_and_are_rounded_down() {
        for (share, expected) in [
            (0.0, "0 %"),
            (1e-9, "<0.0001 %"),
            (2.399e-6, "0.00023 %"),
            (0.000_031, "0.0031 %"),
            (0.000_999, "0.099 %"),
            (0.003_19, "0.31 %"),
            (0.07, "7.00 %"),
            (0.141_59, "14.1 %"),
            (0.25, "25.0 %"),
            (0.999_999_9, "99.9 %"),
            (1.0f64.next_down(), "99.9 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(percent(share), expected, "{share}");
        }
    }

    #[test]
    fn what_takes_long_is_done_at_a_date_no_more_exact_than_it_is_known() {
        // 2026-11-21 22:14:59
        let check = |low: f64, high: f64, expected: Option<&str>| {
            assert_eq!(done_at(1_795_299_299, low, high).as_deref(), expected);
        };
        check(50.0 * 60.0, 59.0 * 60.0, None);
        check(HOUR, 1.2 * HOUR, Some("2026-11-21 23:10 to 23:30 UTC"));
        check(1.5 * HOUR, 3.0 * HOUR, Some("2026-11-21 23:40 to 2026-11-22 01:20 UTC"));
        check(2.0 * DAY, 8.0 * DAY, Some("2026-11-23 to 2026-11-30"));
        check(5.0 * YEAR, 8.0 * YEAR, Some("2031 to 2034"));
        check(5.0 * YEAR, 1e300, None);
        check(0.0, f64::NAN, None);
    }
}
