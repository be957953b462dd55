//! Which code joins the halves of a subproblem: vectors where the processor has them and the board is large enough.

use std::sync::atomic::AtomicBool;

use crate::halves::avx2::Avx2;
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
    Avx2(Box<Join<Avx2>>),
}

/// A copy begins without lists.
impl Clone for Vectored {
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl Vectored {
    /// Makes ready for a board; whether a kernel joins by vectors there.
    ///
    /// The AVX-512 kernel joins by AVX2 where the processor lacks what the join needs beyond what the search does.
    pub(crate) fn serves(&mut self, kernel: Kernel, middle: Middle) -> bool {
        if kernel == Kernel::Portable || !Shape::is_for(middle.n()) {
            return false;
        }
        let avx512 = if kernel == Kernel::Avx512 { Avx512::detect() } else { None };
        match (&self.0, avx512, Avx2::detect()) {
            (Some(Joiner::Avx512(_)), Some(_), _) | (Some(Joiner::Avx2(_)), None, _) => {}
            (_, Some(vectors), _) => self.0 = Some(Joiner::Avx512(Box::new(Join::new(vectors, middle)))),
            (_, None, Some(vectors)) => self.0 = Some(Joiner::Avx2(Box::new(Join::new(vectors, middle)))),
            (_, None, None) => return false,
        }
        true
    }

    /// Counts the pairs of a subproblem on a board it [serves](Self::serves); `None` if it was stopped.
    pub(crate) fn count(&mut self, subproblem: &Subproblem, stop: &AtomicBool) -> Option<Joined> {
        match self.0.as_mut()? {
            Joiner::Avx512(join) => join.count(subproblem, stop),
            Joiner::Avx2(join) => join.count(subproblem, stop),
        }
    }
}
