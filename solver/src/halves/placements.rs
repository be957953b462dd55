//! The placements of one half on its columns: first halves and second halves of them.

use crate::halves::columns::Columns;
use crate::halves::side::{MAX_ROWS, Side};
use crate::halves::vectors::{Bucket, Head};

/// Rows whose columns' ranks stand in a word, counted from the last.
pub(crate) const RANKED: u8 = 8;

/// The rows of the central columns' queens stand in the highest bits of a word: the first in the highest four, the
/// second in the next four.
pub(crate) const FIRST_CENTRAL: u32 = 60;

/// What a queen on a square adds to a placement.
#[derive(Clone, Copy, Debug, Default)]
struct Queen {
    /// As a set of ranks.
    rank: u16,
    head: Head,
}

/// A first or second half of a placement, while it is being made.
#[derive(Clone, Copy)]
struct Partial {
    head: Head,
    left: Columns,
    ranks: u16,
    rising: Columns,
    falling: Columns,
}

/// Rows of a half that are placed one after another.
struct Rows {
    /// For each row and column.
    queens: Box<[[Queen; 32]; MAX_ROWS + 1]>,
    /// The columns of each row that the middle row's queen does not attack.
    free: [Columns; MAX_ROWS + 1],
    set: Columns,
}

impl Rows {
    /// The rows of a half of which the first `head_rows` are the head's.
    fn new(side: &Side, head_rows: u8) -> Self {
        let mut queens = Box::new([[Queen::default(); 32]; MAX_ROWS + 1]);
        let mut free = [0; MAX_ROWS + 1];
        let (middle, m) = (side.middle(), side.n_rows());
        for row in 1..=m {
            for (rank, &column) in (0..).zip(side.columns()) {
                if middle.queen().is_some_and(|queen| queen.abs_diff(column) == row) {
                    continue;
                }
                free[usize::from(row)] |= 1 << column;
                // The diagonals of heads and tails, which meet between them: of either direction those with numbers
                // from 0 to n - 2.
                let (column_number, at) = (i32::from(column), i32::from(row) - i32::from(head_rows));
                let diagonals = [(column_number + at - 1, 0), (column_number - at, 32)];
                let meets =
                    |&(diagonal, _): &(i32, i32)| (0..i32::from(middle.n().get())).contains(&diagonal);
                let attacks = diagonals.iter().filter(|diagonal| meets(diagonal));
                let attacks = attacks.map(|(diagonal, first)| 1 << (first + diagonal)).sum();
                let central = if middle.is_central(column) { u64::from(row) << FIRST_CENTRAL } else { 0 };
                let word = side.footprint(row, rank) | central;
                let place = (row + RANKED).checked_sub(m + 1);
                let ranks = place.map_or(0, |place| u64::from(rank) << (8 * place));
                let queen = Queen { rank: 1 << rank, head: Head { attacks, word, ranks } };
                queens[usize::from(row)][usize::from(column)] = queen;
            }
        }
        let set = side.columns().iter().map(|column| 1 << column).sum();
        Self { queens, free, set }
    }

    /// Where nothing is placed yet.
    fn none(&self) -> Partial {
        Partial { head: Head::default(), left: self.set, ranks: 0, rising: 0, falling: 0 }
    }

    /// Finds all ways to go on from a row to the last, in lexicographic order of the columns.
    #[inline(always)]
    fn each(&self, row: u8, from: &Partial, mut each: impl FnMut(Partial)) {
        let attacked = from.rising | from.falling;
        let mut free = self.free[usize::from(row)] & from.left & !attacked;
        while free != 0 {
            let column = free & free.wrapping_neg();
            let Queen { rank, head } = self.queens[usize::from(row)][column.trailing_zeros() as usize % 32];
            free ^= column;
            let second = if from.head.word >> FIRST_CENTRAL != 0 { 4 } else { 0 };
            let central = head.word >> FIRST_CENTRAL << (FIRST_CENTRAL - second);
            let footprint = head.word << 4 >> 4;
            each(Partial {
                head: Head {
                    attacks: from.head.attacks | head.attacks,
                    word: from.head.word | footprint | central,
                    ranks: from.head.ranks | head.ranks,
                },
                left: from.left ^ column,
                ranks: from.ranks | rank,
                rising: (from.rising | column) << 1,
                falling: (from.falling | column) >> 1,
            });
        }
    }

