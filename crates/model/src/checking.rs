//! Texts about a job's verification: what is unchecked, and which counts differ.

use crate::recounting::Recounting;
use crate::status::{JobState, JobStatus};

impl JobStatus {
    /// Describes the verification that is left, if all is counted and not all is checked.
    #[must_use]
    pub fn unchecked(&self) -> Option<String> {
        if !self.is_provisional() {
            return None;
        }
        let Recounting { n_open, n_cases, .. } = self.recounting;
        Some(match (n_open, self.second, self.terms.second_of) {
            (0, ..) if self.state == JobState::Disputed => {
                "nothing that more counting could decide".to_owned()
            }
            (0, Some(second), _) => format!("its second pass, job {second}"),
            (0, None, Some(first)) => format!("its first pass, job {first}"),
            (0, None, None) => "the records to recount are being drawn".to_owned(),
            (1, ..) if n_cases > 0 => {
                "1 span to be counted again by another name, as its counts differ".to_owned()
            }
            (1, ..) => "1 span to be counted again by another name".to_owned(),
            _ => {
                let cases =
                    if n_cases > 0 { format!(", of {n_cases} the counts differ") } else { String::new() };
                format!("{n_open} spans to be counted again by other parties{cases}")
            }
        })
    }

    /// Returns whether known counts of the job differ, and no two names agree yet on the right one.
    #[must_use]
    pub fn is_in_dispute(&self) -> bool {
        match self.state {
            JobState::Done => false,
            _ if self.is_provisional() => self.recounting.n_cases > 0 || self.state == JobState::Disputed,
            _ => self.n_disputed > 0,
        }
    }

    /// Describes how many spans had differing counts, and how many of those are decided; `None` if there are none.
    #[must_use]
    pub fn disputes(&self) -> Option<String> {
        let (all, n_open) = (self.n_disputed, self.recounting.n_cases.min(self.n_disputed));
        if all == 0 {
            return None;
        }
        let spans = if all == 1 { "1 span".to_owned() } else { format!("{all} spans") };
        Some(match self.state {
            // Nothing decides differences that are found after the export.
            JobState::Done if self.terms.exported_ms.is_some() => format!("counts of {spans} differed"),
            JobState::Done => format!("counts of {spans} differed: 0 open, {all} decided"),
            _ if self.is_provisional() => {
                format!("counts of {spans} differed: {n_open} open, {} decided", all - n_open)
            }
            _ => format!("counts of {spans} differ: that is decided when all is recorded"),
        })
    }
}

#[cfg(test)]
mod tests {
    use queens_solver::{BoardSize, Method};

    use super::*;
    use crate::id::JobId;

    #[track_caller]
    fn check(
        state: JobState,
        (n_disputed, n_cases, n_open): (u64, u64, u64),
        expected: (Option<&str>, Option<&str>),
    ) {
        let n = BoardSize::new(8).expect("a board size");
        let recounting = Recounting { n_open, n_cases, ..Recounting::default() };
        let new = JobStatus::new(JobId(1), n, Method::Search, state);
        let job = JobStatus { n_disputed, recounting, second: Some(JobId(2)), ..new };
        assert_eq!((job.disputes().as_deref(), job.unchecked().as_deref()), expected);
        let is_found_early = state == JobState::Running && n_disputed > 0;
        assert_eq!(job.is_in_dispute(), n_cases > 0 || is_found_early || state == JobState::Disputed);
    }

    #[test]
    fn what_is_open_and_what_is_decided_are_told_apart() {
        let second = Some("its second pass, job 2");
        check(JobState::Running, (0, 0, 0), (None, None));
        check(
            JobState::Running,
            (1, 0, 0),
            (Some("counts of 1 span differ: that is decided when all is recorded"), None),
        );
        check(JobState::Verifying, (0, 0, 0), (None, second));
        check(JobState::Verifying, (0, 0, 1), (None, Some("1 span to be counted again by another name")));
        let (differ, left) =
            ("counts of 34 spans differed: 3 open, 31 decided", "spans to be counted again by other parties");
        check(
            JobState::Verifying,
            (34, 3, 5),
            (Some(differ), Some(&format!("5 {left}, of 3 the counts differ"))),
        );
        check(
            JobState::Disputed,
            (34, 3, 5),
            (Some(differ), Some(&format!("5 {left}, of 3 the counts differ"))),
        );
        check(
            JobState::Verifying,
            (34, 0, 5),
            (Some("counts of 34 spans differed: 0 open, 34 decided"), Some(&format!("5 {left}"))),
        );
        check(JobState::Done, (34, 0, 0), (Some("counts of 34 spans differed: 0 open, 34 decided"), None));
    }
}
