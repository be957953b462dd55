//! Counts the pairs of an upper and a lower half that fit, for the columns of the upper half.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::geometry::Geometry;
use super::leaf::{Below, Centre, Leaf};
use super::lower::{Group, Lower};
use super::placements::{Half, Parts};
use super::shape::Shape;
use super::upper::{Upper, Weighing};
use super::vectors::{MAX_BLOCKS, Sifted, Vectors};

/// Which queens next to the middle are asked for, by the ranks of their columns: all of them where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Queens {
    pub(super) lower: Option<u8>,
    pub(super) upper: Option<u8>,
    pub(super) second_lower: Option<u8>,
}

/// Solutions and work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Joined {
    pub(super) solutions: u64,
    pub(super) work: u64,
}

/// The words of each list that are left by some lower queens.
#[derive(Debug, Default)]
struct Level {
    words: Vec<u64>,
    lists: Vec<Range<usize>>,
    /// For each first upper queen, the words that weigh one.
    equal: Vec<Vec<u64>>,
}

/// Joins halves.
#[derive(Debug)]
pub(super) struct Join<V> {
    vectors: V,
    geometry: Geometry,
    shape: Shape,
    whole: bool,
    upper_half: Half,
    lower_half: Half,
    upper_parts: Parts,
    lower_parts: Parts,
    upper: Upper,
    lower: Lower,
    weighing: Weighing,
    levels: [Level; 2],
    sifted: Sifted,
    leaf: Leaf,
    rooms: [Vec<u64>; 8],
    one: Vec<super::lines::Line>,
    joined: Joined,
}

impl<V: Vectors> Join<V> {
    pub(super) fn new(vectors: V, geometry: Geometry, shape: Shape, whole: bool) -> Self {
        let half = Half::new(geometry, true, 0);
        Self {
            vectors,
            geometry,
            shape,
            whole,
            upper_half: half.clone(),
            lower_half: half,
            upper_parts: Parts::default(),
            lower_parts: Parts::default(),
            upper: Upper::default(),
            lower: Lower::default(),
            weighing: Weighing::Plain,
            levels: Default::default(),
            sifted: Sifted::new(),
            leaf: Leaf::new(shape),
            rooms: Default::default(),
            one: Vec::new(),
            joined: Joined::default(),
        }
    }

    /// Makes the halves for a set of columns of the upper half.
    pub(super) fn take(&mut self, upper: u32) {
        let all = (1_u32 << self.geometry.n) - 1;
        let middle = self.geometry.middle.map_or(0, |middle| 1 << middle);
        self.upper_half = Half::new(self.geometry, true, upper);
        self.lower_half = Half::new(self.geometry, false, all & !upper & !middle);
        self.weighing = Weighing::new(self.geometry, &self.upper_half);
        self.upper_parts.find(&self.upper_half, self.shape.head);
        self.lower_parts.find(&self.lower_half, self.shape.head);
        let (half, parts) = (&self.upper_half, &self.upper_parts);
        self.upper.make(self.vectors, half, parts, self.shape.upper, self.whole);
    }

    /// Counts the pairs with these queens next to the middle.
    pub(super) fn count(&mut self, queens: Queens, stop: &AtomicBool) -> Option<Joined> {
        self.joined = Joined::default();
        for lower in 0..self.geometry.m {
            if queens.lower.is_none_or(|asked| asked == lower) {
                if stop.load(Ordering::Relaxed) {
                    return None;
                }
                self.count_below(lower, queens, stop)?;
            }
        }
        Some(self.joined)
    }

    /// The distances of two columns from the centre, in ascending order.
    fn distances(&self, upper: u8, lower: u8) -> (u8, u8) {
        let a = self.geometry.distance(self.upper_half.columns[usize::from(upper)]);
        let b = self.geometry.distance(self.lower_half.columns[usize::from(lower)]);
        (a.min(b), a.max(b))
    }

    fn count_below(&mut self, lower: u8, queens: Queens, stop: &AtomicBool) -> Option<()> {
        let mut first = vec![lower];
        first.extend(queens.second_lower);
        let split = self.weighing == Weighing::Split;
        let width = self.geometry.width();
        let (half, parts) = (&self.lower_half, &self.lower_parts);
        self.lower.make(self.vectors, half, parts, self.shape, &first, width, split);
        if self.lower.groups.is_empty() {
            return Some(());
        }
        self.filter_first(lower, queens.upper);
        let mut second = None;
        let groups = std::mem::take(&mut self.lower.groups);
        for group in &groups {
            if self.shape.group == 3 && second != Some(group.path[1]) {
                second = Some(group.path[1]);
                self.filter_second(group.path[1]);
            }
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            for block in (0..group.n_blocks).step_by(MAX_BLOCKS) {
                self.join_group(group, block..group.n_blocks.min(block + MAX_BLOCKS), lower);
            }
        }
        self.lower.groups = groups;
        Some(())
    }

