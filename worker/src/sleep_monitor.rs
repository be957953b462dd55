//! Notices that the machine slept, or that this process was stopped for a while.

use std::time::Duration;

use queens_platform::time_with_sleep;
use tokio::time::sleep;

/// The interval between two looks at the clock.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The longest usual time between two looks. A coordinator keeps a worker that is silent for 14 s; a busy machine
/// delays no look for so long.
const LONGEST: Duration = Duration::from_secs(10);

/// Waits until this process did not run for more than ten seconds since the call, and returns for how long. Cancel
/// safe.
///
/// A connection from before is most likely dead: the coordinator has given the worker up, and a router has forgotten
/// it. Without this, a worker would find out by its keep-alive only, after 20 s.
pub(crate) async fn slept() -> Duration {
    slept_by(time_with_sleep).await
}

async fn slept_by(clock: impl Fn() -> Duration) -> Duration {
    let mut before = clock();
    loop {
        sleep(LOOK_AGAIN).await;
        let now = clock();
        let gap = now.saturating_sub(before);
        if gap > LONGEST {
            return gap.saturating_sub(LOOK_AGAIN);
        }
        before = now;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::time::{Instant, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_jump_of_the_clock_is_noticed_within_a_second_and_usual_delays_are_not() {
        let (began, asleep) = (Instant::now(), Cell::new(Duration::ZERO));
        let clock = || began.elapsed() + asleep.get();
        let hour = Duration::from_secs(3600);
        let jumps = async {
            for second in 1..=60 {
                sleep(Duration::from_secs(60)).await;
                // A busy machine.
                asleep.set(Duration::from_secs(8 * second));
            }
            asleep.set(asleep.get() + hour);
            Instant::now()
        };
        let (slept, jumped) = tokio::join!(
            async { (timeout(2 * hour, slept_by(clock)).await.expect("noticed"), Instant::now()) },
            jumps
        );
        assert!(slept.0 >= hour && slept.0 < hour + LONGEST, "{slept:?}");
        assert!(slept.1 - jumped <= LOOK_AGAIN, "{:?}", slept.1 - jumped);
    }
}
