//! The parts of a board, by either method, and their order in a plan.

use crate::board::{BoardSize, Square};
use crate::cross::Cross;
use crate::halves::{HalvesPart, parts_in_lexicographic_order};
use crate::method::Method;
use crate::subproblems::Subproblems;
use crate::symmetry::Symmetry;

/// One entry of a plan: a piece of the board.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// The completions of a cross and of its images.
    Cross(Cross),
    /// The half boards that agree on some columns, and their images.
    Halves(HalvesPart),
}

impl Part {
    /// Returns the number of solutions that each counted one stands for.
    #[must_use]
    pub const fn weight(&self) -> u8 {
        match self {
            Self::Cross(cross) => cross.weight(),
            Self::Halves(halves) => halves.weight(),
        }
    }

    /// Returns the queens that all its subproblems share, on the counted image, top to bottom.
    #[must_use]
    pub fn queens(&self, image: Symmetry) -> Vec<Square> {
        match self {
            Self::Cross(cross) => cross.image(image),
            Self::Halves(halves) => {
                let middle = halves.middle_queen();
                middle.map(|column| Square { row: halves.n().get() / 2, column }).into_iter().collect()
            }
        }
    }

    /// Returns its subproblems, as every plan numbers them. `image` is a cross's counted image; half boards have the
    /// identity.
    #[must_use]
    pub fn subproblems(&self, image: Symmetry) -> Subproblems {
        match self {
            Self::Cross(cross) => cross.subproblems(image),
            Self::Halves(halves) => Subproblems::of_halves(*halves),
        }
    }
}

/// Returns the parts of a board of size `n` in the order of every plan for it. A part's number in a
/// [`Span`](crate::Span) is its index here.
///
/// The order walks through the lexicographic one with a stride near the golden section. Lexicographic neighbours have
/// similar work. Scattered, the first parts of a job are an even sample, and measured progress predicts the rest.
#[must_use]
pub fn parts_in_counting_order(n: BoardSize, method: Method) -> Vec<Part> {
    match method {
        Method::Search => crosses_in_counting_order(n).into_iter().map(Part::Cross).collect(),
        Method::Halves => halves_in_counting_order(n).into_iter().map(Part::Halves).collect(),
    }
}

/// Returns the crosses of the search in this order.
#[must_use]
pub fn crosses_in_counting_order(n: BoardSize) -> Vec<Cross> {
    scattered(&Cross::all(n)).collect()
}

/// Returns the parts of the halves method in this order.
#[must_use]
pub(crate) fn halves_in_counting_order(n: BoardSize) -> Vec<HalvesPart> {
    scattered(&parts_in_lexicographic_order(n)).collect()
}

fn scattered<T: Copy>(parts: &[T]) -> impl Iterator<Item = T> {
    let len = parts.len();
    let stride = (len * 618 / 1000..).find(|&stride| gcd(stride, len) <= 1).unwrap_or(1);
    (0..len).map(move |i| parts[i * stride % len])
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
