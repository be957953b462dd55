//! Fills templates and formats values for pages. Names are of strangers: all of them are escaped.

use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use queens_model::{JobStatus, TimeLeft, date, rough_time};
use queens_solver::boards::grid::escaped;

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

/// The frame of all pages, with placeholders.
const FRAME: &str = include_str!("../../assets/frame.html");

/// The pages that others link, by their paths.
const PAGES: [(&str, &str); 3] = [("/", "Jobs"), ("/workers", "Workers"), ("/board", "Board")];
const PUBLIC_PAGES: [(&str, &str); 2] = [("/public", "Count"), ("/people", "People")];

/// The messages above the content of a page that follows the coordinator.
const ALERTS: &str = "<p id=\"store-error\" class=\"alert\" role=\"alert\" hidden></p>\n\
    <noscript><p class=\"alert\">These pages need JavaScript. The API has the same data: \
    <a href=\"/api/v1/jobs\">/api/v1/jobs</a>.</p></noscript>\n";

/// The header of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Header {
    /// Links to all pages, and the state of the connection.
    Live,
    /// Links to all pages.
    Links,
    /// Links to the public pages.
    Public,
    /// No links.
    Bare,
}

/// Puts the main part of a page, which may have placeholders, into the frame. `path` is the page's own.
pub(super) fn framed(title: &str, scripts: &[&str], header: Header, path: &str, main: &str) -> String {
    let pages: &[_] = match header {
        Header::Live | Header::Links => &PAGES,
        Header::Public => &PUBLIC_PAGES,
        Header::Bare => &[],
    };
    let item = |(to, name): &(&str, &str)| {
        let current = if *to == path { " aria-current=\"page\"" } else { "" };
        format!("<li><a href=\"{to}\"{current}>{name}</a></li>")
    };
    let items: String = pages.iter().map(item).collect();
    let mut links = String::new();
    if !items.is_empty() {
        links = format!("<nav aria-label=\"Pages\"><ul>{items}</ul></nav>\n");
    }
    if header == Header::Live {
        links += "<span id=\"connection\" role=\"status\">connecting</span>\n";
    }
    let script = |name: &&str| format!("<script type=\"module\" src=\"/assets/{name}.js\"></script>\n");
    let values = [
        ("title", title),
        ("scripts", &scripts.iter().map(script).collect::<String>()),
        ("links", &links),
        ("alerts", if header == Header::Live { ALERTS } else { "" }),
        ("main", main),
    ];
    fill(FRAME, &values)
}

/// Returns a line for a shell with a button that copies it, by the script `copy`.
pub(super) fn shell_line(line: &str) -> String {
    let line = escaped(line);
    format!(
        "<div class=\"copied\"><pre class=\"line\" tabindex=\"0\"><code>{line}</code></pre>\
         <button class=\"copy\" type=\"button\">Copy</button></div>\n"
    )
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
