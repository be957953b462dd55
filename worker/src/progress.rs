//! Tells in a sentence what a worker has counted.

use std::time::Duration;

use queens_counting::{Counted, Metrics};
use tokio::time::{Instant, interval_at};
use tracing::info;

use crate::own_numbers::{OwnNumbers, described, sums};

/// The interval between two lines of the log.
const INTERVAL: Duration = Duration::from_secs(600);

/// Logs what the workers of this process have counted, every ten minutes, until it is dropped. The coordinator adds
/// what it has recorded of all workers of this person, if it knows the question.
pub async fn log(metrics: &Metrics, own: &OwnNumbers) {
    let began = Instant::now();
    let mut ticks = interval_at(began + INTERVAL, INTERVAL);
    loop {
        ticks.tick().await;
        let minutes = began.elapsed().as_secs() / 60;
        let counted = amount(&metrics.activity().counted);
        let Some(own) = own.fresh().await else {
            info!("counted {counted} in the {minutes} minutes since it started");
            continue;
        };
        let job = own.job.as_ref().map(|job| format!("; {}", described(job))).unwrap_or_default();
        info!(
            "counted {counted} in the {minutes} minutes since it started; all of yours: {}{job}",
            sums(&own)
        );
    }
}

/// Describes an amount: "1234 subproblems in 0.50 core-hours".
#[must_use]
pub fn amount(counted: &Counted) -> String {
    let Counted { n_subproblems, core_time, card_thread_time } = counted;
    let cards = match card_thread_time.is_zero() {
        true => String::new(),
        false => format!(" and {:.2} hours of threads of cards", hours(*card_thread_time)),
    };
    let noun = if *n_subproblems == 1 { "subproblem" } else { "subproblems" };
    format!("{n_subproblems} {noun} in {:.2} core-hours{cards}", hours(*core_time))
}

/// Converts a time to hours.
pub(crate) fn hours(time: Duration) -> f64 {
    time.as_secs_f64() / 3600.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_told_with_its_time() {
        let check = |n_subproblems, core_seconds, card_seconds, expected: &str| {
            let [core_time, card_thread_time] = [core_seconds, card_seconds].map(Duration::from_secs);
            assert_eq!(amount(&Counted { n_subproblems, core_time, card_thread_time }), expected);
        };
        check(0, 0, 0, "0 subproblems in 0.00 core-hours");
        check(1, 18, 0, "1 subproblem in 0.01 core-hours");
        check(70_000, 5400, 7200, "70000 subproblems in 1.50 core-hours and 2.00 hours of threads of cards");
    }
}
