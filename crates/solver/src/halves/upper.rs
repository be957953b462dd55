//! The placements of the upper half board: in lists with the same first rows, filtered by lower queens.

use std::ops::Range;

use crate::halves::lines::Words;
use crate::halves::placements::{FIRST_CENTRAL, Parts, PlacedHead};
use crate::halves::shape::Shape;
use crate::halves::side::{Planes, Side};
use crate::halves::vectors::Vectors;

/// How transposition weighs pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weighing {
    /// All pairs weigh one.
    Plain,
    /// By the row of the central column's queen, in the upper half board, and the distance of the middle row's queen.
    Middle(u8),
    /// By the rows of both central columns' queens, both in the upper half board.
    Upper,
    /// By the rows of both central columns' queens, one in each half board.
    Split,
}

impl Weighing {
    pub(crate) fn new(upper: &Side) -> Self {
        let middle = upper.middle;
        match middle.queen {
            Some(queen) if middle.is_left() => Self::Middle(middle.distance(queen)),
            Some(_) => Self::Plain,
            None if upper.central().count() == 2 => Self::Upper,
            None => Self::Split,
        }
    }

    /// Returns the range of words that weigh two (or of all words, where all weigh one), and the ranges of those that
    /// weigh one. If each half board has a central queen, the lower half board's words decide the rest.
    pub(crate) fn ranges(self, (near, far): (u8, u8)) -> (Range<u64>, [Range<u64>; 2]) {
        let row = |row: u8| u64::from(row) << FIRST_CENTRAL;
        let none = 0..0;
        match self {
            Self::Plain => (0..u64::MAX, [none.clone(), none]),
            Self::Middle(distance) => (row(distance + 1)..u64::MAX, [row(distance)..row(distance + 1), none]),
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

/// Upper placements with the same queens in the first rows.
#[derive(Clone, Debug)]
pub(crate) struct List {
    /// The rank of the first row's column.
    pub(crate) first: u8,
    /// The footprint of these queens.
    pub(crate) footprint: u64,
    pub(crate) planes: Planes,
    /// The heads of these placements.
    heads: Range<usize>,
    /// The words of these placements, if they are kept.
    words: Range<usize>,
}

/// All placements of the upper half board, or the means to make them.
#[derive(Debug, Default)]
pub(crate) struct Upper {
    pub(crate) lists: Vec<List>,
    words: Words,
    /// Whether `words` holds the words of all lists.
    keeps: bool,
}

/// A request for words of a list; the answer may hold more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Words without these bits.
    pub(crate) mask: u64,
    /// Words that are not less.
    pub(crate) least: u64,
}

impl Upper {
    /// Puts the heads in lists with the same first rows, and makes all words if the shape keeps them.
    pub(crate) fn make<V: Vectors>(&mut self, vectors: V, side: &Side, parts: &Parts, shape: Shape) {
        self.lists.clear();
        self.words.clear();
        self.keeps = shape.keeps_upper;
        let mut begin = 0;
        while let Some(one) = parts.heads.get(begin) {
            let path = one.path.first(shape.upper);
            let n_same = parts.heads[begin..].partition_point(|head| head.path.first(shape.upper) == path);
            let heads = begin..begin + n_same;
            begin = heads.end;
            let footprints = (1..=shape.upper).map(|row| side.footprint(row, one.path.rank(row)));
            let footprint = footprints.fold(0, |all, one| all | one);
            self.words.end_line();
            let first = self.words.len();
            if shape.keeps_upper {
                for head in &parts.heads[heads.clone()] {
                    join(vectors, parts, head, &mut self.words);
                }
            }
            let words = first..self.words.len();
            self.lists.push(List {
                first: one.path.rank(1),
                footprint,
                planes: Planes::of(footprint),
                heads,
                words,
            });
        }
    }

    /// Returns the words of a list: the kept ones, or the wanted ones, made anew in `room`.
    pub(crate) fn words<'a, V: Vectors>(
        &'a self,
        vectors: V,
        parts: &Parts,
        list: &List,
        wanted: Wanted,
        room: &'a mut Words,
    ) -> &'a [u64] {
        let Wanted { mask, least } = wanted;
        if self.keeps {
            return &self.words[list.words.clone()];
        }
        room.clear();
        for head in &parts.heads[list.heads.clone()] {
            let word = head.head.word;
            // The part with the first central queen decides the highest bits; the other part only adds to the word.
            let first = word >> FIRST_CENTRAL;
            if word & mask == 0 && (first == 0 || first >= least >> FIRST_CENTRAL) {
                join(vectors, parts, head, room);
            }
        }
        room
    }

    /// Returns the memory it takes, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.words.memory()
    }
}

fn join<V: Vectors>(vectors: V, parts: &Parts, head: &PlacedHead, to: &mut Words) {
    let shift = head.head.word >> FIRST_CENTRAL != 0;
    vectors.join(parts.bucket(head), &head.head, shift, to);
}

/// The words of each list that some lower queens leave.
#[derive(Debug, Default)]
pub(crate) struct Level {
    pub(crate) words: Words,
    /// The ranges of each list's words that count twice, or of all words where all count once.
    pub(crate) lists: Vec<Range<usize>>,
    /// The words of pairs that may count once, for each first upper queen.
    pub(crate) equal: Vec<Words>,
}

impl Level {
    /// Removes all words, and prepares for `n_first` first upper queens.
    pub(crate) fn clear(&mut self, n_first: u8) {
        self.words.clear();
        self.lists.clear();
        self.equal.resize_with(n_first.into(), Words::default);
        self.equal.iter_mut().for_each(Words::clear);
    }

    /// Fills this level with the words of another level that one more lower queen leaves.
    pub(crate) fn filter<V: Vectors>(&mut self, vectors: V, from: &Self, lists: &[List], mask: u64) {
        self.words.clear();
        self.lists.clear();
        for (range, list) in from.lists.iter().zip(lists) {
            self.words.end_line();
            let begin = self.words.len();
            if list.footprint & mask == 0 && !range.is_empty() {
                vectors.filter(&from.words[range.clone()], mask, &mut self.words);
            }
            self.lists.push(begin..self.words.len());
        }
        self.equal.resize_with(from.equal.len(), Words::default);
        for (words, to) in from.equal.iter().zip(&mut self.equal) {
            to.clear();
            vectors.filter(words, mask, to);
        }
    }

    /// Returns the memory it takes, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.words.memory() + self.equal.iter().map(Words::memory).sum::<usize>()
    }
}
