//! What is agreed about a job besides its board.

use clap::Args;
use queens_messages::{Crosses, Priority, Share, Submission};
use queens_solver::{BoardSize, Method};

/// From here on a per cent of the work is counted again unless somebody says otherwise.
const RECOUNTED_FROM: u8 = 20;

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct TermsArgs {
    /// Count only these crosses of the plan (parts, by halves), such as 0..100, the end left out
    #[arg(long, env = "QUEENS_CROSSES", value_name = "A..B")]
    crosses: Option<Crosses>,

    /// Have this share of the work counted again by other workers, in per cent: 0 to 100, and 1 from n = 20 on if not
    /// given
    #[arg(long, env = "QUEENS_RECOUNT", value_name = "P")]
    recount: Option<Share>,
}

impl TermsArgs {
    /// What is asked for on these terms.
    pub(crate) fn submission(&self, n: BoardSize, method: Method, priority: Priority) -> Submission {
        let recount = if n.get() >= RECOUNTED_FROM { Share::PERCENT } else { Share::NOTHING };
        Submission {
            n,
            method,
            priority,
            crosses: self.crosses,
            recount: self.recount.unwrap_or(recount),
            second_pass: None,
        }
    }
}
