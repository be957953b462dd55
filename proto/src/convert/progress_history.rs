//! Conversions of a job's progress over time.

use std::time::Duration;

use queens_model::{Fraction, MOST_HISTORY_POINTS, PartGroup, ProgressHistory, Speed};

use super::check::{InvalidMessage, millis};
use crate::pb;

impl From<ProgressHistory> for pb::ProgressHistory {
    fn from(progress_history: ProgressHistory) -> Self {
        let rate = |rate: Option<Speed>| pb::Rate { work_per_second: rate.map(Speed::get) };
        let group = |group: PartGroup| pb::PartGroup {
            parts: group.n_parts,
            done: group.n_done,
            begun: group.n_begun,
            fraction: group.fraction.get(),
        };
        Self {
            span_ms: millis(progress_history.span),
            rates: progress_history.rates.into_iter().map(rate).collect(),
            now: progress_history.now.map(Speed::get),
            groups: progress_history.groups.into_iter().map(group).collect(),
        }
    }
}

impl TryFrom<pb::ProgressHistory> for ProgressHistory {
    type Error = InvalidMessage;

    fn try_from(progress_history: pb::ProgressHistory) -> Result<Self, InvalidMessage> {
        at_most("rates", progress_history.rates.len())?;
        at_most("groups of parts", progress_history.groups.len())?;
        let rate = |rate: pb::Rate| rate.work_per_second.map(Speed::try_from).transpose().map_err(Into::into);
        Ok(Self {
            span: Duration::from_millis(progress_history.span_ms),
            rates: progress_history.rates.into_iter().map(rate).collect::<Result<_, InvalidMessage>>()?,
            now: progress_history.now.map(Speed::try_from).transpose()?,
            groups: progress_history.groups.into_iter().map(PartGroup::try_from).collect::<Result<_, _>>()?,
        })
    }
}

impl TryFrom<pb::PartGroup> for PartGroup {
    type Error = InvalidMessage;

    fn try_from(group: pb::PartGroup) -> Result<Self, InvalidMessage> {
        let pb::PartGroup { parts, done, begun, fraction } = group;
        if done.checked_add(begun).is_none_or(|some| some > parts) {
            return Err(InvalidMessage::OutOfRange {
                what: "the number of parts that are done or begun",
                found: format!("{done} + {begun}"),
                expected: format!("at most {parts}"),
            });
        }
        Ok(Self { n_parts: parts, n_done: done, n_begun: begun, fraction: Fraction::try_from(fraction)? })
    }
}

fn at_most(what: &'static str, found: usize) -> Result<(), InvalidMessage> {
    if found <= MOST_HISTORY_POINTS {
        return Ok(());
    }
    let expected = format!("at most {MOST_HISTORY_POINTS}");
    Err(InvalidMessage::OutOfRange { what, found: found.to_string(), expected })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(parts: u32, done: u32, begun: u32, fraction: f64) -> pb::PartGroup {
        pb::PartGroup { parts, done, begun, fraction }
    }

    #[test]
    fn a_course_comes_as_it_was_sent_unless_it_makes_no_sense() {
        let rate = |work_per_second| pb::Rate { work_per_second };
        let sent = pb::ProgressHistory {
            span_ms: 60_000,
            rates: vec![rate(None), rate(Some(2.5))],
            now: Some(3.0),
            groups: vec![group(4, 1, 3, 0.5), group(2, 0, 0, 0.0)],
        };
        let progress_history = ProgressHistory::try_from(sent.clone()).expect("it makes sense");
        assert_eq!(progress_history.rates.len(), 2);
        assert_eq!(pb::ProgressHistory::from(progress_history), sent);
        for wrong in [
            pb::ProgressHistory { now: Some(-1.0), ..sent.clone() },
            pb::ProgressHistory { rates: vec![rate(Some(f64::NAN))], ..sent.clone() },
            pb::ProgressHistory { rates: vec![rate(None); MOST_HISTORY_POINTS + 1], ..sent.clone() },
            pb::ProgressHistory {
                groups: vec![group(1, 0, 0, 0.0); MOST_HISTORY_POINTS + 1],
                ..sent.clone()
            },
            pb::ProgressHistory { groups: vec![group(4, 3, 2, 0.5)], ..sent.clone() },
            pb::ProgressHistory { groups: vec![group(4, u32::MAX, 1, 0.5)], ..sent.clone() },
            pb::ProgressHistory { groups: vec![group(4, 1, 2, 1.5)], ..sent.clone() },
        ] {
            assert!(ProgressHistory::try_from(wrong.clone()).is_err(), "{wrong:?}");
        }
    }
}
