//! Decides how large a lease is.
//!
//! At its measured speed, each worker takes the same time for a lease: a fixed share of the remaining time of the job.
//! So leases shrink as the job nears its end, and the last ones end together.

use crate::workers::readiness::Power;
use crate::workers::speed::MeasuredSpeed;

/// A lease takes one eighth of the job's remaining time. With two per thread, a quarter of the job is leased at a time.
const SHARE_OF_THE_REST: f64 = 8.0;

/// The longest lease, so that a tail that is cut off is not old.
const LONGEST_SECONDS: f64 = 120.0;

/// The shortest lease, with a quarter of a millisecond for each thread of the whole cluster as a second limit. So the
/// coordinator grants at most some 4,000 leases a second, a quarter of what one core was measured to do
/// (docs/SCALE.md).
const SHORTEST_SECONDS: f64 = 0.02;
const SHORTEST_SECONDS_PER_THREAD: f64 = 0.00025;

/// The shortest tail, if the shortest lease is longer. The number of tails in a second is limited, so that they need
/// not get longer with the cluster; but an idle thread waits a tenth of a second for one.
const SHORTEST_TAIL_SECONDS: f64 = 0.1;

/// The first lease of a worker whose speed is only guessed.
const UNMEASURED_SECONDS: f64 = 0.1;

/// Returns the duration of the shortest lease, in seconds.
pub(crate) fn shortest_seconds(power: Power) -> f64 {
    SHORTEST_SECONDS.max(SHORTEST_SECONDS_PER_THREAD * power.n_threads())
}

/// Returns the duration of the shortest tail of a lease that is cut off, in seconds.
pub(crate) fn shortest_tail_seconds(power: Power) -> f64 {
    shortest_seconds(power).min(SHORTEST_TAIL_SECONDS)
}

/// Returns the estimated work of a lease for a thread of this speed, given the job's remaining work.
pub(crate) fn work_for(speed: MeasuredSpeed, power: Power, work_left: u128) -> u128 {
    let longest = if speed.is_guess() { UNMEASURED_SECONDS } else { LONGEST_SECONDS };
    let shortest = shortest_seconds(power).min(longest);
    // At first, the remaining time rests on guesses. A graphics card claims the speed of a processor, so that
    // processors would get most of a job that it counts in a minute. So leases grow with the time that the worker was
    // measured.
    let measured = (LONGEST_SECONDS * speed.measured_share()).max(UNMEASURED_SECONDS);
    let rest = power.seconds(work_left).unwrap_or(0.0);
    let seconds = (rest / SHARE_OF_THE_REST).min(longest).min(measured).max(shortest);
    whole_nodes(seconds * speed.work_per_second)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, as it should"
)]
pub(crate) fn whole_nodes(work: f64) -> u128 {
    work.round() as u128
}
