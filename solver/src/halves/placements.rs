//! The placements of one half on its columns: first halves and second halves of them.

use super::geometry::Geometry;
use super::vectors::{Bucket, Head, NO_PLANE, ROOM};

/// Rows and columns of a half at most.
pub(super) const MAX_ROWS: usize = 14;

/// Rows whose columns' ranks stand in a word.
pub(super) const RANKED: u8 = 8;

/// One half of a board and the columns its queens stand in.
#[derive(Clone, Debug)]
pub(super) struct Half {
    pub(super) m: u8,
    /// In ascending order.
    pub(super) columns: Vec<u8>,
    /// The columns as a set.
    set: u32,
    central: u32,
    free: [u32; MAX_ROWS + 1],
    feet: [[(u8, u8); MAX_ROWS]; MAX_ROWS + 1],
    rank_of: [u8; 32],
    n: u8,
}

impl Half {
    pub(super) fn new(geometry: Geometry, upper: bool, set: u32) -> Self {
        let columns: Vec<u8> = (0..geometry.n).filter(|&column| set >> column & 1 == 1).collect();
        let mut half = Self {
            m: geometry.m,
            set,
            central: geometry.central() & set,
            free: [0; MAX_ROWS + 1],
            feet: [[(NO_PLANE, NO_PLANE); MAX_ROWS]; MAX_ROWS + 1],
            rank_of: [0; 32],
            n: geometry.n,
            columns,
        };
        for row in 1..=geometry.m {
            half.free[usize::from(row)] = geometry.free(row) & set;
            for (rank, &column) in half.columns.iter().enumerate() {
                let [rising, falling] = geometry.feet(upper, row, column).map(|bit| bit.unwrap_or(NO_PLANE));
                half.feet[usize::from(row)][rank] = (rising, falling);
                half.rank_of[usize::from(column)] = u8::try_from(rank).unwrap_or(0);
            }
        }
        half
    }

    /// The planes of the diagonals that a queen attacks the other half on.
    pub(super) fn feet(&self, row: u8, rank: u8) -> (u8, u8) {
        self.feet[usize::from(row)][usize::from(rank)]
    }

    /// The bits of the diagonals that a queen attacks the other half on.
    pub(super) fn footprint(&self, row: u8, rank: u8) -> u64 {
        let (rising, falling) = self.feet(row, rank);
        let bit = |plane: u8| if plane == NO_PLANE { 0 } else { 1 << plane };
        bit(rising) | bit(falling)
    }

    /// The rank of the only central column among those of this half.
    pub(super) fn central_rank(&self) -> u8 {
        self.rank_of[self.central.trailing_zeros() as usize % 32]
    }

    /// How many columns in the centre are of this half.
    pub(super) fn n_central(&self) -> u32 {
        self.central.count_ones()
    }
}

/// Rows of the central columns' queens stand in the highest bits of a word: the first in the highest four, the second
/// in the next four.
pub(super) const FIRST_CENTRAL: u32 = 60;
const SECOND_CENTRAL: u32 = 56;

/// A first or second half of a placement, while it is being made.
#[derive(Clone, Copy, Default)]
struct Partial {
    head: Head,
    used: u32,
    rising: u32,
    falling: u32,
}

/// Rows of a half that are placed one after another.
struct Rows<'a> {
    half: &'a Half,
    /// The last row of the heads.
    head: u8,
    last: u8,
    path: [u8; MAX_ROWS],
}

