//! Selects the code that joins a subproblem: the vectors that the kernel and the processor have.

use std::sync::atomic::AtomicBool;

use crate::halves::columns::Middle;
use crate::halves::join::{Join, Joiner};
use crate::halves::parts::Subproblem;
use crate::halves::plain::Plain;
use crate::halves::shape::{Shape, most_memory};
use crate::halves::unit::Joined;
#[cfg(target_arch = "x86_64")]
use crate::halves::{avx2::Avx2, avx512::Avx512};
use crate::kernel::Kernel;

/// The fast join with the lists of the last subproblem, and the kernel that it is for.
#[derive(Debug, Default)]
pub(crate) struct Vectored(Option<(Kernel, Box<dyn Joiner>)>);

/// Clones without the lists.
impl Clone for Vectored {
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl Vectored {
    /// Prepares for a board; returns whether it has a fast join.
    pub(crate) fn serves(&mut self, kernel: Kernel, middle: Middle) -> bool {
        if !Shape::is_for(middle.n) {
            return false;
        }
        if self.0.as_ref().is_none_or(|(of, _)| *of != kernel) {
            self.0 = Some((kernel, joiner(kernel, middle)));
        }
        true
    }

    /// Counts the pairs of a subproblem on a board it [serves](Self::serves); `None` if it was stopped.
    ///
    /// Lists above the [memory limit](most_memory) are dropped afterwards. No known set of columns has such.
    pub(crate) fn count(&mut self, subproblem: &Subproblem, stop: &AtomicBool) -> Option<Joined> {
        let (_, joiner) = self.0.as_mut()?;
        let joined = joiner.count(subproblem, stop);
        if most_memory(joiner.n()).is_none_or(|most| joiner.memory() > most) {
            self.0 = None;
        }
        joined
    }
}

/// Makes the join of a kernel. The AVX-512 kernel joins by AVX2 if the processor lacks instructions that only the join
/// needs.
fn joiner(kernel: Kernel, middle: Middle) -> Box<dyn Joiner> {
    #[cfg(target_arch = "x86_64")]
    {
        if kernel == Kernel::Avx512
            && let Some(vectors) = Avx512::detect()
        {
            return Box::new(Join::new(vectors, middle));
        }
        if matches!(kernel, Kernel::Avx512 | Kernel::Avx2)
            && let Some(vectors) = Avx2::detect()
        {
            return Box::new(Join::new(vectors, middle));
        }
    }
    _ = kernel;
    Box::new(Join::new(Plain, middle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BoardSize;
    use crate::halves::columns::members;
    use crate::halves::lines::Line;
    use crate::halves::parts::{Given, HalvesPart, parts_in_lexicographic_order};
    use crate::halves::spread::Spread;
    use crate::halves::vectors::Vectors;
    use crate::halves::vectors::{LINES, Tables};
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
        let spread = |(part, rank): &(HalvesPart, u64)| spread.of_set(part.middle, part.set(*rank));
        let (part, rank) = sets.max_by(|a, b| spread(a).total_cmp(&spread(b))).expect("some");
        let subproblems = (0..part.n_given()).map(|given| part.subproblem(rank * part.n_given() + given));
        let mut filled = subproblems.filter(|subproblem| {
            let join = &mut Vectored::default();
            join.serves(Kernel::best(), part.middle);
            let counted = join.count(subproblem, &AtomicBool::new(false));
            subproblem.factor > 0 && counted.is_some_and(|joined| joined.pairs > 0)
        });
        (part, filled.next().expect("one that holds pairs"))
    }

    /// Returns the memory of the lists that are kept, in bytes.
    fn memory(vectored: &Vectored) -> usize {
        vectored.0.as_ref().map_or(0, |(_, joiner)| joiner.memory())
    }

    /// Checks that lists keep to the memory limit, and that a stopped join counts the same afterwards.
    #[track_caller]
    fn check(n: u8) {
        let (never, now) = (AtomicBool::new(false), AtomicBool::new(true));
        let n = BoardSize::new(n).expect("a board size");
        let (part, subproblem) = wide(n);
        // The 128-bit kernel has the join of the portable one.
        let kernels = Kernel::ALL.into_iter().filter(|&kernel| kernel != Kernel::V128);
        for kernel in kernels.filter(|kernel| kernel.is_available()) {
            let mut vectored = Vectored::default();
            assert!(vectored.serves(kernel, part.middle));
            assert_eq!(vectored.count(&subproblem, &now), None);
            let counted = vectored.count(&subproblem, &never);
            assert!(counted.is_some());
            assert!(memory(&vectored) > 0, "n = {n}, {kernel}: the lists were too large to be kept");
            assert_eq!(memory(&vectored.clone()), 0);
            assert_eq!(vectored.count(&subproblem, &now), None);
            assert_eq!(vectored.count(&subproblem, &never), counted);
        }
    }

    /// Whether large boards are tested, which takes a minute.
    fn is_long() -> bool {
        std::env::var_os("QUEENS_HALVES").is_some()
    }

    #[test]
    fn lists_are_as_small_as_is_said() {
        let largest = if is_long() { &[22, 24, 26, 27, 28][..] } else { &[24] };
        [20].iter().chain(largest).for_each(|&n| check(n));
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
        let (boards, n_each) = if is_long() { (12..=18, 4) } else { (13..=16, 2) };
        for n in boards {
            let n = BoardSize::new(n).expect("a board size");
            let parts = parts_in_lexicographic_order(n);
            for _ in 0..n_each {
                let part = parts[random.below(parts.len())];
                let number = random.below(usize::try_from(part.n_subproblems()).expect("64 bits"));
                let subproblem = part.subproblem(number as u64);
                let middle = part.middle;
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

    /// Checks that counters of some bits do not overflow where every placement fits.
    fn check_full_lines<V: Vectors>(vectors: V) {
        let full = [Line::ALL; LINES];
        for n_lines in 1..=LINES {
            let tables = Tables { pairs: [&full; 4] };
            let counted = vectors.steps(tables, &[0], &[0; 1000], &full, n_lines);
            assert_eq!(counted, 1000 * 512 * n_lines as u64, "{n_lines} lines");
        }
    }

    #[test]
    fn no_counter_overflows_where_every_placement_fits() {
        #[cfg(target_arch = "x86_64")]
        {
            Avx512::detect().into_iter().for_each(check_full_lines);
            Avx2::detect().into_iter().for_each(check_full_lines);
        }
        check_full_lines(Plain);
    }

    #[test]
    fn any_shape_and_digits_count_the_same() {
        #[cfg(target_arch = "x86_64")]
        {
            Avx512::detect().into_iter().for_each(check_shapes);
            Avx2::detect().into_iter().for_each(check_shapes);
        }
        check_shapes(Plain);
    }
}
