//! The parts that a board is cut into, by either method.

use crate::board::{BoardSize, Square};
use crate::cross::Cross;
use crate::halves::{HalvesPart, parts_in_lexicographic_order};
use crate::method::Method;
use crate::subproblems::Subproblems;
use crate::symmetry::Symmetry;

/// One of the pieces of a board that a plan lists.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// The completions of a cross and of its images.
    Cross(Cross),
    /// The halves of which some columns are known, and their images.
    Halves(HalvesPart),
}

impl Part {
    /// How many solutions each one stands for that is counted in this part.
    #[must_use]
    pub const fn weight(&self) -> u8 {
        match self {
            Self::Cross(cross) => cross.weight(),
            Self::Halves(halves) => halves.weight(),
        }
    }

    /// The queens that all of its subproblems have, on the image that is counted, top to bottom.
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

    /// Its subproblems, as every plan numbers them. A cross is counted on one of its images; halves have the identity.
    #[must_use]
    pub fn subproblems(&self, image: Symmetry) -> Subproblems {
        match self {
            Self::Cross(cross) => cross.subproblems(image),
            Self::Halves(halves) => Subproblems::of_halves(*halves),
        }
    }
}

/// The parts of a board of size `n` in the order of every plan for it: a part's number in a [`Span`](crate::Span) is
/// its place here.
///
/// The order is a walk through the lexicographic one with a stride near the golden section. Neighbours in
/// lexicographic order are alike in work; scattered, any first part of a job is an even sample of the whole, so that
/// what was measured so far tells what is left.
#[must_use]
pub fn parts_in_counting_order(n: BoardSize, method: Method) -> Vec<Part> {
    match method {
        Method::Search => crosses_in_counting_order(n).into_iter().map(Part::Cross).collect(),
        Method::Halves => halves_in_counting_order(n).into_iter().map(Part::Halves).collect(),
    }
}

/// The same for the crosses of the search.
#[must_use]
pub fn crosses_in_counting_order(n: BoardSize) -> Vec<Cross> {
    scattered(&Cross::all(n)).collect()
}

/// The same for halves.
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
