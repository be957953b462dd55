//! Formats the title of a table.

use std::time::Duration;

use crate::present::numbers::duration;
use crate::top::cluster::Lists;
use crate::top::screen::{Screen, TableOf};

/// The age from which a list shows its age.
const OLD: Duration = Duration::from_secs(3);

/// Formats a title: "jobs: 3 of 12 with 'running', as of 5 s ago".
pub(super) fn title<I>(
    what: &str,
    screen: &Screen,
    table: &TableOf<I>,
    n: impl Fn(&Lists) -> usize,
) -> String {
    let Some(lists) = &screen.lists else { return what.to_owned() };
    let words = table.filter.input.text().trim();
    let of_all = match words {
        "" => String::new(),
        words => format!(": {} of {} with '{words}'", table.shown.len(), n(lists)),
    };
    let age = lists.at.elapsed();
    let age = if age < OLD { String::new() } else { format!(", as of {} ago", seconds(age)) };
    format!("{what}{of_all}{age}")
}

/// Formats a time in whole seconds, at least one.
pub(super) fn seconds(time: Duration) -> String {
    duration(time.as_secs_f64().round().max(1.0))
}