impl Rows<'_> {
    /// Calls `each` with all ways to go on from a row, in lexicographic order of the columns.
    fn place(&mut self, row: u8, from: Partial, each: &mut impl FnMut(&Head, u16, &[u8; MAX_ROWS])) {
        let half = self.half;
        let mut free = half.free[usize::from(row)] & !(from.used | from.rising | from.falling);
        while free != 0 {
            let square = free & free.wrapping_neg();
            free ^= square;
            let column = square.trailing_zeros();
            let rank = half.rank_of[column as usize % 32];
            let mut head = from.head;
            head.word |= half.footprint(row, rank);
            if square & half.central != 0 {
                let second = head.word >> FIRST_CENTRAL != 0;
                head.word |= u64::from(row) << if second { SECOND_CENTRAL } else { FIRST_CENTRAL };
            }
            // The diagonals of heads and tails, which meet between them: those with numbers from 0 to n.
            let (at, n) = (i64::from(row) - i64::from(self.head), i64::from(half.n));
            for (diagonal, first) in [(i64::from(column) + at - 1, 0), (i64::from(column) - at, 32)] {
                if (0..n).contains(&diagonal) {
                    head.attacks |= 1 << (first + diagonal);
                }
            }
            if row + RANKED > half.m {
                head.ranks |= u64::from(rank) << (8 * (row + RANKED - 1 - half.m));
            }
            self.path[usize::from(row - 1)] = rank;
            let next = Partial {
                head,
                used: from.used | square,
                rising: (from.rising | square) << 1,
                falling: (from.falling | square) >> 1,
            };
            if row == self.last {
                each(&head, self.ranks(next.used), &self.path);
            } else {
                self.place(row + 1, next, each);
            }
        }
    }

    /// A set of columns as a set of their ranks.
    fn ranks(&self, columns: u32) -> u16 {
        let mut set = 0;
        let mut left = columns & self.half.set;
        while left != 0 {
            set |= 1 << self.half.rank_of[left.trailing_zeros() as usize % 32];
            left &= left - 1;
        }
        set
    }
}

/// A first half of a placement, and where it belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedHead {
    pub(super) head: Head,
    /// The ranks of the columns that are left to the tail.
    pub(super) left: u16,
    /// The ranks of the columns of the rows from 1 on.
    pub(super) path: [u8; MAX_ROWS],
}

/// All first and second halves of placements of a half on its columns.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// In lexicographic order of their paths.
    pub(super) heads: Vec<PlacedHead>,
    /// Where the tails of each set of ranks begin.
    begins: Vec<u32>,
    attacks: Vec<u64>,
    words: Vec<u64>,
    ranks: Vec<u64>,
    /// Tails in the order they are found.
    found: Vec<(u16, Head)>,
}

impl Parts {
    /// Finds the parts; the heads have so many rows.
    pub(super) fn find(&mut self, half: &Half, head_rows: u8) {
        let rows = |last| Rows { half, head: head_rows, last, path: [0; MAX_ROWS] };
        let all = (1_u16 << half.m) - 1;
        self.heads.clear();
        let heads = &mut self.heads;
        rows(head_rows).place(1, Partial::default(), &mut |head, used, path| {
            heads.push(PlacedHead { head: *head, left: all & !used, path: *path });
        });
        self.begins.clear();
        self.begins.resize(usize::from(all) + 2, 0);
        self.found.clear();
        if head_rows == half.m {
            self.found.push((0, Head::default()));
        } else {
            let found = &mut self.found;
            rows(half.m)
                .place(head_rows + 1, Partial::default(), &mut |head, used, _| found.push((used, *head)));
        }
        for (used, _) in &self.found {
            self.begins[usize::from(*used) + 1] += 1;
        }
        for set in 0..=usize::from(all) {
            self.begins[set + 1] += self.begins[set];
        }
        // Some are read past the end.
        let n = self.found.len() + ROOM;
        for words in [&mut self.attacks, &mut self.words, &mut self.ranks] {
            words.clear();
            words.resize(n, u64::MAX);
        }
        // From the last to the first: afterwards `begins` says where those of the set itself begin.
        for (used, tail) in self.found.iter().rev() {
            let end = &mut self.begins[usize::from(*used) + 1];
            *end -= 1;
            let at = *end as usize;
            (self.attacks[at], self.words[at], self.ranks[at]) = (tail.attacks, tail.word, tail.ranks);
        }
    }

    /// The tails on a set of ranks. Behind the end of each list, words can be read.
    pub(super) fn bucket(&self, set: u16) -> Bucket<'_> {
        let set = usize::from(set);
        let begin = self.begins[set + 1] as usize;
        let end = self.begins.get(set + 2).map_or(self.found.len(), |&end| end as usize);
        Bucket {
            attacks: &self.attacks[begin..end],
            words: &self.words[begin..end],
            ranks: &self.ranks[begin..end],
        }
    }
}
