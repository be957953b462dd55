//! The placements of a half board on its columns, made of heads and tails.

use crate::halves::columns::Columns;
use crate::halves::lines::Words;
use crate::halves::side::{MAX_ROWS, Side};
use crate::halves::vectors::{BUCKET, Bucket, Head};

/// The last rows whose column ranks are stored in a word.
pub(crate) const RANKED: u8 = 8;

/// The highest bits of a word hold the rows of the central columns' queens: four bits for the first, the next four for
/// the second.
pub(crate) const FIRST_CENTRAL: u32 = 60;

/// A bit that every head attacks, and no tail except those that fill up a bucket.
const FILLER: u64 = 1 << 63;

/// The contribution of a queen on a square to a placement.
#[derive(Clone, Copy, Debug, Default)]
struct Queen {
    /// A set of one rank.
    rank: u16,
    head: Head,
}

/// A head or tail while it is being made.
#[derive(Clone, Copy)]
struct Partial {
    head: Head,
    left: Columns,
    ranks: u16,
    rising: Columns,
    falling: Columns,
}

/// Rows of a half board that are placed one after another.
#[derive(Debug)]
struct Rows {
    queens: Box<[[Queen; 32]; MAX_ROWS + 1]>,
    /// The columns of each row that the middle row's queen does not attack.
    free: [Columns; MAX_ROWS + 1],
    set: Columns,
}

impl Rows {
    /// Makes the rows of a half board with heads of `head_rows` rows.
    fn new(side: &Side, head_rows: u8) -> Self {
        let mut queens = Box::new([[Queen::default(); 32]; MAX_ROWS + 1]);
        let mut free = [0; MAX_ROWS + 1];
        let (middle, m) = (side.middle, side.n_rows());
        for row in 1..=m {
            for (rank, &column) in (0..).zip(&side.columns) {
                if middle.queen.is_some_and(|queen| queen.abs_diff(column) == row) {
                    continue;
                }
                free[usize::from(row)] |= 1 << column;
                // The diagonals that meet between heads and tails: in either direction those with numbers from
                // 0 to n - 2.
                let (column_number, at) = (i32::from(column), i32::from(row) - i32::from(head_rows));
                let diagonals = [(column_number + at - 1, 0), (column_number - at, 32)];
                let meets = |&(diagonal, _): &(i32, i32)| (0..i32::from(middle.n.get())).contains(&diagonal);
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
        let set = side.columns.iter().map(|column| 1 << column).sum();
        Self { queens, free, set }
    }

    /// Returns the empty placement.
    fn none(&self) -> Partial {
        Partial { head: Head::default(), left: self.set, ranks: 0, rising: 0, falling: 0 }
    }

    /// Calls `each` for every free square of a row, in ascending order of the columns.
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

    fn heads(&self, row: u8, last: u8, from: &Partial, path: Path, to: &mut Vec<PlacedHead>) {
        let path_of = |next: &Partial| path.with(row, (next.ranks ^ from.ranks).trailing_zeros());
        // The closures keep states in registers, as nothing takes their address.
        if row == last {
            self.each(row, from, |next| {
                to.push(PlacedHead { head: next.head, path: path_of(&next), used: next.ranks });
            });
        } else {
            self.each(row, from, |next| self.heads(row + 1, last, &next, path_of(&next), to));
        }
    }
}

/// The ranks of the columns of a head's rows, four bits each, with the first row in the highest bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path(u64);

impl Path {
    /// Makes a path of these ranks.
    pub(crate) fn of(ranks: &[u8]) -> Self {
        (1..).zip(ranks).fold(Self::default(), |path, (row, &rank)| path.with(row, rank.into()))
    }

    /// Adds the queen of one more row.
    fn with(self, row: u8, rank: u32) -> Self {
        Self(self.0 | u64::from(rank) << (64 - 4 * u32::from(row)))
    }

    /// Returns the rank of a row's column.
    pub(crate) fn rank(self, row: u8) -> u8 {
        (self.0 >> (64 - 4 * u32::from(row))).to_le_bytes()[0] & 0xF
    }

    /// Returns the first rows.
    pub(crate) fn first(self, n_rows: u8) -> Self {
        Self(self.0 & !(u64::MAX >> (4 * u32::from(n_rows))))
    }

    /// Returns the number of first rows that two paths share.
    pub(crate) fn n_same(self, other: Self) -> u8 {
        (self.0 ^ other.0).leading_zeros().to_le_bytes()[0] / 4
    }

    /// Returns the ranks, row by row.
    pub(crate) fn ranks(self) -> [u8; MAX_ROWS] {
        let mut row = 0;
        [(); MAX_ROWS].map(|()| {
            row += 1;
            self.rank(row)
        })
    }
}

/// A head with its path and columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedHead {
    pub(crate) head: Head,
    /// The ranks of its columns, as a set.
    used: u16,
    pub(crate) path: Path,
}

/// All heads and tails of a half board on its columns.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// In lexicographic order of their paths.
    pub(crate) heads: Vec<PlacedHead>,
    /// The start of the bucket of each set of ranks. Fillers may separate its end from the next start.
    begins: Vec<u32>,
    ends: Vec<u32>,
    all: u16,
    attacks: Words,
    words: Words,
    ranks: Words,
    rows: Option<Rows>,
}

