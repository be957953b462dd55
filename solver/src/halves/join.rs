//! The vectored join: counts the pairs of placements that fit, for the columns of a subproblem.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::board::BoardSize;
use crate::halves::columns::{Columns, Middle};
use crate::halves::footprint::Half;
use crate::halves::leaf::{Below, Centre, Leaf};
use crate::halves::lines::{Line, Words};
use crate::halves::lower::{First, Group, Lower};
use crate::halves::parts::{Given, Subproblem};
use crate::halves::placements::{Found, Parts, Path};
use crate::halves::shape::Shape;
use crate::halves::side::{Planes, Side};
use crate::halves::unit::Joined;
use crate::halves::upper::{Level, Upper, Wanted, Weighing};
use crate::halves::vectors::{MAX_BLOCKS, Sieve, Sifted, Vectors};

/// Joins half boards, and keeps the lists of a subproblem as long as the next ones need the same.
#[derive(Debug)]
pub(crate) struct Join<V> {
    vectors: V,
    middle: Middle,
    shape: Shape,
    halves: Option<Halves>,
    found: Found,
    upper_parts: Parts,
    /// Made for the queen of the first row that the heads share.
    lower_parts: Cached<u8, Parts>,
    /// Made for the queen of the first row that the placements share, if they share one.
    upper: Cached<Option<u8>, Upper>,
    /// Made for the first rows that all placements share, and for the upper queen that attacks none of their heads.
    lower: Cached<(u8, Option<u8>, Option<u8>), Lower>,
    /// Made for the first lower queen, and for the first upper queen if there is only one.
    level: Cached<(u8, Option<u8>), Level>,
    next_level: Level,
    work: Work,
}

/// A value that is kept as long as it is asked for with the same key.
#[derive(Debug)]
struct Cached<K, V> {
    /// `None` if the value is out of date.
    key: Option<K>,
    value: V,
}

impl<K: PartialEq, V: Default> Cached<K, V> {
    fn new() -> Self {
        Self { key: None, value: V::default() }
    }

    /// Returns the value of a key. If it was made for another one, makes it again; `None` if that was stopped.
    fn get(&mut self, key: K, make: impl FnOnce(&mut V) -> Option<()>) -> Option<&mut V> {
        if self.key.as_ref() != Some(&key) {
            self.key = None;
            make(&mut self.value)?;
            self.key = Some(key);
        }
        Some(&mut self.value)
    }

    /// Makes the value again when it is next asked for.
    fn expire(&mut self) {
        self.key = None;
    }
}

/// The columns of both half boards.
#[derive(Debug)]
struct Halves {
    set: Columns,
    upper: Side,
    lower: Side,
    weighing: Weighing,
}

/// Scratch space and result of joining a group.
#[derive(Debug)]
struct Work {
    sifted: Sifted,
    leaf: Leaf,
    /// Words that the lower queens of a group leave, then those that each further row leaves.
    words: [Words; 8],
    room: Words,
    one: Vec<Line>,
    joined: Joined,
}

impl<V: Vectors> Join<V> {
    pub(crate) fn new(vectors: V, middle: Middle) -> Self {
        Self::with_shape(vectors, middle, Shape::of(middle.n()))
    }

    /// Makes a join with another shape than the board's. The counts do not depend on the shape.
    pub(crate) fn with_shape(vectors: V, middle: Middle, shape: Shape) -> Self {
        Self {
            vectors,
            middle,
            shape,
            halves: None,
            found: Found::default(),
            upper_parts: Parts::default(),
            lower_parts: Cached::new(),
            upper: Cached::new(),
            lower: Cached::new(),
            level: Cached::new(),
            next_level: Level::default(),
            work: Work {
                sifted: Sifted::new(),
                leaf: Leaf::new(shape),
                words: Default::default(),
                room: Words::default(),
                one: Vec::new(),
                joined: Joined::default(),
            },
        }
    }

    /// Counts the pairs of a subproblem; `None` if it was stopped.
    pub(crate) fn count(&mut self, subproblem: &Subproblem, stop: &AtomicBool) -> Option<Joined> {
        let halves = match self.halves.take() {
            Some(halves) if halves.set == subproblem.upper => halves,
            _ => self.take(subproblem.upper, subproblem.lower),
        };
        let Given { lower_1, upper_1, lower_2 } = subproblem.given;
        // A fixed queen in a column of the other half board leaves nothing to count.
        let rank = |side: &Side, column: Option<u8>| match column {
            Some(column) => side.rank(column).map(Some),
            None => Some(None),
        };
        let ranks =
            (rank(&halves.lower, lower_1), rank(&halves.upper, upper_1), rank(&halves.lower, lower_2));
        self.work.joined = Joined::default();
        let mut done = Some(());
        if let (Some(lower_1), Some(upper_1), Some(lower_2)) = ranks {
            let all = 0..halves.lower.n_rows();
            for lower in all.filter(|&rank| lower_1.is_none_or(|asked| asked == rank)) {
                done = self.count_below(&halves, lower, lower_2, upper_1, stop);
                if done.is_none() {
                    break;
                }
            }
        }
        self.halves = Some(halves);
        done.map(|()| self.work.joined)
    }

    /// Makes the tails and data that all subproblems with these columns share.
    fn take(&mut self, upper: Columns, lower: Columns) -> Halves {
        self.lower.expire();
        self.level.expire();
        let set = upper;
        let upper = Side::new(self.middle, Half::Upper, upper);
        let lower = Side::new(self.middle, Half::Lower, lower);
        self.upper_parts.find(&upper, self.shape.head, &mut self.found);
        self.lower_parts.value.find(&lower, self.shape.head, &mut self.found);
        self.lower_parts.expire();
        self.upper.expire();
        let weighing = Weighing::new(&upper);
        Halves { set, upper, lower, weighing }
    }

