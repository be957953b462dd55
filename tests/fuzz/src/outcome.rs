//! The outcomes of inputs.

/// The outcome of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The target accepted it, or what it was made into.
    Accepted,
    /// The target refused it.
    Refused,
}

impl Outcome {
    /// Returns the outcome of one attempt.
    pub(crate) fn of(is_accepted: bool) -> Self {
        if is_accepted { Self::Accepted } else { Self::Refused }
    }

    /// Returns the outcome of two attempts: accepted if either is.
    pub(crate) fn or(self, other: Self) -> Self {
        Self::of([self, other].contains(&Self::Accepted))
    }
}
