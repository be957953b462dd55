//! The queries of the database target.

use queens_ledger::store::draw::Draw;
use queens_model::{JobId, Share};

/// The largest board that gets a plan: a large one takes longer than any input may.
pub(super) const MOST_PLANNED: u8 = 9;

/// Draws the first records of a job.
pub(super) fn draw(job: JobId) -> Draw {
    let (suspects, doubted) = Default::default();
    Draw { job, after: None, seed: 1, share: Share::ALL, suspects, doubted, first_pass: None }
}
