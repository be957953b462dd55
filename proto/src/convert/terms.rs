//! Conversions of a job's terms.

use queens_model::{Arbiter, JobId, PartRange, Party, Priority, Share, Submission, Terms};
use queens_solver::{BoardSize, Method};

use super::check::{InvalidMessage, malformed, method};
use crate::pb;

impl From<PartRange> for pb::PartRange {
    fn from(part_range: PartRange) -> Self {
        let part_range = part_range.range();
        Self { from: part_range.start, to: part_range.end }
    }
}

impl TryFrom<pb::PartRange> for PartRange {
    type Error = InvalidMessage;

    fn try_from(part_range: pb::PartRange) -> Result<Self, InvalidMessage> {
        Ok(Self::new(part_range.from, part_range.to)?)
    }
}

impl From<Submission> for pb::SubmitRequest {
    fn from(asked: Submission) -> Self {
        Self {
            n: asked.n.get().into(),
            priority: asked.priority.get(),
            method: pb::Method::from(asked.method).into(),
            part_range: asked.part_range.map(pb::PartRange::from),
            recount: asked.recount.map(Share::ppm),
            second_pass: asked.second_pass.map_or(pb::Method::Unspecified, pb::Method::from).into(),
            confirmed: asked.confirmed,
            // The sender adds it in words, which a submission does not have.
            recount_by: String::new(),
        }
    }
}

impl TryFrom<pb::SubmitRequest> for Submission {
    type Error = InvalidMessage;

    fn try_from(asked: pb::SubmitRequest) -> Result<Self, InvalidMessage> {
        Ok(Self {
            n: BoardSize::try_from(asked.n)?,
            method: method(asked.method)?,
            priority: Priority::try_from(asked.priority)?,
            part_range: asked.part_range.map(PartRange::try_from).transpose()?,
            recount: asked.recount.map(Share::of_ppm).transpose()?,
            // Only the coordinator can resolve the name of a party.
            recount_by: None,
            second_pass: some_method(asked.second_pass)?,
            confirmed: asked.confirmed,
        })
    }
}

/// Converts an optional method.
fn some_method(found: i32) -> Result<Option<Method>, InvalidMessage> {
    if found == i32::from(pb::Method::Unspecified) { Ok(None) } else { method(found).map(Some) }
}

/// Returns the requested share to recount and method of a second pass, each if requested.
///
/// # Errors
/// If a share or a method is invalid.
pub fn verify_more(asked: &pb::VerifyMore) -> Result<(Option<Share>, Option<Method>), InvalidMessage> {
    Ok((asked.recount.map(Share::of_ppm).transpose()?, some_method(asked.second_pass)?))
}

/// Converts the terms of a job with this second pass. The seed is sent only after the job is done.
#[must_use]
pub(super) fn told_terms(terms: &Terms, second: Option<JobId>, is_done: bool) -> pb::Terms {
    pb::Terms {
        part_range: terms.part_range.map(pb::PartRange::from),
        recount: terms.recount.ppm(),
        second_of: terms.second_of.map(|job| job.0),
        second: second.map(|job| job.0),
        seed: if is_done { format!("{:032x}", terms.seed) } else { String::new() },
        exported_ms: terms.exported_ms,
        recount_by: terms.recount_by.map(|arbiter| arbiter.invitation.unwrap_or(0)),
    }
}

/// Converts the terms of a job, and returns its second pass. A missing seed becomes 0, and so does a missing party.
pub(super) fn terms(told: pb::Terms) -> Result<(Terms, Option<JobId>), InvalidMessage> {
    let seed = match told.seed.as_str() {
        "" => Some(0),
        text if text.len() == 32 => u128::from_str_radix(text, 16).ok().filter(|_| !text.starts_with('+')),
        _ => None,
    };
    let wrong = || malformed("the seed", &told.seed, "32 hexadecimal digits");
    let terms = Terms {
        part_range: told.part_range.map(PartRange::try_from).transpose()?,
        recount: Share::of_ppm(told.recount)?,
        recount_by: told.recount_by.map(|number| Arbiter {
            party: Party::from_bytes([0; 16]),
            invitation: Some(number).filter(|number| *number > 0),
        }),
        second_of: told.second_of.map(JobId),
        seed: seed.ok_or_else(wrong)?,
        exported_ms: told.exported_ms,
    };
    Ok((terms, told.second.map(JobId)))
}
