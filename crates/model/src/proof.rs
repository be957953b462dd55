//! The sentence about what a finished count rests on, for `queens status`, `queens check` and the page of a job.

use std::fmt;

use queens_solver::{BoardSize, Method};

use crate::numbers::plural;
use crate::status::{JobState, JobStatus};
use crate::terms::Share;

/// What a finished count rests on. Its text is one sentence.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The size of the board.
    pub n: BoardSize,
    /// The parts that were counted, in words; `None` for the whole board.
    pub parts: Option<String>,
    /// The number of solutions.
    pub solutions: u128,
    /// The number of fundamental solutions, if it is known.
    pub fundamental: Option<u128>,
    /// The comparison with the published count.
    pub comparison: String,
    /// How two complete passes agree; `None` for one pass.
    pub passes: Option<PassAgreement>,
    /// The share of the records that was drawn for a recount.
    pub recount: Share,
    /// The number of records that another party has confirmed.
    pub n_confirmed: u64,
    /// The number of all records; 0 if it is not known.
    pub n_records: u64,
    /// The number of connected parties among whom two may be friends; 0 if that makes no difference.
    pub n_parties: u64,
}

/// How two passes agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PassAgreement {
    /// By one method, on each part.
    EachPart,
    /// By two methods, on the sum.
    BothMethods,
}

impl PassAgreement {
    /// Returns what two methods can agree on.
    #[must_use]
    pub fn of(first: Method, second: Method) -> Self {
        if first == second { Self::EachPart } else { Self::BothMethods }
    }
}

/// The chance of passing that a described lie has at most, unless it is in all records.
const UNNOTICED: f64 = 0.01;

impl Proof {
    /// Describes the recounts, and the smallest lie that passes with a chance of 1 % at most. A lie in s records passes
    /// with (1 - p)^s. For two friends of m parties, p is multiplied by (m - 2) / (m - 1).
    fn recounts(&self) -> String {
        if self.recount == Share::NOTHING {
            let confirmed = match self.n_confirmed {
                0 => "no record".to_owned(),
                n_confirmed => plural(n_confirmed, "record"),
            };
            let hidden = if self.passes.is_none() { ": a false one could have passed" } else { "" };
            return format!("{confirmed} recounted by another party{hidden}");
        }
        if self.n_confirmed == 0 {
            return format!(
                "none of its records was drawn for a recount of {}: a false record would have passed",
                self.recount
            );
        }
        let p = self.recount.fraction();
        let recounted = match self.recount {
            Share::ALL => {
                "all records recounted by another party; no lie of one party would have passed".to_owned()
            }
            share => {
                let (records, chance) = self.lie(p);
                format!(
                    "{share} of the records recounted by another party; a lie of {records} would have passed with {chance}"
                )
            }
        };
        let others = self.n_parties.saturating_sub(1) as f64;
        if self.n_parties < 4 {
            return recounted;
        }
        let (records, chance) = self.lie(p * (others - 1.0) / others);
        format!(
            "{recounted}; one of two friends among the {} connected parties, of {records}, with {chance}",
            self.n_parties
        )
    }

    /// Returns the size of a lie that passes with a chance of 1 % at most, or of the largest one, and its chance, if
    /// each record exposes it with this probability.
    fn lie(&self, exposed: f64) -> (String, String) {
        let logarithm = (-exposed).ln_1p();
        let enough = (UNNOTICED.ln() / logarithm).ceil().max(1.0);
        let n_lies = if self.n_records > 0 { enough.min(self.n_records as f64) } else { enough };
        // Rounded up, so as not to claim too much.
        let chance = ((logarithm * n_lies).exp() * 10_000.0).ceil() / 100.0;
        (plural(n_lies, "record"), format!("{chance} %"))
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, solutions) = (self.n, plural(self.solutions, "solution"));
        match (&self.parts, self.fundamental) {
            (Some(parts), _) => write!(f, "{parts} of n = {n}: {solutions}, and not the rest of the board")?,
            (None, None) => write!(f, "Q({n}) = {solutions}; {}", self.comparison)?,
            (None, Some(fundamental)) => {
                write!(f, "Q({n}) = {solutions}, {fundamental} of them fundamental; {}", self.comparison)?;
            }
        }
        match self.passes {
            None => {}
            Some(PassAgreement::EachPart) => write!(f, "; both passes agree on each part")?,
            Some(PassAgreement::BothMethods) => write!(f, "; both methods agree")?,
        }
        write!(f, "; {}", self.recounts())
    }
}

