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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::BoardSize;
    use crate::halves::columns::members;
    use crate::halves::parts::{Given, parts_in_lexicographic_order};
    use crate::halves::vectors::Vectors;
    use crate::split_mix::SplitMix;

    const MIB: usize = 1 << 20;

    impl Vectored {
        fn memory(&self) -> usize {
            match &self.0 {
                Some(Joiner::Avx512(join)) => join.memory(),
                Some(Joiner::Avx2(join)) => join.memory(),
                None => 0,
            }
        }
    }

    /// Lists take no more than what machines are asked for; and a stop is heard, after which the same is counted.
    #[track_caller]
    fn check(n: u8, limit: usize) {
        let (never, now) = (AtomicBool::new(false), AtomicBool::new(true));
        let n = BoardSize::new(n).expect("a board size");
        let parts = parts_in_lexicographic_order(n);
        let mut random = SplitMix::new(u64::from(n.get()));
        let (part, subproblem) = loop {
            let part = parts[random.below(parts.len())];
            let number = random.below(usize::try_from(part.n_subproblems()).expect("64 bits"));
            let subproblem = part.subproblem(number as u64);
            if subproblem.factor > 0 {
                break (part, subproblem);
            }
        };
        for kernel in [Kernel::Avx512, Kernel::Avx2].into_iter().filter(|kernel| kernel.is_available()) {
            let mut vectored = Vectored::default();
            assert!(vectored.serves(kernel, part.middle()));
            assert_eq!(vectored.count(&subproblem, &now), None);
            let counted = vectored.count(&subproblem, &never);
            assert!(counted.is_some());
            assert!(vectored.memory() <= limit, "n = {n}, {kernel}: {} bytes", vectored.memory());
            assert_eq!(vectored.clone().memory(), 0);
            assert_eq!(vectored.count(&subproblem, &now), None);
            assert_eq!(vectored.count(&subproblem, &never), counted);
        }
    }

    #[test]
    fn lists_of_boards_to_26_fit_into_256_mib() {
        check(20, 256 * MIB);
        check(24, 256 * MIB);
        check(26, 256 * MIB);
    }

    #[test]
    fn lists_of_boards_to_28_fit_into_512_mib() {
        check(27, 512 * MIB);
        check(28, 512 * MIB);
    }

    /// Counts a subproblem with the upper half's columns for all digits, one after another.
    fn sum<V: Vectors>(join: &mut Join<V>, subproblem: &Subproblem, n_digits: usize) -> Joined {
        let never = AtomicBool::new(false);
        let columns = |set, given: bool| -> Vec<Option<u8>> {
            if given { members(set).map(Some).collect() } else { vec![None] }
        };
        let mut sum = Joined::default();
        for lower_1 in columns(subproblem.lower, n_digits > 0) {
            for upper_1 in columns(subproblem.upper, n_digits > 1) {
                for lower_2 in columns(subproblem.lower, n_digits > 2) {
                    let given = Given { lower_1, upper_1, lower_2 };
                    let one =
                        join.count(&Subproblem { given, ..*subproblem }, &never).expect("nobody stops it");
                    sum.solutions += one.solutions;
                    sum.pairs += one.pairs;
                }
            }
        }
        sum
    }

    /// Shapes and digits that only large boards have count the same on smaller ones.
    fn check_shapes<V: Vectors>(vectors: V) {
        let mut random = SplitMix::new(17);
        for n in [12, 13, 14, 15, 16, 17, 18] {
            let n = BoardSize::new(n).expect("a board size");
            let parts = parts_in_lexicographic_order(n);
            for _ in 0..4 {
                let part = parts[random.below(parts.len())];
                let number = random.below(usize::try_from(part.n_subproblems()).expect("64 bits"));
                let subproblem = part.subproblem(number as u64);
                let middle = part.middle();
                let expected = sum(&mut Join::new(vectors, middle), &subproblem, 0);
                for (rows, keeps_upper) in [
                    ((1, 2, 2, 4), true),
                    ((2, 2, 2, 5), true),
                    ((2, 2, 3, 4), false),
                    ((3, 2, 3, 5), false),
                    ((2, 3, 3, 4), true),
                    ((3, 3, 4, 5), false),
                    ((4, 3, 5, 4), false),
                ] {
                    let shape = Shape::with(n.get() / 2, rows, keeps_upper);
                    let mut join = Join::with_shape(vectors, middle, shape);
                    for n_digits in 0..=3 {
                        let counted = sum(&mut join, &subproblem, n_digits);
                        assert_eq!(counted, expected, "{n:?}, {shape:?}, {n_digits} digits, {subproblem:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn any_shape_and_digits_count_the_same() {
        if let Some(vectors) = Avx512::detect() {
            check_shapes(vectors);
        }
        if let Some(vectors) = Avx2::detect() {
            check_shapes(vectors);
        }
    }
}
