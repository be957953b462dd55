//! Joins one group of lower placements with all upper placements.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::halves::columns::Columns;
use crate::halves::leaf::{Below, Centre, Leaf};
use crate::halves::lines::{Line, Words};
use crate::halves::lower::{Group, Lower};
use crate::halves::shape::Shape;
use crate::halves::side::{Planes, Side};
use crate::halves::unit::Joined;
use crate::halves::upper::{Level, Upper, Weighing};
use crate::halves::vectors::{Sieve, Sifted, Vectors};

/// The columns of both half boards.
#[derive(Debug)]
pub(super) struct Halves {
    pub(super) set: Columns,
    pub(super) upper: Side,
    pub(super) lower: Side,
    pub(super) weighing: Weighing,
}

impl Halves {
    /// Returns the distances from the centre of two queens of the first rows, in ascending order.
    pub(super) fn distances(&self, upper: u8, lower: u8) -> (u8, u8) {
        let (a, b) = (self.upper.distance(upper), self.lower.distance(lower));
        (a.min(b), a.max(b))
    }
}

/// Scratch space and result of joining a group.
#[derive(Debug)]
pub(super) struct Work {
    sifted: Sifted,
    leaf: Leaf,
    /// Words that the lower queens of a group leave, then those that each further row leaves.
    words: [Words; 8],
    pub(super) room: Words,
    one: Vec<Line>,
    pub(super) joined: Joined,
}

impl Work {
    pub(super) fn new(shape: Shape) -> Self {
        Self {
            sifted: Sifted::new(),
            leaf: Leaf::new(shape),
            words: Default::default(),
            room: Words::default(),
            one: Vec::new(),
            joined: Joined::default(),
        }
    }
}

/// All upper placements, and some blocks of a lower group.
pub(super) struct Pieces<'a, V> {
    pub(super) vectors: V,
    pub(super) shape: Shape,
    pub(super) halves: &'a Halves,
    pub(super) upper: &'a Upper,
    pub(super) lower: &'a Lower,
    pub(super) group: &'a Group,
    pub(super) blocks: Range<usize>,
    pub(super) level: &'a Level,
}