    /// Fills the first level: what the first lower queen leaves.
    fn filter_first(&mut self, lower: u8, only: Option<u8>) {
        let mask = self.lower_half.footprint(1, lower);
        let mut level = std::mem::take(&mut self.levels[0]);
        level.words.clear();
        level.lists.clear();
        level.equal.resize_with(self.geometry.m.into(), Vec::new);
        level.equal.iter_mut().for_each(Vec::clear);
        let room = &mut self.rooms[0];
        for list in &self.upper.lists {
            let begin = level.words.len();
            let x = list.path[0];
            if list.footprint & mask == 0 && only.is_none_or(|only| only == x) {
                let a = self.geometry.distance(self.upper_half.columns[usize::from(x)]);
                let b = self.geometry.distance(self.lower_half.columns[usize::from(lower)]);
                let (main, equal) = self.weighing.ranges((a.min(b), a.max(b)));
                let parts = &self.upper_parts;
                let words = self.upper.words(self.vectors, parts, list, self.whole, mask, room);
                self.vectors.filter_range(words, mask, &main, &mut level.words);
                for range in equal.iter().filter(|range| !range.is_empty()) {
                    self.vectors.filter_range(words, mask, range, &mut level.equal[usize::from(x)]);
                }
            }
            level.lists.push(begin..level.words.len());
        }
        self.levels[0] = level;
    }

    /// Fills the second level: what the second lower queen leaves of the first.
    fn filter_second(&mut self, rank: u8) {
        let mask = self.lower_half.footprint(2, rank);
        let [from, to] = &mut self.levels;
        to.words.clear();
        to.lists.clear();
        for (range, list) in from.lists.iter().zip(&self.upper.lists) {
            let begin = to.words.len();
            if list.footprint & mask == 0 && !range.is_empty() {
                self.vectors.filter(&from.words[range.clone()], mask, &mut to.words);
            }
            to.lists.push(begin..to.words.len());
        }
        to.equal.resize_with(from.equal.len(), Vec::new);
        for (words, to) in from.equal.iter().zip(&mut to.equal) {
            to.clear();
            self.vectors.filter(words, mask, to);
        }
    }

