//! What is agreed about a job besides its board.

use std::str::FromStr;

use clap::Args;
use queens_model::{Crosses, Name, Priority, Share, Submission};
use queens_solver::{BoardSize, InvalidMethod, Method};

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TermsArgs {
    /// Count only these crosses of the plan (parts, by halves), such as 0..100, the end left out
    #[arg(long, env = "QUEENS_CROSSES", value_name = "A..B")]
    crosses: Option<Crosses>,

    /// Have this share of the work counted again by other workers, in per cent: 0 to 100; if not given, 1 from n = 20 on,
    /// unless all workers that are there came with one invitation, and 1 with --recount-by
    #[arg(long, env = "QUEENS_RECOUNT", value_name = "P")]
    recount: Option<Share>,

    #[command(flatten)]
    pub(crate) recount_by: RecountByArgs,

    #[command(flatten)]
    second_pass: SecondPassArgs,
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RecountByArgs {
    /// Have only this party count again, and believe nobody without it: the number or the label of an invitation, or a
    /// worker's name where nobody is asked for an invitation
    #[arg(long, value_name = "PARTY")]
    recount_by: Option<Name>,
}

impl RecountByArgs {
    pub(crate) const fn by(&self) -> Option<&Name> {
        self.recount_by.as_ref()
    }
}

#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct SecondPassArgs {
    /// Have all of it counted a second time: each cross on another image, or by the other METHOD, 'search' or 'halves'
    #[arg(
        long,
        value_name = "METHOD",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "same"
    )]
    second_pass: Option<SecondPass>,
}

/// How something is counted a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SecondPass {
    /// By the method of the first time.
    Same,
    By(Method),
}

impl FromStr for SecondPass {
    type Err = InvalidMethod;

    fn from_str(text: &str) -> Result<Self, InvalidMethod> {
        if text == "same" { Ok(Self::Same) } else { text.parse().map(Self::By) }
    }
}

impl SecondPassArgs {
    /// The method of the second pass over what is counted by `method`, if there is to be one.
    pub(crate) fn method(&self, method: Method) -> Option<Method> {
        self.second_pass.map(|second| match second {
            SecondPass::Same => method,
            SecondPass::By(other) => other,
        })
    }
}

impl TermsArgs {
    /// Whether they name parts of a plan: another board has other parts.
    pub(crate) const fn are_of_one_board(&self) -> bool {
        self.crosses.is_some()
    }

    /// What is asked for on these terms by somebody who was asked before, if need be.
    pub(crate) fn submission(&self, n: BoardSize, method: Method, priority: Priority) -> Submission {
        Submission {
            n,
            method,
            priority,
            crosses: self.crosses,
            recount: self.recount,
            // The coordinator knows who is meant.
            recount_by: None,
            second_pass: self.second_pass.method(method),
            confirmed: true,
        }
    }
}
