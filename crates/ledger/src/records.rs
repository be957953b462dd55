//! Merges records before they are stored, and checks that a store can hold them.

use std::time::Duration;

use queens_solver::{Count, Span};

use crate::store::{MAX_COUNT, MAX_DURATION, Record};

/// Merges two records. Returns `None` if the second does not begin where the first ends, or the sums do not fit.
pub(crate) fn merged(first: &Record, second: &Record) -> Option<Record> {
    let adjacent = first.span.part() == second.span.part() && first.span.to() == second.span.from();
    let count: Count = first.count.checked_add(second.count)?;
    let duration = first.duration.checked_add(second.duration)?;
    if !adjacent || first.source != second.source || !can_be_recorded(count, duration) {
        return None;
    }
    let span = Span::new(first.span.part(), first.span.from(), second.span.to()).ok()?;
    Some(Record { span, count, duration, ..second.clone() })
}

/// Whether a store can hold these numbers. A record that the store refuses would block all further ones.
pub(crate) fn can_be_recorded(count: Count, duration: Duration) -> bool {
    count.solutions <= MAX_COUNT && count.work <= MAX_COUNT && duration <= MAX_DURATION
}