    /// Counts the pairs with this queen in the first lower row, and with the other fixed queens.
    fn count_below(
        &mut self,
        halves: &Halves,
        lower_1: u8,
        lower_2: Option<u8>,
        upper_1: Option<u8>,
        stop: &AtomicBool,
    ) -> Option<()> {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        // Lists of a single second lower queen are not kept for other upper queens. So they may leave out placements
        // that the first upper queen attacks.
        let second = lower_2.filter(|_| !self.shape.keeps_lower);
        let only = upper_1.filter(|_| second.is_some());
        let lower = self.lower.get((lower_1, second, only), |lower| {
            let first = match second {
                Some(lower_2) => Path::of(&[lower_1, lower_2]),
                None => Path::of(&[lower_1]),
            };
            let first = First {
                path: first,
                n_rows: if second.is_some() { 2 } else { 1 },
                attacked: only.map_or(0, |rank| halves.upper.footprint(1, rank)),
                split: halves.weighing == Weighing::Split,
            };
            let parts = self.lower_parts.get(lower_1, |parts| {
                parts.find_heads(&halves.lower, self.shape.head, Some(lower_1));
                Some(())
            })?;
            lower.make(self.vectors, &halves.lower, parts, self.shape, first, stop)
        })?;
        if lower.groups.is_empty() {
            return Some(());
        }
        // Kept placements cover all first queens.
        let wanted = upper_1.filter(|_| !self.shape.keeps_upper);
        let (vectors, shape, parts) = (self.vectors, self.shape, &mut self.upper_parts);
        let upper = &mut self.upper;
        let room = &mut self.work.room;
        let level = self.level.get((lower_1, upper_1), |level| {
            let upper = upper.get(wanted, |upper| {
                parts.find_heads(&halves.upper, shape.head, wanted);
                upper.make(vectors, &halves.upper, parts, shape);
                Some(())
            })?;
            let filling = Filling { vectors, halves, parts, upper, lower: lower_1, only: upper_1 };
            filling.fill(level, room, stop)
        })?;
        let upper = &self.upper.value;
        let mut second = None;
        let asked =
            |group: &&Group| lower_2.is_none_or(|rank| self.shape.group == 1 || rank == group.path[1]);
        for group in lower.groups.iter().filter(asked) {
            let level = if self.shape.group <= 2 {
                &*level
            } else {
                if second != Some(group.path[1]) {
                    second = Some(group.path[1]);
                    let mask = halves.lower.footprint(2, group.path[1]);
                    self.next_level.filter(self.vectors, level, &upper.lists, mask);
                }
                &self.next_level
            };
            for block in (0..group.n_blocks).step_by(MAX_BLOCKS) {
                let blocks = block..group.n_blocks.min(block + MAX_BLOCKS);
                let pieces = Pieces {
                    vectors: self.vectors,
                    shape: self.shape,
                    halves,
                    upper,
                    lower,
                    group,
                    blocks,
                    level,
                };
                pieces.join(&mut self.work, stop)?;
            }
        }
        Some(())
    }

    pub(crate) const fn n(&self) -> BoardSize {
        self.middle.n()
    }

    /// Returns the memory of the lists, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.found.memory()
            + self.upper_parts.memory()
            + self.lower_parts.value.memory()
            + self.upper.value.memory()
            + self.lower.value.memory()
            + self.level.value.memory()
            + self.next_level.memory()
    }
}

impl Halves {
    /// Returns the distances from the centre of two queens of the first rows, in ascending order.
    fn distances(&self, upper: u8, lower: u8) -> (u8, u8) {
        let (a, b) = (self.upper.distance(upper), self.lower.distance(lower));
        (a.min(b), a.max(b))
    }
}

/// What the first level is filled from.
struct Filling<'a, V> {
    vectors: V,
    halves: &'a Halves,
    parts: &'a Parts,
    upper: &'a Upper,
    /// The first lower queen.
    lower: u8,
    /// The only first upper queen, if there is one.
    only: Option<u8>,
}

impl<V: Vectors> Filling<'_, V> {
    /// Fills the first level: the upper placements that the first lower queen does not attack.
    fn fill(&self, level: &mut Level, room: &mut Words, stop: &AtomicBool) -> Option<()> {
        let &Self { vectors, halves, parts, upper, lower, only } = self;
        let mask = halves.lower.footprint(1, lower);
        level.clear(halves.upper.n_rows());
        for list in &upper.lists {
            level.words.end_line();
            let begin = level.words.len();
            let first = list.first;
            if list.footprint & mask == 0 && only.is_none_or(|only| only == first) {
                if stop.load(Ordering::Relaxed) {
                    return None;
                }
                let (main, equal) = halves.weighing.ranges(halves.distances(first, lower));
                let least = if equal[0].is_empty() { main.start } else { equal[0].start };
                let words = upper.words(vectors, parts, list, Wanted { mask, least }, room);
                let to_equal = &mut level.equal[usize::from(first)];
                vectors.divide(words, mask, &main, &equal, &mut level.words, to_equal);
            }
            level.lists.push(begin..level.words.len());
        }
        Some(())
    }
}

/// All upper placements, and some blocks of a lower group.
struct Pieces<'a, V> {
    vectors: V,
    shape: Shape,
    halves: &'a Halves,
    upper: &'a Upper,
    lower: &'a Lower,
    group: &'a Group,
    blocks: Range<usize>,
    level: &'a Level,
}

impl<V: Vectors> Pieces<'_, V> {
    /// Joins them; `None` if it was stopped.
    fn join(&self, work: &mut Work, stop: &AtomicBool) -> Option<()> {
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