    fn tails(&self, row: u8, last: u8, from: &Partial, to: &mut Vec<(u16, Head)>) {
        if row == last {
            self.each(row, from, |tail| to.push((tail.ranks, tail.head)));
        } else {
            self.each(row, from, |next| self.tails(row + 1, last, &next, to));
        }
    }

    fn heads(&self, row: u8, last: u8, from: &Partial, path: &mut [u8; MAX_ROWS], to: &mut Vec<PlacedHead>) {
        self.each(row, from, |next| {
            path[usize::from(row - 1)] = (next.ranks ^ from.ranks).trailing_zeros().to_le_bytes()[0];
            if row == last {
                to.push(PlacedHead { head: next.head, used: next.ranks, path: *path });
            } else {
                self.heads(row + 1, last, &next, path, to);
            }
        });
    }
}

/// A first half of a placement, and where it belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedHead {
    pub(crate) head: Head,
    /// The ranks of its columns, as a set.
    used: u16,
    /// The ranks of the columns of the rows from 1 on.
    pub(crate) path: [u8; MAX_ROWS],
}

/// All first and second halves of placements of a half on its columns.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// In lexicographic order of their paths.
    pub(crate) heads: Vec<PlacedHead>,
    /// Where the tails of each set of ranks begin.
    begins: Vec<u32>,
    /// All ranks.
    all: u16,
    attacks: Vec<u64>,
    words: Vec<u64>,
    ranks: Vec<u64>,
    /// Tails in the order they are found.
    found: Vec<(u16, Head)>,
}

impl Parts {
    /// Finds the parts; the heads have so many rows.
    pub(crate) fn find(&mut self, side: &Side, head_rows: u8) {
        let rows = Rows::new(side, head_rows);
        let all = (1_u16 << side.n_rows()) - 1;
        self.all = all;
        self.heads.clear();
        rows.heads(1, head_rows, &rows.none(), &mut [0; MAX_ROWS], &mut self.heads);
        self.begins.clear();
        self.begins.resize(usize::from(all) + 2, 0);
        self.found.clear();
        if head_rows == side.n_rows() {
            self.found.push((0, Head::default()));
        } else {
            rows.tails(head_rows + 1, side.n_rows(), &rows.none(), &mut self.found);
        }
        for (used, _) in &self.found {
            self.begins[usize::from(*used) + 1] += 1;
        }
        for set in 0..=usize::from(all) {
            self.begins[set + 1] += self.begins[set];
        }
        let n = self.found.len();
        for words in [&mut self.attacks, &mut self.words, &mut self.ranks] {
            words.clear();
            words.resize(n, 0);
        }
        // From the last to the first: afterwards `begins` says where those of the set itself begin.
        for (used, tail) in self.found.iter().rev() {
            let end = &mut self.begins[usize::from(*used) + 1];
            *end -= 1;
            let at = *end as usize;
            (self.attacks[at], self.words[at], self.ranks[at]) = (tail.attacks, tail.word, tail.ranks);
        }
    }

    /// The tails that have the columns a head leaves.
    pub(crate) fn bucket(&self, head: &PlacedHead) -> Bucket<'_> {
        let set = usize::from(self.all & !head.used);
        let begin = self.begins[set + 1] as usize;
        let end = self.begins.get(set + 2).map_or(self.found.len(), |&end| end as usize);
        Bucket {
            attacks: &self.attacks[begin..end],
            words: &self.words[begin..end],
            ranks: &self.ranks[begin..end],
        }
    }
}
