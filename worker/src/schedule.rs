//! Hours of the week in which a worker counts.

use std::ops::Range;
use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::{Timestamp, Zoned};
use thiserror::Error;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const DAY: usize = 24 * 60;
const WEEK: usize = 7 * DAY;

/// Hours of the week, in local time, such as `Mon-Fri 19:00-07:00, Sat-Sun`.
///
/// A range over midnight belongs to the day on which it begins. When clocks change, their times decide: an hour that
/// comes twice is in the schedule twice or never, and one that is left out is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Whether each minute of the week is in it, from Monday 00:00. At least one is.
    minutes: Vec<bool>,
}

/// A text is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}; expected days and hours such as 'Mon-Fri 19:00-07:00, Sat-Sun'")]
pub struct InvalidSchedule(String);

impl Schedule {
    /// Returns whether a local time is in the schedule.
    #[must_use]
    pub fn contains(&self, time: DateTime) -> bool {
        let day = usize::try_from(time.weekday().to_monday_zero_offset()).unwrap_or(0);
        let [hour, minute] = [time.hour(), time.minute()].map(|part| usize::try_from(part).unwrap_or(0));
        self.minutes.get(day * DAY + hour * 60 + minute).copied().unwrap_or(false)
    }

    /// Returns when the schedule next begins or ends after `now`; `None` if it does neither within eight days.
    #[must_use]
    pub fn next_change(&self, now: &Zoned) -> Option<Zoned> {
        // A look at each minute is right on days with clock changes, too. A week of them takes some milliseconds at
        // most.
        let minute = now.timestamp().as_second() - i64::from(now.second());
        let is_open = self.contains(now.datetime());
        (1..).take(WEEK + DAY).find_map(|after: i64| {
            let time = Timestamp::from_second(minute + 60 * after).ok()?;
            let changes = self.contains(now.time_zone().to_datetime(time)) != is_open;
            changes.then(|| time.to_zoned(now.time_zone().clone()))
        })
    }
}

impl FromStr for Schedule {
    type Err = InvalidSchedule;

    fn from_str(text: &str) -> Result<Self, InvalidSchedule> {
        let mut minutes = vec![false; WEEK];
        for entry in text.split(',') {
            let of_entry = |reason: String| InvalidSchedule(format!("'{}': {reason}", entry.trim()));
            let (days, hours) = parse_entry(entry).map_err(of_entry)?;
            for day in days {
                for minute in hours.clone() {
                    minutes[(day * DAY + minute) % WEEK] = true;
                }
            }
        }
        Ok(Self { minutes })
    }
}

/// Returns the days, from 0 for Monday, and the minutes from their midnight. Both may go on after their end.
fn parse_entry(entry: &str) -> Result<(Range<usize>, Range<usize>), String> {
    let words: Vec<&str> = entry.split_whitespace().collect();
    let every_day = 0..DAYS.len();
    match words[..] {
        [] => Err("there is nothing".to_owned()),
        [days, hours] => Ok((parse_days(days)?, parse_hours(hours)?)),
        [hours] if hours.starts_with(|c: char| c.is_ascii_digit()) => Ok((every_day, parse_hours(hours)?)),
        [days] => Ok((parse_days(days)?, 0..DAY)),
        _ => Err("there are more than days and hours".to_owned()),
    }
}

