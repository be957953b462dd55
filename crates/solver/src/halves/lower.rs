//! The placements of the lower half board: in groups with the same first rows, as bit planes.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::halves::footprint::{Footprint, n_diagonals};
use crate::halves::lines::{Line, Lines, Words};
use crate::halves::placements::{FIRST_CENTRAL, Parts, Path};
use crate::halves::shape::Shape;
use crate::halves::side::{MAX_ROWS, Side};
use crate::halves::vectors::{Sieve, Vectors};

/// Planes of the central queen's row: at least 0, at least 1, and so on; no row reaches the last, which is zeros.
const ROWS_FROM: usize = 16;

/// The lower placements that are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First {
    /// The queens of the first rows.
    pub(crate) path: Path,
    pub(crate) n_rows: u8,
    /// The footprint of an upper queen; placements with a head that it attacks are left out.
    pub(crate) attacked: Footprint,
    /// Whether the half board has one of two central columns, so that planes of its queen's row are needed.
    pub(crate) split: bool,
}

/// Lower placements with the same queens in the first rows.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// The ranks of these queens' columns.
    pub(crate) path: [u8; MAX_ROWS],
    pub(crate) n_blocks: usize,
    first_block: usize,
    pub(crate) nodes: Range<usize>,
}

/// Lower placements of a group that share the queens of more rows: a node of the group's prefix tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// The last of these rows.
    pub(crate) row: u8,
    /// The rank of that row's column.
    pub(crate) rank: u8,
    /// Placement numbers within the group.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The next node that is not below this one.
    pub(crate) next: u32,
}

/// All lower placements with the wanted queens in the first rows.
#[derive(Debug, Default)]
pub(crate) struct Lower {
    pub(crate) groups: Vec<Group>,
    pub(crate) nodes: Vec<Node>,
    /// The planes of each group, plane by plane, in blocks of 512 placements: the footprint's planes, one plane of the
    /// placements that exist, and those of the central queen's row.
    planes: Lines,
    n_planes: usize,
    width: usize,
    codes: Words,
    words: Words,
    block: Lines,
    /// The nodes that have no end yet.
    open: Vec<usize>,
}

impl Lower {
    /// Makes the wanted placements; `None` if it was stopped.
    pub(crate) fn make<V: Vectors>(
        &mut self,
        vectors: V,
        side: &Side,
        parts: &Parts,
        shape: Shape,
        first: First,
        stop: &AtomicBool,
    ) -> Option<()> {
        let First { path, n_rows, attacked, split } = first;
        self.groups.clear();
        self.nodes.clear();
        self.codes.clear();
        self.width = 2 * usize::from(n_diagonals(side.middle.n));
        self.n_planes = self.width + 1 + if split { ROWS_FROM } else { 0 };
        let begin = parts.heads.partition_point(|head| head.path.first(n_rows) < path);
        let heads = &parts.heads[begin..];
        let mut heads = &heads[..heads.partition_point(|head| head.path.first(n_rows) == path)];
        let mut n_blocks = 0;
        while let Some(&one) = heads.first() {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let first = one.path.first(shape.group);
            let n = heads.partition_point(|head| head.path.first(shape.group) == first);
            let (these, others) = heads.split_at(n);
            heads = others;
            let nodes = self.nodes.len();
            self.words.clear();
            let codes = self.codes.len();
            let mut path = None;
            for head in these.iter().filter(|head| head.head.word & attacked == 0) {
                let same = path.map_or(shape.group, |path| head.path.n_same(path));
                if same < shape.run {
                    self.close(same);
                    self.open(same, shape.run, head.path);
                }
                path = Some(head.path);
                let shift = head.head.word >> FIRST_CENTRAL != 0;
                let bucket = parts.bucket(head);
                vectors.join_ranked(bucket, &head.head, shift, &mut self.words, &mut self.codes);
            }
            self.close(shape.group);
            let len = self.words.len();
            if len == 0 {
                self.nodes.truncate(nodes);
                continue;
            }
            self.number(vectors, side, shape, &one.path.ranks(), nodes, codes);
            let blocks = len.div_ceil(512);
            let group = Group {
                path: one.path.ranks(),
                n_blocks: blocks,
                first_block: n_blocks,
                nodes: nodes..self.nodes.len(),
            };
            n_blocks += blocks;
            self.groups.push(group);
            // The codes at the end of the last block are never used.
            self.codes.resize(512 * n_blocks);
            self.planes_need(n_blocks);
            self.write_planes(vectors, self.groups.len() - 1, split);
        }
        Some(())
    }

    /// Begins nodes for the rows after `rows` up to `to`.
    fn open(&mut self, rows: u8, to: u8, path: Path) {
        let start = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
        for row in rows + 1..=to {
            self.open.push(self.nodes.len());
            self.nodes.push(Node { row, rank: path.rank(row), start, end: u32::MAX, next: u32::MAX });
        }
    }

    /// Ends the nodes of the rows after `rows`.
    fn close(&mut self, rows: u8) {
        let (end, next) = (u32::try_from(self.words.len()), u32::try_from(self.nodes.len()));
        let (Ok(end), Ok(next)) = (end, next) else { unreachable!("memory ends before") };
        while let Some(&open) = self.open.last() {
            let node = &mut self.nodes[open];
            if node.row <= rows {
                break;
            }
            (node.end, node.next) = (end, next);
            self.open.pop();
        }
    }

