//! Terms of a job besides its board: parts, recounts, and a second pass.

use std::str::FromStr;

use clap::Args;
use queens_model::{Name, PartRange, Priority, Share, Submission};
use queens_solver::{BoardSize, InvalidMethod, Method};

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TermsArgs {
    /// Count only these parts of the plan, such as 0..100, without the end
    #[arg(long = "parts", env = "QUEENS_PARTS", value_name = "A..B")]
    pub(crate) part_range: Option<PartRange>,

    /// Have this percentage of the work recounted by other parties: 0 to 100. By default 1 from n = 20 on, and with
    /// --recount-by
    #[arg(long, env = "QUEENS_RECOUNT", value_name = "PERCENT")]
    recount: Option<Share>,

    #[command(flatten)]
    pub(crate) recount_by: RecountByArgs,

    #[command(flatten)]
    second_pass: SecondPassArgs,
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RecountByArgs {
    /// Have only this party recount, and accept no count without it: an invitation's number or label, or a worker's
    /// name if no invitation is required
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
    /// Count everything a second time: each part on another image, or by the other METHOD, 'search' or 'halves'
    #[arg(
        long,
        value_name = "METHOD",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "same"
    )]
    second_pass: Option<SecondPass>,
}

/// How the second pass counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SecondPass {
    /// By the method of the first pass.
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
    /// Returns the method of the second pass over a job by `method`, if there is one.
    pub(crate) fn method(&self, method: Method) -> Option<Method> {
        self.second_pass.map(|second| match second {
            SecondPass::Same => method,
            SecondPass::By(other) => other,
        })
    }
}

impl TermsArgs {
    /// Returns the submission of a job on these terms. The user has confirmed the cost, if necessary.
    pub(crate) fn submission(&self, n: BoardSize, method: Method, priority: Priority) -> Submission {
        Submission {
            n,
            method,
            priority,
            part_range: self.part_range,
            recount: self.recount,
            // The coordinator resolves the party.
            recount_by: None,
            second_pass: self.second_pass.method(method),
            confirmed: true,
        }
    }
}
