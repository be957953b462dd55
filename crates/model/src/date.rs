//! Formats points in time.

/// Formats a time in seconds since 1970: "2026-11-21 22:14 UTC".
#[must_use]
pub fn date(seconds: u64) -> String {
    let minutes = seconds % 86400 / 60;
    format!("{} {:02}:{:02} UTC", day(seconds), minutes / 60, minutes % 60)
}

/// Formats a time in milliseconds since 1970 by RFC 3339: "2026-11-21T22:14:59.000Z".
#[must_use]
pub fn rfc3339(ms: u64) -> String {
    let seconds = ms / 1000;
    let (minutes, second) = (seconds % 86400 / 60, seconds % 60);
    format!("{}T{:02}:{:02}:{second:02}.{:03}Z", day(seconds), minutes / 60, minutes % 60, ms % 1000)
}

/// Formats the day of a time in seconds since 1970: "2026-11-21".
fn day(seconds: u64) -> String {
    let days = seconds / 86400;
    // Howard Hinnant, "chrono-compatible low-level date algorithms": years begin in March, so that leap days come last.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + next;
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_795_299_299, "2026-11-21 22:14 UTC"),
            (4_107_542_399, "2100-02-28 23:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(date(seconds), expected);
        }
        assert_eq!(rfc3339(1_795_299_299_007), "2026-11-21T22:14:59.007Z");
    }
}