    /// Converts the ranks of the current group, which begin at `codes`, to numbers of table entries.
    fn number<V: Vectors>(
        &mut self,
        vectors: V,
        side: &Side,
        shape: Shape,
        path: &[u8],
        nodes: usize,
        codes: usize,
    ) {
        let ranks = &mut self.codes[codes..];
        let keep = table_mask(side.n_rows(), shape);
        let mut path = path[..usize::from(shape.leaf)].to_vec();
        if shape.leaf == shape.group {
            let mut fixed = path;
            fixed.sort_unstable();
            vectors.number(ranks, &fixed, side.n_rows() - shape.leaf, keep);
            return;
        }
        for node in &self.nodes[nodes..] {
            if node.row > shape.leaf {
                continue;
            }
            path[usize::from(node.row - 1)] = node.rank;
            if node.row == shape.leaf {
                let mut fixed = path.clone();
                fixed.sort_unstable();
                let range = node.start as usize..node.end as usize;
                vectors.number(&mut ranks[range], &fixed, side.n_rows() - shape.leaf, keep);
            }
        }
    }

    /// Makes room for the planes of `n_blocks` blocks, and keeps their contents.
    fn planes_need(&mut self, n_blocks: usize) {
        self.planes.keep(n_blocks * self.n_planes);
    }

    /// Writes the planes of a group from its words.
    fn write_planes<V: Vectors>(&mut self, vectors: V, group: usize, split: bool) {
        let group = &self.groups[group];
        let planes = &mut self.planes[group.first_block * self.n_planes..];
        self.block.need(64);
        for (i, words) in self.words.chunks(512).enumerate() {
            vectors.transpose(words, 64, &mut self.block, 1);
            let at = |plane: usize| plane * group.n_blocks + i;
            for (plane, line) in self.block[..self.width].iter().enumerate() {
                planes[at(plane)] = *line;
            }
            let valid = Line::first(words.len());
            planes[at(self.width)] = valid;
            if split {
                let bits: [Line; 4] = std::array::from_fn(|bit| self.block[FIRST_CENTRAL as usize + bit]);
                for row in 0..ROWS_FROM {
                    let from = rows_from(&bits, row).zip(valid, |a, b| a & b);
                    planes[at(self.width + 1 + row)] = from;
                }
            }
        }
    }

    /// Returns the number of bits of a footprint.
    pub(crate) fn width(&self) -> u8 {
        self.width.to_le_bytes()[0]
    }

    /// Returns the placements that exist, for each block of a group.
    pub(crate) fn present(&self, group: &Group) -> &[Line] {
        self.lines(group, self.width)
    }

    /// Returns the placements whose central queen's row is at least `row`, for each block of a group.
    pub(crate) fn rows_from(&self, group: &Group, row: u8) -> &[Line] {
        self.lines(group, self.width + 1 + usize::from(row))
    }

    fn lines(&self, group: &Group, plane: usize) -> &[Line] {
        let begin = group.first_block * self.n_planes + plane * group.n_blocks;
        &self.planes[begin..begin + group.n_blocks]
    }

    /// Returns a sieve for blocks of a group.
    pub(crate) fn sieve<'a>(
        &'a self,
        group: &Group,
        blocks: Range<usize>,
        zero: &'a [u8],
        one: &'a [Line],
    ) -> Sieve<'a> {
        let begin = group.first_block * self.n_planes;
        let planes = &self.planes[begin..begin + group.n_blocks * self.n_planes];
        Sieve { planes, n_blocks: group.n_blocks, from: blocks.start, to: blocks.end, zero, one }
    }

    /// Returns the codes of a group's placements from a block on.
    pub(crate) fn codes(&self, group: &Group, block: usize) -> &[u64] {
        &self.codes[512 * (group.first_block + block)..512 * (group.first_block + group.n_blocks)]
    }

    /// Returns the memory it takes, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.planes.memory()
            + [&self.codes, &self.words].map(Words::memory).iter().sum::<usize>()
            + size_of::<Node>() * self.nodes.capacity()
    }
}

/// Returns where four-bit numbers, given as planes, are at least `least`.
pub(crate) fn rows_from(bits: &[Line; 4], least: usize) -> Line {
    let (mut greater, mut equal) = (Line::NONE, Line::ALL);
    for bit in (0..4).rev() {
        if least >> bit & 1 == 1 {
            equal = equal.zip(bits[bit], |a, b| a & b);
        } else {
            greater = greater.zip(equal.zip(bits[bit], |a, b| a & b), |a, b| a | b);
            equal = equal.zip(bits[bit], |a, b| a & !b);
        }
    }
    greater.zip(equal, |a, b| a | b)
}

/// Returns a mask of the bytes of ranks that the tables look up.
fn table_mask(m: u8, shape: Shape) -> u64 {
    let n_tables = (m - shape.run) / 2;
    if n_tables == 4 { u64::MAX } else { !(u64::MAX >> (16 * n_tables)) }
}