    /// Joins all upper placements with those of some blocks of a group.
    fn join_group(&mut self, group: &Group, blocks: Range<usize>, lower: u8) {
        let row = self.shape.group;
        let mask = self.lower_half.footprint(row, group.path[usize::from(row - 1)]);
        let second = if row == 2 { 0 } else { self.lower_half.footprint(2, group.path[1]) };
        let mut words = std::mem::take(&mut self.rooms[1]);
        let split = self.weighing == Weighing::Split;
        let weight = if self.weighing == Weighing::Plain { 1 } else { 2 };
        let lists = std::mem::take(&mut self.upper.lists);
        let level = std::mem::take(&mut self.levels[usize::from(row) - 2]);
        let mut sifted = std::mem::take(&mut self.sifted);
        let lower_lists = std::mem::take(&mut self.lower);
        let mut leaf_words = 0_u64;
        let mut i = 0;
        while i < lists.len() {
            // Lists with the same two first queens.
            let same = lists[i..].iter().take_while(|list| list.path[..2] == lists[i].path[..2]).count();
            let (pair_lists, ranges) = (&lists[i..i + same], &level.lists[i..i + same]);
            i += same;
            let two = self.upper_half.footprint(1, pair_lists[0].path[0])
                | self.upper_half.footprint(2, pair_lists[0].path[1]);
            if two & (mask_of(row, mask, second)) != 0 {
                continue;
            }
            let distances = self.distances(pair_lists[0].path[0], lower);
            let one = if split {
                lower_lists.rows_from(group, distances.0)
            } else {
                lower_lists.present(group)
            };
            let centre = if split { Centre::Greater(distances.0, distances.1) } else { Centre::Any };
            let (mut n_upper, mut n_lower) = (0, None);
            for (list, range) in pair_lists.iter().zip(ranges) {
                if range.is_empty() {
                    continue;
                }
                words.clear();
                if list.footprint & mask == 0 {
                    self.vectors.filter(&level.words[range.clone()], mask, &mut words);
                }
                n_upper += if row == 2 { words.len() } else { range.len() } as u64;
                if words.is_empty() {
                    continue;
                }
                self.vectors.sift(lower_lists.sieve(group, blocks.clone(), &list.planes, one), &mut sifted);
                if self.shape.upper == 2 {
                    n_lower = Some(sifted.len as u64);
                }
                if sifted.len > 0 {
                    let joined = self.descend(&words, &lower_lists, group, &blocks, &sifted, centre);
                    self.joined.solutions += weight * joined;
                }
            }
            if n_upper > 0 {
                let n_lower = n_lower.unwrap_or_else(|| {
                    let planes: Vec<u8> = (0..64).filter(|&plane| two >> plane & 1 == 1).collect();
                    self.vectors.count_sifted(lower_lists.sieve(group, blocks.clone(), &planes, one))
                });
                leaf_words += n_upper * n_lower;
            }
        }
        self.joined.work += leaf_words;
        for x in 0..self.geometry.m {
            let equal = &level.equal[usize::from(x)];
            let footprint = self.upper_half.footprint(1, x);
            if equal.is_empty() || footprint & mask_of(row, mask, second) != 0 {
                continue;
            }
            words.clear();
            self.vectors.filter(equal, mask, &mut words);
            if words.is_empty() {
                continue;
            }
            let (near, far) = self.distances(x, lower);
            let mut one = std::mem::take(&mut self.one);
            let (one_of, centre) = if split {
                one.clear();
                let from = |row: u8| lower_lists.rows_from(group, row).iter();
                one.extend(from(near).zip(from(near + 1)).map(|(a, b)| a.zip(*b, |a, b| a & !b)));
                for (one, (a, b)) in one.iter_mut().zip(from(far).zip(from(far + 1))) {
                    *one = one.zip(a.zip(*b, |a, b| a & !b), |a, b| a | b);
                }
                (&one[..], Centre::Equal(near, far))
            } else {
                (lower_lists.present(group), Centre::Any)
            };
            let planes: Vec<u8> = (0..64).filter(|&plane| footprint >> plane & 1 == 1).collect();
            self.vectors.sift(lower_lists.sieve(group, blocks.clone(), &planes, one_of), &mut sifted);
            if sifted.len > 0 {
                self.joined.solutions +=
                    self.descend(&words, &lower_lists, group, &blocks, &sifted, centre);
            }
            self.one = one;
        }
        self.upper.lists = lists;
        self.levels[usize::from(row) - 2] = level;
        self.sifted = sifted;
        self.lower = lower_lists;
        self.rooms[1] = words;
    }

    /// Fixes the lower queens up to those of a leaf, and joins there.
    fn descend(
        &mut self,
        words: &[u64],
        lower: &Lower,
        group: &Group,
        blocks: &Range<usize>,
        sifted: &Sifted,
        centre: Centre,
    ) -> u64 {
        let mut path = group.path;
        let base = 512 * blocks.start;
        let below = Below {
            half: &self.lower_half,
            lower,
            first: group.nodes.start,
            last: group.nodes.end,
            path: &[],
            codes: lower.codes(group, blocks.start),
            sifted,
            base,
            looked_at: 512 * blocks.len(),
            centre,
        };
        if self.shape.leaf == self.shape.group {
            return self.leaf.join(self.vectors, words, &Below { path: &path, ..below });
        }
        let mut sum = 0;
        let mut at = group.nodes.start;
        while at < group.nodes.end {
            let node = lower.nodes[at];
            let (from, to) = below.sifted(node.start, node.end);
            let next = node.next as usize;
            if from == to {
                at = next;
                continue;
            }
            path[usize::from(node.row - 1)] = node.rank;
            let depth = usize::from(node.row - self.shape.group);
            let mask = self.lower_half.footprint(node.row, node.rank);
            let (above, here) = self.rooms[1..].split_at_mut(depth);
            let (from, to) = (if depth == 1 { words } else { &above[depth - 1][..] }, &mut here[0]);
            to.clear();
            self.vectors.filter(from, mask, to);
            if to.is_empty() {
                at = next;
                continue;
            }
            if node.row == self.shape.leaf {
                let below = Below { path: &path, first: at + usize::from(self.shape.run > self.shape.leaf), last: next, ..below };
                sum += self.leaf.join(self.vectors, &to[..], &below);
                at = next;
            } else {
                at += 1;
            }
        }
        sum
    }

    /// The memory it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        let words = |level: &Level| level.words.capacity() + level.equal.iter().map(Vec::capacity).sum::<usize>();
        self.upper.memory() + self.lower.memory() + 8 * self.levels.iter().map(words).sum::<usize>()
    }
}

fn mask_of(row: u8, mask: u64, second: u64) -> u64 {
    if row == 2 { mask } else { second }
}
