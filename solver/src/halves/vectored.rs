//! Which code joins the halves of a subproblem: vectors where the processor has them and the board is large enough.

use std::sync::atomic::AtomicBool;

use crate::halves::avx512::Avx512;
use crate::halves::columns::Middle;
use crate::halves::join::{Join, Joined};
use crate::halves::parts::Subproblem;
use crate::halves::shape::Shape;
use crate::kernel::Kernel;

/// What joins by vectors, with the lists of the last subproblem.
#[derive(Debug, Default)]
pub(crate) struct Vectored(Option<Joiner>);

#[derive(Debug)]
enum Joiner {
    Avx512(Box<Join<Avx512>>),
}

/// A copy begins without lists.
impl Clone for Vectored {
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl Vectored {
    /// Makes ready for a board; whether a kernel joins by vectors there.
    pub(crate) fn serves(&mut self, kernel: Kernel, middle: Middle) -> bool {
        if kernel == Kernel::Portable || !Shape::is_for(middle.n()) {
            return false;
        }
        match (&self.0, Avx512::detect()) {
            (Some(Joiner::Avx512(_)), _) if kernel == Kernel::Avx512 => true,
            (_, Some(vectors)) if kernel == Kernel::Avx512 => {
                self.0 = Some(Joiner::Avx512(Box::new(Join::new(vectors, middle))));
                true
            }
            _ => false,
        }
    }

    /// Counts the pairs of a subproblem on a board it [serves](Self::serves); `None` if it was stopped.
    pub(crate) fn count(&mut self, subproblem: &Subproblem, stop: &AtomicBool) -> Option<Joined> {
        match self.0.as_mut()? {
            Joiner::Avx512(join) => join.count(subproblem, stop),
        }
    }
}
