//! Selects the code that joins a subproblem: vectors if the processor has them and the board is large enough.

use std::sync::atomic::AtomicBool;

use crate::halves::avx2::Avx2;
use crate::halves::avx512::Avx512;
use crate::halves::columns::Middle;
use crate::halves::join::Join;
use crate::halves::memory::most_memory;
use crate::halves::parts::Subproblem;
use crate::halves::shape::Shape;
use crate::halves::unit::Joined;
use crate::kernel::Kernel;

/// The vectored join with the lists of the last subproblem.
#[derive(Debug, Default)]
pub(crate) struct Vectored(Option<Joiner>);

#[derive(Debug)]
enum Joiner {
    Avx512(Box<Join<Avx512>>),
    Avx2(Box<Join<Avx2>>),
}

/// Clones without the lists.
impl Clone for Vectored {
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl Vectored {
    /// Prepares for a board; returns whether a kernel has a vectored join there.
    ///
    /// The AVX-512 kernel joins by AVX2 if the processor lacks instructions that only the join needs.
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
    ///
    /// Lists above the [memory limit](most_memory) are dropped afterwards. No known set of columns has such.
    pub(crate) fn count(&mut self, subproblem: &Subproblem, stop: &AtomicBool) -> Option<Joined> {
        let (joined, n) = match self.0.as_mut()? {
            Joiner::Avx512(join) => (join.count(subproblem, stop), join.n()),
            Joiner::Avx2(join) => (join.count(subproblem, stop), join.n()),
        };
        if most_memory(n).is_none_or(|most| self.memory() > most) {
            self.0 = None;
        }
        joined
    }

    /// Returns the memory of its lists, in bytes.
    fn memory(&self) -> usize {
        match &self.0 {
            Some(Joiner::Avx512(join)) => join.memory(),
            Some(Joiner::Avx2(join)) => join.memory(),
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::BoardSize;
    use crate::halves::columns::members;
    use crate::halves::parts::{Given, HalvesPart, parts_in_lexicographic_order};
    use crate::halves::spread::Spread;
    use crate::halves::vectors::Vectors;
    use crate::split_mix::SplitMix;

    /// Returns a subproblem with many placements: its columns have the largest spread of some thousands of sets.
    fn wide(n: BoardSize) -> (HalvesPart, Subproblem) {
        let spread = Spread::new(n);
        let parts = parts_in_lexicographic_order(n);
        let mut random = SplitMix::new(u64::from(n.get()));
        let sets = (0..4000).map(|_| {
            let part = parts[random.below(parts.len())];
            (part, random.below(usize::try_from(part.n_sets()).expect("64 bits")) as u64)
        });
        let spread = |(part, rank): &(HalvesPart, u64)| spread.of_set(part.middle(), part.set(*rank));
        let (part, rank) = sets.max_by(|a, b| spread(a).total_cmp(&spread(b))).expect("some");
        let subproblems = (0..part.n_given()).map(|given| part.subproblem(rank * part.n_given() + given));
        let mut filled = subproblems.filter(|subproblem| {
            let join = &mut Vectored::default();
            join.serves(Kernel::best(), part.middle());
            let counted = join.count(subproblem, &AtomicBool::new(false));
            subproblem.factor > 0 && counted.is_some_and(|joined| joined.pairs > 0)
        });
        (part, filled.next().expect("one that holds pairs"))
    }

    /// Checks that lists keep to the memory limit, and that a stopped join counts the same afterwards.
    #[track_caller]
    fn check(n: u8) {
        let (never, now) = (AtomicBool::new(false), AtomicBool::new(true));
        let n = BoardSize::new(n).expect("a board size");
        let (part, subproblem) = wide(n);
        for kernel in [Kernel::Avx512, Kernel::Avx2].into_iter().filter(|kernel| kernel.is_available()) {
            let mut vectored = Vectored::default();
            assert!(vectored.serves(kernel, part.middle()));
            assert_eq!(vectored.count(&subproblem, &now), None);
            let counted = vectored.count(&subproblem, &never);
            assert!(counted.is_some());
            assert!(vectored.memory() > 0, "n = {n}, {kernel}: the lists were too large to be kept");
            assert_eq!(vectored.clone().memory(), 0);
            assert_eq!(vectored.count(&subproblem, &now), None);
            assert_eq!(vectored.count(&subproblem, &never), counted);
        }
    }

    #[test]
    fn lists_of_boards_to_26_are_as_small_as_is_said() {
        for n in [20, 22, 24, 26] {
            check(n);
        }
    }

    #[test]
    fn lists_of_boards_to_28_are_as_small_as_is_said() {
        check(27);
        check(28);
    }

    /// Counts a subproblem's columns by the sum over the first `n_digits` digits.
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

    /// Checks that shapes and digits of large boards count the same on smaller ones.
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
                for (rows, keeps_upper, keeps_lower) in [
                    ((1, 1, 1, 3), true, true),
                    ((1, 1, 1, 5), false, false),
                    ((1, 2, 2, 4), true, true),
                    ((2, 2, 2, 5), true, false),
                    ((2, 2, 3, 4), false, true),
                    ((3, 2, 3, 5), false, false),
                    ((2, 3, 3, 4), true, false),
                    ((3, 3, 4, 5), false, false),
                    ((4, 3, 5, 4), false, true),
                ] {
                    let shape = Shape::with(n.get() / 2, rows, keeps_upper, keeps_lower);
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
