//! What becomes of inputs.

/// What became of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It, or what it was made to be, was taken for what it should be.
    Accepted,
    /// It was not.
    Refused,
}

impl Outcome {
    /// Of something that was accepted or not.
    pub(crate) fn of(is_accepted: bool) -> Self {
        if is_accepted { Self::Accepted } else { Self::Refused }
    }

    /// Of two things of which either may be accepted.
    pub(crate) fn or(self, other: Self) -> Self {
        Self::of([self, other].contains(&Self::Accepted))
    }
}