fn parse_days(text: &str) -> Result<Range<usize>, String> {
    let day = |name: &str| {
        let found = DAYS.iter().position(|day| day.eq_ignore_ascii_case(name));
        found.ok_or_else(|| format!("'{name}' is none of {}", DAYS.join(", ")))
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (day(first)?, day(last)?);
    Ok(first..if first <= last { last + 1 } else { last + 1 + DAYS.len() })
}

fn parse_hours(text: &str) -> Result<Range<usize>, String> {
    let (from, to) = text.split_once('-').ok_or_else(|| format!("'{text}' has no end"))?;
    let (from, to) = (parse_time(from)?, parse_time(to)?);
    if from == to || from == DAY {
        return Err(format!("'{text}' covers nothing: a whole day has no hours"));
    }
    Ok(from..if from < to { to } else { to + DAY })
}

fn parse_time(text: &str) -> Result<usize, String> {
    let is_number = |part: &str| part.len() <= 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = text.split_once(':').filter(|(hour, minute)| is_number(hour) && is_number(minute));
    let parts = parts.and_then(|(hour, minute)| Some((hour.parse().ok()?, minute.parse().ok()?)));
    let minute = parts.map(|(hour, minute): (usize, usize)| (hour * 60 + minute, minute));
    let minute = minute.filter(|(all, minute)| *minute < 60 && *all <= DAY).map(|(all, _)| all);
    minute.ok_or_else(|| format!("'{text}' is no time from 00:00 to 24:00"))
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    fn schedule(text: &str) -> Schedule {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns a time of Berlin. The rule of its clocks does not depend on the machine's database.
    fn berlin(text: &str) -> Zoned {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a rule");
        text.parse::<Timestamp>().unwrap_or_else(|error| panic!("{text}: {error}")).to_zoned(zone)
    }

    /// November 2026 begins on a Sunday.
    #[track_caller]
    fn check(text: &str, day: i8, [hour, minute]: [i8; 2], expected: bool) {
        let time = DateTime::constant(2026, 11, day, hour, minute, 59, 0);
        assert_eq!(schedule(text).contains(time), expected, "{text} on {time}");
    }

    #[test]
    fn hours_are_in_the_schedule_or_not() {
        let usual = "Mon-Fri 19:00-07:00, Sat-Sun";
        // Friday evening to Monday morning is whole: Friday's night, and two days. Sunday's night is not in it.
        for (day, at, expected) in [
            (2, [0, 0], false),
            (2, [18, 59], false),
            (2, [19, 0], true),
            (3, [6, 59], true),
            (3, [7, 0], false),
            (6, [20, 0], true),
            (7, [3, 0], true),
            (7, [12, 0], true),
            (8, [23, 59], true),
            (9, [6, 0], false),
        ] {
            check(usual, day, at, expected);
        }
        check("22:00-06:00", 4, [5, 59], true);
        check("22:00-06:00", 4, [6, 0], false);
        check("sun 23:00-01:00", 2, [0, 59], true);
        check("Sat-Mon 08:00-24:00", 2, [23, 59], true);
        check("Sat-Mon 08:00-24:00", 3, [8, 0], false);
        check("Wed", 4, [0, 0], true);
        check("Wed", 5, [0, 0], false);
    }

    #[test]
    fn a_mistake_is_named() {
        for (text, expected) in [
            ("", "'': there is nothing"),
            ("Mon,,Tue", "'': there is nothing"),
            ("Mon-Fri 19:00-07:00, Sa", "'Sa': 'Sa' is none of Mon, Tue, Wed, Thu, Fri, Sat, Sun"),
            ("Mon 19:00", "'Mon 19:00': '19:00' has no end"),
            ("Mon 19:00-25:00", "'Mon 19:00-25:00': '25:00' is no time from 00:00 to 24:00"),
            ("19:00-7", "'19:00-7': '7' is no time from 00:00 to 24:00"),
            ("Mon +1:00-07:00", "'Mon +1:00-07:00': '+1:00' is no time from 00:00 to 24:00"),
            ("12:00-12:00", "'12:00-12:00': '12:00-12:00' covers nothing: a whole day has no hours"),
            ("24:00-07:00", "'24:00-07:00': '24:00-07:00' covers nothing: a whole day has no hours"),
            (
                "Mon 9:00-10:00 11:00-12:00",
                "'Mon 9:00-10:00 11:00-12:00': there are more than days and hours",
            ),
        ] {
            let told = text.parse::<Schedule>().expect_err(text).to_string();
            let hint = "; expected days and hours such as 'Mon-Fri 19:00-07:00, Sat-Sun'";
            assert_eq!(told, format!("{expected}{hint}"));
        }
    }

    #[test]
    fn its_next_change_is_right_on_days_when_clocks_change_too() {
        let usual = "Mon-Fri 19:00-07:00, Sat-Sun";
        let check = |text, now, expected| {
            assert_eq!(
                schedule(text).next_change(&berlin(now)),
                Some(berlin(expected)),
                "{text} after {now}"
            );
        };
        check(usual, "2026-11-25T12:34:56+01:00", "2026-11-25T19:00:00+01:00");
        check(usual, "2026-11-27T19:00:00+01:00", "2026-11-30T00:00:00+01:00");
        check("Wed 12:00-12:01", "2026-11-25T12:00:30+01:00", "2026-11-25T12:01:00+01:00");
        check("Wed 12:00-12:01", "2026-11-25T12:01:00+01:00", "2026-12-02T12:00:00+01:00");
        // 02:00 to 03:00 is left out on 2026-03-29, and comes twice on 2026-10-25.
        check("02:30-04:00", "2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00");
        check("02:00-03:00", "2026-03-29T01:00:00+01:00", "2026-03-30T02:00:00+02:00");
        check("02:30-04:00", "2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+01:00");
        check("02:30-04:00", "2026-10-25T02:00:00+01:00", "2026-10-25T02:30:00+01:00");
        assert_eq!(schedule("Mon-Sun").next_change(&berlin("2026-11-25T12:34:56+01:00")), None);
    }
}
