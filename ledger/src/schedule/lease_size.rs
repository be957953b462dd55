//! How large a lease should be.
//!
//! A lease is sized so that a worker, at its measured speed, takes the same time as any other would: a fixed share of
//! what the whole job still takes. So leases shrink as the job nears its end, and the last ones end together.

use crate::workers::readiness::Power;
use crate::workers::speed::MeasuredSpeed;

/// A lease is this part of what the job still takes: with two a thread, a quarter of it is handed out at a time.
const SHARE_OF_THE_REST: f64 = 8.0;

/// No lease is longer: a tail that is cut off should not be old.
const LONGEST_SECONDS: f64 = 120.0;

/// No lease is shorter, nor shorter than a millisecond for each thread of the whole cluster, so that the coordinator
/// is not asked for more than some thousand leases a second.
const SHORTEST_SECONDS: f64 = 0.02;
const SHORTEST_SECONDS_PER_THREAD: f64 = 0.001;

/// The first lease of a worker whose speed is only guessed.
const UNMEASURED_SECONDS: f64 = 0.1;

/// The seconds that the shortest lease should take.
pub(crate) fn shortest_seconds(power: Power) -> f64 {
    SHORTEST_SECONDS.max(SHORTEST_SECONDS_PER_THREAD * power.n_threads())
}

/// The estimated nodes of a lease for a thread of this speed, when so much work is left for all.
pub(crate) fn work_for(speed: MeasuredSpeed, power: Power, work_left: u128) -> u128 {
    let longest = if speed.is_guess() { UNMEASURED_SECONDS } else { LONGEST_SECONDS };
    let rest = power.seconds(work_left).unwrap_or(0.0);
    let shortest = shortest_seconds(power).min(longest);
    let seconds = (rest / SHARE_OF_THE_REST).clamp(shortest, longest);
    whole_nodes(seconds * speed.nodes_per_second())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, as it should"
)]
pub(crate) fn whole_nodes(nodes: f64) -> u128 {
    nodes.round() as u128
}