impl<V: Vectors> Pieces<'_, V> {
    /// Joins them; `None` if it was stopped.
    pub(super) fn join(&self, work: &mut Work, stop: &AtomicBool) -> Option<()> {
        let Pieces { shape, halves, level, .. } = self;
        let rank = self.group.path[usize::from(shape.group - 1)];
        let mask = halves.lower.footprint(shape.group, rank);
        let mut next = 0;
        for first in 0..halves.upper.n_rows() {
            // The lists with this queen in the first row.
            let lists = &self.upper.lists[next..];
            let lists = &lists[..lists.iter().take_while(|list| list.first == first).count()];
            let ranges = &level.lists[next..next + lists.len()];
            next += lists.len();
            let footprint = halves.upper.footprint(1, first);
            if footprint & self.near() != 0 {
                continue;
            }
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let distances = halves.distances(first, self.group.path[0]);
            let feet = Planes::of(footprint);
            let (weight, centre) = match halves.weighing {
                Weighing::Plain => (1, Centre::Any),
                Weighing::Middle(_) | Weighing::Upper => (2, Centre::Any),
                Weighing::Split => (2, Centre::Greater(distances.0, distances.1)),
            };
            let one = match centre {
                Centre::Any => self.lower.present(self.group),
                Centre::Greater(near, _) | Centre::Equal(near, _) => self.lower.rows_from(self.group, near),
            };
            let mut n_upper = 0;
            for (list, range) in lists.iter().zip(ranges) {
                let words = &mut work.words[0];
                words.clear();
                if !range.is_empty() && list.footprint & mask == 0 {
                    self.vectors.filter(&level.words[range.clone()], mask, words);
                }
                n_upper += if shape.group == 2 { words.len() } else { range.len() };
                if !words.is_empty() {
                    self.vectors.sift(self.sieve(list.planes.all(), one), &mut work.sifted);
                    let solutions = weight * self.descend(work, centre);
                    work.joined.add(solutions);
                    if shape.group == 1 && work.sifted.len > 0 {
                        let below = self.below(&work.sifted, centre);
                        work.joined.pairs += work.leaf.pairs(&below);
                    }
                }
            }
            if n_upper > 0 && shape.group > 1 {
                let n_lower = self.vectors.count_sifted(self.sieve(feet.all(), one));
                work.joined.pairs += n_upper as u128 * u128::from(n_lower);
            }
            self.join_equal(work, first, mask, distances, &feet);
        }
        Some(())
    }

    /// Joins the pairs of weight one, for upper placements with this queen in the first row.
    fn join_equal(&self, work: &mut Work, first: u8, mask: u64, (near, far): (u8, u8), feet: &Planes) {
        let words = &mut work.words[0];
        words.clear();
        self.vectors.filter(&self.level.equal[usize::from(first)], mask, words);
        if words.is_empty() {
            return;
        }
        let (one, centre) = if self.halves.weighing == Weighing::Split {
            let from = |row: u8| self.lower.rows_from(self.group, row).iter();
            let is = |row| from(row).zip(from(row + 1)).map(|(a, b)| a.zip(*b, |a, b| a & !b));
            work.one.clear();
            work.one.extend(is(near).zip(is(far)).map(|(a, b)| a.zip(b, |a, b| a | b)));
            (&work.one[..], Centre::Equal(near, far))
        } else {
            (self.lower.present(self.group), Centre::Any)
        };
        self.vectors.sift(self.sieve(feet.all(), one), &mut work.sifted);
        let solutions = self.descend(work, centre);
        work.joined.add(solutions);
    }

    /// Returns the footprint of the lower queens that a group shares, of the first two rows at most.
    fn near(&self) -> u64 {
        let rows = 1..=self.shape.group.min(2);
        rows.fold(0, |all, row| all | self.halves.lower.footprint(row, self.group.path[usize::from(row - 1)]))
    }

    fn sieve<'a>(&'a self, zero: &'a [u8], one: &'a [Line]) -> Sieve<'a> {
        self.lower.sieve(self.group, self.blocks.clone(), zero, one)
    }

    /// Returns the lower placements that passed a sieve.
    fn below<'a>(&'a self, sifted: &'a Sifted, centre: Centre) -> Below<'a> {
        let Pieces { group, lower, .. } = *self;
        Below {
            side: &self.halves.lower,
            lower,
            first: group.nodes.start,
            last: group.nodes.end,
            path: &[],
            codes: lower.codes(group, self.blocks.start),
            sifted,
            base: 512 * self.blocks.start,
            looked_at: 512 * self.blocks.len(),
            centre,
        }
    }

    /// Fixes the lower queens down to the leaf's rows, and joins there.
    fn descend(&self, work: &mut Work, centre: Centre) -> u64 {
        let Pieces { vectors, shape, group, lower, .. } = *self;
        let Work { sifted, leaf, words, .. } = work;
        if sifted.len == 0 {
            return 0;
        }
        let mut path = group.path;
        let below = self.below(sifted, centre);
        if shape.leaf == shape.group {
            return leaf.join(vectors, &words[0], &Below { path: &path, ..below });
        }
        let mut sum = 0;
        let mut at = group.nodes.start;
        // Most nodes begin where their predecessor ends, so its rank is reused.
        let mut before = (u32::MAX, 0);
        while at < group.nodes.end {
            let node = lower.nodes[at];
            let next = node.next as usize;
            let from = if node.start == before.0 { before.1 } else { below.n_sifted(node.start) };
            let to = below.n_sifted(node.end);
            before = (node.end, to);
            path[usize::from(node.row - 1)] = node.rank;
            let depth = usize::from(node.row - shape.group);
            let (above, here) = words.split_at_mut(depth);
            let (from_words, to_words) = (&above[depth - 1], &mut here[0]);
            to_words.clear();
            if from < to {
                let mask = self.halves.lower.footprint(node.row, node.rank);
                vectors.filter(from_words, mask, to_words);
            }
            if to_words.is_empty() {
                at = next;
            } else if node.row == shape.leaf {
                let first = at + usize::from(shape.run > shape.leaf);
                sum += leaf.join(vectors, to_words, &Below { path: &path, first, last: next, ..below });
                at = next;
            } else {
                at += 1;
            }
        }
        sum
    }
}
