//! The leaf of the join: turns upper placements into bit planes and tests lower ones against them by tables.

use crate::halves::lines::{Line, Lines};
use crate::halves::lower::{Lower, Node, rows_from};
use crate::halves::placements::{FIRST_CENTRAL, RANKED};
use crate::halves::shape::Shape;
use crate::halves::side::{MAX_ROWS, Side};
use crate::halves::vectors::{ENTRY, LANES, LINES, NO_PLANE, PLANES, Sifted, Tables, Vectors};

/// The rows where the upper half board's central queen may stand, given the row of the lower half board's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Centre {
    Any,
    /// Both rows, in ascending order, are greater than these in lexicographic order.
    Greater(u8, u8),
    /// Both rows, in ascending order, are these.
    Equal(u8, u8),
}

impl Centre {
    /// Returns the lanes whose upper central queen goes with a lower central queen in this row.
    fn lanes(self, bits: &[Line; 4], row: u8) -> Line {
        let from = |row: u8| rows_from(bits, row.into());
        let is = |row: u8| from(row).zip(from(row + 1), |a, b| a & !b);
        match self {
            Self::Any => Line::ALL,
            Self::Greater(near, _) if row < near => Line::NONE,
            Self::Greater(near, far) if row == near => from(far + 1),
            Self::Greater(near, far) if row <= far => from(near + 1),
            Self::Greater(near, _) => from(near),
            Self::Equal(near, far) if row == near => is(far),
            Self::Equal(near, far) if row == far => is(near),
            Self::Equal(..) => Line::NONE,
        }
    }
}

/// The lower placements that a leaf joins.
#[derive(Clone, Copy)]
pub(crate) struct Below<'a> {
    pub(crate) side: &'a Side,
    /// The nodes of the group; the leaf takes those from `first` to `last`.
    pub(crate) lower: &'a Lower,
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// The ranks of the columns of the fixed first rows.
    pub(crate) path: &'a [u8],
    /// The codes, and the numbers of the placements that passed the sieve; both start at the same block.
    pub(crate) codes: &'a [u64],
    pub(crate) sifted: &'a Sifted,
    /// The number in its group of that block's first placement, and the number of placements that the sieve tested.
    pub(crate) base: usize,
    pub(crate) looked_at: usize,
    pub(crate) centre: Centre,
}

impl Below<'_> {
    /// Returns the range of the placements that passed, with numbers from `start` to `end` in the group.
    pub(crate) fn sifted(&self, start: u32, end: u32) -> (usize, usize) {
        (self.n_sifted(start), self.n_sifted(end))
    }

    /// Returns how many placements that passed come before a number of the group.
    pub(crate) fn n_sifted(&self, number: u32) -> usize {
        self.sifted.rank((number as usize).saturating_sub(self.base).min(self.looked_at))
    }
}

/// A leaf's bit planes, tables and scratch space.
#[derive(Debug)]
pub(crate) struct Leaf {
    shape: Shape,
    planes: Lines,
    /// For each row that is not fixed, and each rank: the lanes that a queen on that column does not attack.
    singles: Lines,
    tables: Lines,
    feet: Vec<(u8, u8)>,
    ranks: Vec<u8>,
    /// The index of each rank in `ranks`.
    places: [u8; MAX_ROWS],
    /// For each of these ranks, the indices of the ranks that it may neighbour in the next row.
    apart: Vec<u16>,
    /// For each of these ranks: the upper placements that a queen there in the first row not fixed leaves.
    free: Vec<u64>,
    top: [[Line; LINES]; 8],
}

impl Leaf {
    pub(crate) fn new(shape: Shape) -> Self {
        let mut planes = Lines::default();
        planes.need(PLANES * LINES);
        Self {
            shape,
            planes,
            singles: Lines::default(),
            tables: Lines::default(),
            feet: Vec::new(),
            ranks: Vec::new(),
            places: [0; MAX_ROWS],
            apart: Vec::new(),
            free: Vec::new(),
            top: [[Line::NONE; LINES]; 8],
        }
    }

    /// Returns the number of pairs that fit.
    pub(crate) fn join<V: Vectors>(&mut self, vectors: V, words: &[u64], below: &Below<'_>) -> u64 {
        self.look_up(below);
        // Splits into pieces of nearly equal size, so that no small one is left.
        let pieces = words.len().div_ceil(LANES);
        let mut left = words;
        let mut sum = 0;
        for piece in 0..pieces {
            let len = left.len().div_ceil(pieces - piece);
            let (these, others) =
                left.split_at(if pieces == 1 { len } else { len.next_multiple_of(8).min(left.len()) });
            left = others;
            sum += self.piece(vectors, these, below);
        }
        sum
    }

    /// Returns the number of pairs that fit by the first row not fixed, of the upper placements joined last and the
    /// lower ones.
    pub(crate) fn pairs(&self, below: &Below<'_>) -> u128 {
        let nodes = &below.lower.nodes[below.first..below.last];
        let first = nodes.iter().filter(|node| node.row == self.shape.leaf + 1);
        let of_first = |node: &Node| {
            let (from, to) = below.sifted(node.start, node.end);
            let place = usize::from(self.places[usize::from(node.rank)]);
            u128::from(self.free[place]) * (to - from) as u128
        };
        first.map(of_first).sum()
    }

