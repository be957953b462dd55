//! Fills templates and formats values for the public pages. Names are of strangers: all of them are escaped.

use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use queens_model::{JobStatus, TimeLeft, date, rough_time};

/// Replaces each `{key}` of a template by its value, which is HTML. A value is not searched for keys: a name may look
/// like one.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled =
        String::with_capacity(template.len() + values.iter().map(|(_, value)| value.len()).sum::<usize>());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let (before, after) = rest.split_at(at);
        filled += before;
        let known = values.iter().find_map(|(key, value)| {
            let after = after.get(1..)?.strip_prefix(key)?.strip_prefix('}')?;
            Some((*value, after))
        });
        let (value, after) = known.unwrap_or_else(|| after.split_at(1));
        filled += value;
        rest = after;
    }
    filled + rest
}

/// Encodes a name as one segment of a path. A browser removes the segments `.` and `..`, also if they are encoded: they
/// get a space, which no name has at its end.
pub(super) fn segment(name: &str) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    let encoded = utf8_percent_encode(name, ESCAPED).to_string();
    if name == "." || name == ".." { encoded + "%20" } else { encoded }
}

/// Converts a time to hours.
pub(super) fn hours(time: Duration) -> f64 {
    time.as_secs_f64() / 3600.0
}

/// Formats thread time in hours: "0.53", "1,234".
pub(super) fn core_hours(time: Duration) -> String {
    queens_model::core_hours(hours(time))
}

/// Formats a time in milliseconds since 1970: "2026-11-21 22:14 UTC".
pub(super) fn moment(at_ms: u64) -> String {
    date(at_ms / 1000)
}

/// Formats the day of a time in milliseconds since 1970: "2026-11-21".
pub(super) fn day(at_ms: u64) -> String {
    moment(at_ms).chars().take(10).collect()
}

/// Says how long a job should still take: "about 3.1 days".
pub(super) fn time_left(job: &JobStatus) -> String {
    let about = |left: TimeLeft| format!("about {}", rough_time(left.expected(), ""));
    job.time_left.map_or_else(|| "not known yet".to_owned(), about)
}

/// Returns a fact for a list of facts. The value is HTML.
pub(super) fn fact(name: &str, value: &str) -> String {
    format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_not_a_template() {
        assert_eq!(fill("<{a}|{b}|{c}{", &[("a", "{b}"), ("b", "{a}")]), "<{b}|{a}|{c}{");
    }

    #[test]
    fn names_do_no_harm_in_a_link() {
        for (name, expected) in [
            ("anna-2", "anna-2"),
            ("a b", "a%20b"),
            ("a/../b", "a%2F..%2Fb"),
            ("..", "..%20"),
            (".", ".%20"),
            ("...", "..."),
            ("100%", "100%25"),
            ("?x#y", "%3Fx%23y"),
            ("♛", "%E2%99%9B"),
        ] {
            assert_eq!(segment(name), expected);
        }
    }

    #[test]
    fn numbers_are_for_people() {
        assert_eq!(core_hours(Duration::from_secs(1800)), "0.50");
        assert_eq!(core_hours(Duration::from_secs(3600 * 12_345)), "12,345");
        assert_eq!(day(1_795_299_299_000), "2026-11-21");
    }
}
