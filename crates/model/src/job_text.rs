//! Describes jobs for people, on the command line and on pages.

use crate::numbers::{percent, plural, range};
use crate::status::JobStatus;

impl JobStatus {
    /// Describes the state of a job, the progress of its plan, and its failures.
    #[must_use]
    pub fn state_text(&self) -> String {
        let state = self.state.name();
        if let Some(n_before) = self.n_plans_before {
            return format!("{state}, {n_before} before it");
        }
        if let Some(share) = self.plan_fraction {
            return format!("{state} {}", percent(share.get()));
        }
        match self.n_failed {
            0 => state.to_owned(),
            1 => format!("{state}, 1 span failed"),
            n_failed => format!("{state}, {n_failed} spans failed"),
        }
    }

    /// Compares a completed count with the published one.
    #[must_use]
    pub fn comparison(&self) -> String {
        match self.published() {
            None if self.is_part() => "a part of the board: there is nothing to compare it with".to_owned(),
            None => "no count has been published to compare with".to_owned(),
            Some(_) if self.agrees() == Some(true) => "agrees with the published count".to_owned(),
            Some(counts) => format!(
                "CONTRADICTS the published count {} ({} fundamental)",
                counts.solutions, counts.fundamental
            ),
        }
    }

    /// Returns the remaining time as a range if it is known, or a short note on remaining checks.
    #[must_use]
    pub fn time_left_text(&self) -> String {
        match self.range_left() {
            _ if self.state.is_over() => "-".to_owned(),
            _ if self.is_provisional() => {
                match (self.recounting.n_open, self.second.or(self.terms.second_of)) {
                    (0, Some(other)) => format!("job {other}"),
                    (0, None) => "checks".to_owned(),
                    (n_open, _) => plural(n_open, "span"),
                }
            }
            Some(range) => range,
            None => "unknown".to_owned(),
        }
    }

    /// Returns the range of the remaining time: "4 to 6 min".
    #[must_use]
    pub fn range_left(&self) -> Option<String> {
        self.time_left.map(|left| range(left.low(), left.high()))
    }
}
