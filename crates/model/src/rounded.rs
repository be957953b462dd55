//! Formats rough numbers for people: two digits, in a suitable unit.

const HOUR: f64 = 3600.0;
const DAY: f64 = 24.0 * HOUR;

/// A year, in seconds.
pub const YEAR: f64 = 365.25 * DAY;

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

/// Formats a whole number, grouped by thousands.
#[must_use]
pub fn grouped(number: f64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

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
