//! The placements of the upper half: in lists with the same first queens, filtered by lower queens.

use std::ops::Range;

use super::geometry::Geometry;
use super::placements::{FIRST_CENTRAL, Half, MAX_ROWS, PlacedHead, Parts};
use super::vectors::Vectors;

/// How the symmetry of transposition weighs a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weighing {
    /// All weigh one.
    Plain,
    /// By the row of the queen in the middle column, which is of the upper half, and the distance of the middle row's
    /// queen.
    Middle(u8),
    /// By the rows of both central columns' queens: both are of the upper half.
    Upper,
    /// By the rows of both central columns' queens: each half has one.
    Split,
}

impl Weighing {
    pub(super) fn new(geometry: Geometry, upper: &Half) -> Self {
        match geometry.middle {
            Some(middle) if middle == geometry.m => Self::Plain,
            Some(middle) => Self::Middle(geometry.distance(middle)),
            None if upper.n_central() == 2 => Self::Upper,
            None => Self::Split,
        }
    }

    /// The ranges of words that weigh two (or all there are, where all weigh one), and of those that weigh one. In a
    /// split, the rest is left to the lower half's words.
    pub(super) fn ranges(self, (near, far): (u8, u8)) -> (Range<u64>, [Range<u64>; 2]) {
        let row = |row: u8| u64::from(row) << FIRST_CENTRAL;
        let none = 0..0;
        match self {
            Self::Plain => (0..u64::MAX, [none.clone(), none]),
            Self::Middle(distance) => {
                (row(distance + 1)..u64::MAX, [row(distance)..row(distance + 1), none])
            }
            Self::Upper => {
                let key = u64::from(near << 4 | far);
                let (equal, greater) = (key << 56, (key + 1) << 56);
                (greater..u64::MAX, [equal..greater, none])
            }
            Self::Split => {
                let far = if near == far { none } else { row(far)..row(far + 1) };
                (row(near)..u64::MAX, [row(near)..row(near + 1), far])
            }
        }
    }
}

/// Upper placements with the same first queens.
#[derive(Clone, Debug)]
pub(super) struct List {
    /// The ranks of these queens' columns.
    pub(super) path: [u8; MAX_ROWS],
    /// The bits of these queens' diagonals, and the planes.
    pub(super) footprint: u64,
    pub(super) planes: Vec<u8>,
    /// Heads of these placements.
    heads: Range<usize>,
    /// Words of all of them, where they are at hand.
    words: Range<usize>,
}

/// All placements of the upper half, or what makes them.
#[derive(Debug, Default)]
pub(super) struct Upper {
    pub(super) lists: Vec<List>,
    words: Vec<u64>,
}

impl Upper {
    /// Puts the heads in lists with the same first `rows` queens, and makes all words if `whole`.
    pub(super) fn make<V: Vectors>(&mut self, vectors: V, half: &Half, parts: &Parts, rows: u8, whole: bool) {
        self.lists.clear();
        self.words.clear();
        let depth = usize::from(rows);
        let mut begin = 0;
        while let Some(one) = parts.heads.get(begin) {
            let same = parts.heads[begin..].partition_point(|head| head.path[..depth] == one.path[..depth]);
            let heads = begin..begin + same;
            begin += same;
            let footprint = (1..=rows)
                .map(|row| half.footprint(row, one.path[usize::from(row - 1)]))
                .fold(0, |all, one| all | one);
            let planes = (0..64).filter(|&plane| footprint >> plane & 1 == 1).collect();
            let first = self.words.len();
            if whole {
                join(vectors, parts, &parts.heads[heads.clone()], &mut self.words);
            }
            let words = first..self.words.len();
            self.lists.push(List { path: one.path, footprint, planes, heads, words });
        }
    }

    /// Puts the words of a list into `room` if they are not at hand, without those of heads that a mask attacks, and
    /// returns them.
    pub(super) fn words<'a, V: Vectors>(
        &'a self,
        vectors: V,
        parts: &Parts,
        list: &List,
        whole: bool,
        mask: u64,
        room: &'a mut Vec<u64>,
    ) -> &'a [u64] {
        if whole {
            return &self.words[list.words.clone()];
        }
        room.clear();
        for head in parts.heads[list.heads.clone()].iter().filter(|head| head.head.word & mask == 0) {
            join(vectors, parts, std::slice::from_ref(head), room);
        }
        room
    }

    /// The memory it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        8 * self.words.capacity()
    }
}

fn join<V: Vectors>(vectors: V, parts: &Parts, heads: &[PlacedHead], to: &mut Vec<u64>) {
    for head in heads {
        let shift = head.head.word >> FIRST_CENTRAL != 0;
        vectors.join(parts.bucket(head.left), &head.head, shift, to);
    }
}