    /// Lists the planes of the rows that are not fixed.
    fn look_up(&mut self, below: &Below<'_>) {
        let Shape { leaf, .. } = self.shape;
        let m = below.side.n_rows();
        self.ranks.clear();
        self.ranks.extend((0..m).filter(|rank| !below.path[..usize::from(leaf)].contains(rank)));
        for (place, &rank) in (0..).zip(&self.ranks) {
            self.places[usize::from(rank)] = place;
        }
        let column = |rank: u8| below.side.columns[usize::from(rank)];
        let is_apart = |a: u8, b: u8| column(a).abs_diff(column(b)) > 1;
        let of = |&a: &u8| {
            (0..).zip(&self.ranks).map(|(place, &b)| u16::from(is_apart(a, b)) << place).sum::<u16>()
        };
        self.apart.clear();
        self.apart.extend(self.ranks.iter().map(of));
        self.free.clear();
        self.free.resize(self.ranks.len(), 0);
        self.feet.clear();
        for row in leaf + 1..=m {
            self.feet.extend(self.ranks.iter().map(|&rank| below.side.feet(row, rank)));
        }
    }

    fn piece<V: Vectors>(&mut self, vectors: V, words: &[u64], below: &Below<'_>) -> u64 {
        let Shape { leaf, run, .. } = self.shape;
        let m = below.side.n_rows();
        let n_lines = words.len().div_ceil(512);
        let n_left = self.ranks.len();
        let split = below.centre != Centre::Any;
        let n_planes = if split { 64 } else { usize::from(below.lower.width()) };
        let mut valid = [Line::NONE; LINES];
        for (line, words) in words.chunks(512).enumerate() {
            vectors.transpose(words, n_planes, &mut self.planes[line..], LINES);
            valid[line] = Line::first(words.len());
        }
        self.planes[usize::from(NO_PLANE) * LINES..].fill(Line::NONE);
        self.singles.need(self.feet.len() * LINES);
        vectors.singles(&self.planes, &self.feet, n_lines, &mut self.singles);
        // Longer groups take these numbers from their lists.
        let frees = if self.shape.group == 1 { &mut self.free[..] } else { &mut [] };
        for (free, singles) in frees.iter_mut().zip(self.singles.chunks(LINES)) {
            let lines = singles.iter().zip(&valid).take(n_lines);
            *free += lines.map(|(single, valid)| single.zip(*valid, |a, b| a & b).count_ones()).sum::<u64>();
        }
        if split {
            self.restrict(below, n_lines, &mut valid);
        }
        let entries = n_left * n_left;
        self.tables.need(4 * entries.max(1) * LINES);
        let n_tables = usize::from(m - run) / 2;
        for table in 0..4 {
            let to = &mut self.tables[table * entries * LINES..];
            if table + n_tables < 4 {
                to[..LINES].fill(Line::ALL);
                continue;
            }
            let row = usize::from(m - RANKED.min(m)) + 2 * table - usize::from(RANKED.saturating_sub(m));
            let first = (row - usize::from(leaf)) * n_left * LINES;
            let (first, second) = self.singles[first..].split_at(n_left * LINES);
            vectors.pairs(first, &second[..n_left * LINES], &self.apart, n_lines, to);
        }
        debug_assert!(entries * ENTRY <= 1 << 16);
        if leaf == run {
            let (from, to) = match below.lower.nodes.get(below.first) {
                Some(node) if below.first < below.last => below.sifted(node.start, node.end),
                _ => (0, below.sifted.len),
            };
            return self.steps(vectors, below, (from, to), &valid, n_lines);
        }
        self.top[0] = valid;
        let mut sum = 0;
        let mut at = below.first;
        // Most nodes begin where their predecessor ends, so its rank is reused.
        let mut before = (u32::MAX, 0);
        while at < below.last {
            let Node { row, rank, start, end, next } = below.lower.nodes[at];
            let from = if start == before.0 { before.1 } else { below.n_sifted(start) };
            let to = below.n_sifted(end);
            before = (end, to);
            if from == to {
                at = next as usize;
                continue;
            }
            at += 1;
            if row <= leaf {
                continue;
            }
            let depth = usize::from(row - leaf);
            let place = usize::from(self.places[usize::from(rank)]);
            let single = &self.singles[((depth - 1) * n_left + place) * LINES..][..LINES];
            let above = self.top[depth - 1];
            let top = std::array::from_fn(|line| above[line].zip(single[line], |a, b| a & b));
            self.top[depth] = top;
            if row == run {
                sum += self.steps(vectors, below, (from, to), &top, n_lines);
            }
        }
        sum
    }

    fn steps<V: Vectors>(
        &self,
        vectors: V,
        below: &Below<'_>,
        (from, to): (usize, usize),
        top: &[Line; LINES],
        n_lines: usize,
    ) -> u64 {
        let entries = self.ranks.len() * self.ranks.len() * LINES;
        let pairs = std::array::from_fn(|table| &self.tables[table * entries..]);
        vectors.steps(Tables { pairs }, below.codes, &below.sifted.numbers[from..to], top, n_lines)
    }

    /// Removes the lanes that the central queens' rows rule out.
    fn restrict(&mut self, below: &Below<'_>, n_lines: usize, valid: &mut [Line; LINES]) {
        let (leaf, m) = (self.shape.leaf, below.side.n_rows());
        let Some(central) = below.side.central().next().and_then(|column| below.side.rank(column)) else {
            return;
        };
        for (line, valid) in valid.iter_mut().enumerate().take(n_lines) {
            let bits: [Line; 4] =
                std::array::from_fn(|bit| self.planes[(FIRST_CENTRAL as usize + bit) * LINES + line]);
            if let Some(row) = (1..=leaf).find(|&row| below.path[usize::from(row - 1)] == central) {
                *valid = valid.zip(below.centre.lanes(&bits, row), |a, b| a & b);
                continue;
            }
            let place = usize::from(self.places[usize::from(central)]);
            for row in leaf + 1..=m {
                let single = &mut self.singles
                    [(usize::from(row - leaf - 1) * self.ranks.len() + place) * LINES + line];
                *single = single.zip(below.centre.lanes(&bits, row), |a, b| a & b);
            }
        }
    }
}