/// Tails in the order of discovery, until they are in buckets.
#[derive(Debug, Default)]
pub(crate) struct Found(Vec<(u16, Head)>);

impl Found {
    /// Returns the memory they take, in bytes.
    pub(crate) fn memory(&self) -> usize {
        size_of::<(u16, Head)>() * self.0.capacity()
    }
}

impl Parts {
    /// Finds the tails that belong to heads of `head_rows` rows.
    pub(crate) fn find(&mut self, side: &Side, head_rows: u8, Found(found): &mut Found) {
        let rows = self.rows.insert(Rows::new(side, head_rows));
        let all = (1_u16 << side.n_rows()) - 1;
        self.all = all;
        self.heads.clear();
        self.begins.clear();
        self.begins.resize(usize::from(all) + 2, 0);
        found.clear();
        if head_rows == side.n_rows() {
            found.push((0, Head::default()));
        } else {
            rows.tails(head_rows + 1, side.n_rows(), &rows.none(), found);
        }
        for (used, _) in found.iter() {
            self.begins[usize::from(*used) + 1] += 1;
        }
        // Each bucket begins at a multiple of a vector's words.
        for set in 0..=usize::from(all) {
            self.begins[set + 1] = self.begins[set] + self.begins[set + 1].next_multiple_of(BUCKET);
        }
        let n = self.begins[usize::from(all) + 1] as usize;
        for (words, filler) in [(&mut self.attacks, u64::MAX), (&mut self.words, 0), (&mut self.ranks, 0)] {
            words.resize(n);
            words.fill(filler);
        }
        self.ends.clear();
        self.ends.extend_from_slice(&self.begins);
        for (used, tail) in found.iter() {
            let end = &mut self.ends[usize::from(*used)];
            let at = *end as usize;
            *end += 1;
            (self.attacks[at], self.words[at], self.ranks[at]) = (tail.attacks, tail.word, tail.ranks);
        }
    }

    /// Finds the heads: all, or those with one queen in the first row.
    pub(crate) fn find_heads(&mut self, side: &Side, head_rows: u8, first: Option<u8>) {
        let Some(rows) = &mut self.rows else { return };
        let all = rows.free[1];
        if let Some(column) = first.and_then(|rank| side.columns.get(usize::from(rank))) {
            rows.free[1] &= 1 << column;
        }
        let mut none = rows.none();
        none.head.attacks = FILLER;
        self.heads.clear();
        rows.heads(1, head_rows, &none, Path::default(), &mut self.heads);
        rows.free[1] = all;
    }

    /// Returns the memory they take, in bytes.
    pub(crate) fn memory(&self) -> usize {
        size_of::<PlacedHead>() * self.heads.capacity()
            + [&self.attacks, &self.words, &self.ranks].map(Words::memory).iter().sum::<usize>()
    }

    /// Returns the tails on the columns that a head leaves, with fillers that every head attacks.
    pub(crate) fn bucket(&self, head: &PlacedHead) -> Bucket<'_> {
        let set = usize::from(self.all & !head.used);
        let (begin, end) = (self.begins[set] as usize, self.begins[set + 1] as usize);
        Bucket {
            attacks: &self.attacks[begin..end],
            words: &self.words[begin..end],
            ranks: &self.ranks[begin..end],
        }
    }
}