impl JobStatus {
    /// Returns what the count rests on; `None` until the job is done.
    #[must_use]
    pub fn proof(&self) -> Option<Proof> {
        if self.state != JobState::Done {
            return None;
        }
        // Without friends, it makes no difference how many parties there are.
        let n_parties = if self.terms.recount_by.is_some() { 0 } else { self.recounting.n_parties };
        Some(Proof {
            n: self.n,
            parts: self.part(),
            solutions: self.progress.solutions,
            fundamental: self.fundamental,
            comparison: self.comparison(),
            passes: self.other_method.map(|other| PassAgreement::of(self.method, other)),
            recount: self.terms.recount,
            n_confirmed: self.n_verified,
            n_records: self.recounting.n_records,
            n_parties,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::JobId;

    fn proof() -> Proof {
        let n = BoardSize::new(8).expect("a board size");
        let mut job = JobStatus::new(JobId(1), n, Method::Search, JobState::Done);
        job.progress.solutions = 92;
        job.proof().expect("it is done")
    }

    #[track_caller]
    fn check((ppm, n_confirmed, n_records, n_parties): (u32, u64, u64, u64), expected: &str) {
        let recount = Share::of_ppm(ppm).expect("a share");
        let found = Proof { recount, n_confirmed, n_records, n_parties, ..proof() }.to_string();
        let expected = format!("Q(8) = 92 solutions; agrees with the published count; {expected}");
        assert_eq!(found, expected);
    }

    #[test]
    fn what_a_share_is_worth_is_said_with_numbers() {
        check((0, 0, 9, 4), "no record recounted by another party: a false one could have passed");
        check((0, 3, 9, 4), "3 records recounted by another party: a false one could have passed");
        check(
            (10_000, 0, 9, 4),
            "none of its records was drawn for a recount of 1 %: a false record would have passed",
        );
        let of_10 = "10 % of the records recounted by another party; a lie of 44 records would have passed with 0.97 %";
        check((100_000, 7, 0, 0), of_10);
        check((100_000, 7, 1000, 3), of_10);
        let friends = "; one of two friends among the 4 connected parties, of 67 records, with 0.99 %";
        check((100_000, 7, 1000, 4), &format!("{of_10}{friends}"));
        check(
            (10_000, 1, 40, 0),
            "1 % of the records recounted by another party; a lie of 40 records would have passed with 66.9 %",
        );
        check(
            (1_000_000, 5, 5, 5),
            "all records recounted by another party; no lie of one party would have passed; one of two friends among the \
             5 connected parties, of 4 records, with 0.4 %",
        );
    }

    #[test]
    fn the_passes_and_the_parts_are_said() {
        let of = |passes| Proof { passes: Some(passes), fundamental: Some(12), ..proof() }.to_string();
        let count = "Q(8) = 92 solutions, 12 of them fundamental; agrees with the published count";
        let recounts = "no record recounted by another party";
        assert_eq!(
            of(PassAgreement::of(Method::Search, Method::Halves)),
            format!("{count}; both methods agree; {recounts}")
        );
        let each = of(PassAgreement::of(Method::Search, Method::Search));
        assert_eq!(each, format!("{count}; both passes agree on each part; {recounts}"));
        let parts = Proof { parts: Some("parts 3..7 of 12".to_owned()), ..proof() }.to_string();
        assert!(
            parts.starts_with("parts 3..7 of 12 of n = 8: 92 solutions, and not the rest of the board; no "),
            "{parts}"
        );
    }
}
