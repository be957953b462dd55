//! The memory of a batch on a card: one block, with arrays whose places depend on the batch.

use crate::shape::Shape;

/// The arrays, in the order of the kernels' `Params.at`.
const N_ARRAYS: usize = 26;

/// An array: its index, and the bytes of an item.
type Array = (usize, u64);

const SETS: Array = (0, 48);
const BINOMIALS: Array = (1, 4);
const TAIL_STARTS: Array = (2, 4);
const UPPER_SUMS: Array = (3, 4);
const LOWER_SUMS: Array = (4, 4);
const BUCKETS: Array = (5, 8);
const HEAD_TABLE: Array = (10, 8);
const UPPER_TABLE: Array = (12, 8);
const LOWER_TABLE: Array = (15, 8);
const LEVEL_TABLE: Array = (17, 16);
const LEVEL_2_TABLE: Array = (19, 16);
const PIECES: Array = (22, 32);
const OUT: Array = (23, 8);
const SIFTED_TABLE: Array = (24, 16);
const HEAD_STARTS: Array = (25, 4);
const TAILS: [Array; 3] = [(7, 8), (6, 8), (8, 4)];

/// Arrays that fill up: those that share a cursor, the cursor's first.
const GROWING: [&[Array]; N_GROWING] = [
    // Heads.
    &[(9, 32)],
    // Upper words.
    &[(11, 8)],
    // Lower words with their codes.
    &[(13, 8), (14, 8)],
    // Upper words by the first lower queen.
    &[(16, 8)],
    // And by the second.
    &[(18, 8)],
    // Pieces of 1,024 upper words.
    &[(20, 8192)],
    // Codes of the lower placements that meet pieces.
    &[(21, 8)],
    // What a piece is.
    &[PIECES],
];

pub(crate) const N_GROWING: usize = 8;

/// Items of each growing array.
pub(crate) type Items = [u64; N_GROWING];

/// The size of the parameters at the arena's beginning.
pub(crate) const PARAMS: usize = 4 * (8 + 2 * N_ARRAYS + 2) + 8 * N_ARRAYS;

/// Where the cursors begin in the parameters, and how many bytes they have with what follows and begins at zero.
pub(crate) const CURSORS: usize = 32;
pub(crate) const CURSOR_BYTES: usize = 4 * (N_ARRAYS + 2);

/// Where the parameters have the number of the piece that a block takes next, and where it must be less than the
/// capacity for pieces. Both together let one launch join some of a batch's pieces.
pub(crate) const NEXT_PIECE: u64 = (CURSORS + 4 * N_ARRAYS) as u64;
pub(crate) const END_OF_PIECES: u64 = (CURSORS + CURSOR_BYTES + 4 * PIECES.0) as u64;

/// A set of columns as the kernels see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SetOnCard {
    /// The columns of the upper and the lower half board.
    pub(crate) columns: [u32; 2],
    /// Ranks that the first row's queen may have.
    pub(crate) first: [u32; 2],
    /// Numbers within the set.
    pub(crate) numbers: [u32; 2],
    pub(crate) factor: u32,
    /// How pairs weigh, and the distance of the middle row's queen.
    pub(crate) weighing: [u32; 2],
}

/// The board of a batch, the same for all its sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Board {
    pub(crate) n: u8,
    /// The column of the middle row's queen, if there is a middle row.
    pub(crate) middle: Option<u8>,
    pub(crate) shape: Shape,
    pub(crate) n_digits: u8,
}

/// The places of a batch's arrays.
#[derive(Clone, Debug)]
pub(crate) struct Arena {
    pub(crate) at: [u64; N_ARRAYS],
    capacity: [u64; N_ARRAYS],
    pub(crate) bytes: u64,
}

impl Arena {
    /// Makes what all batches of a board share: the tails of each set of columns, `n_tails` in all.
    pub(crate) fn of_tails(board: Board, n_tails: u64) -> Self {
        let mut arena = Self { at: [0; N_ARRAYS], capacity: [0; N_ARRAYS], bytes: PARAMS as u64 };
        let n_buckets = 2 * u64::from(board.n_buckets());
        arena.add(BINOMIALS, 8 * 32);
        arena.add(TAIL_STARTS, n_buckets * u64::from(board.shape.m - board.shape.head));
        arena.add(BUCKETS, n_buckets);
        for array in TAILS {
            arena.add(array, n_tails);
        }
        arena
    }

    /// Adds a batch's arrays: what `n_sets` sets and `n_blocks` blocks need in any case, and the rest of `bytes` of
    /// memory in proportion to `needs`. `None` if not even the former has room.
    pub(crate) fn with_batch(
        &self,
        board: Board,
        n_sets: usize,
        n_blocks: u32,
        needs: &Items,
        bytes: u64,
    ) -> Option<Self> {
        let mut arena = self.clone();
        let shape = board.shape;
        let (n_sets, m) = (n_sets as u64, u64::from(shape.m));
        let (prefixes, leaves) = (shape.n_prefixes(2), shape.n_prefixes(shape.leaf));
        let level_2 = if shape.leaf > 2 { n_sets * m * m * m } else { 0 };
        let fixed = [
            (SETS, n_sets),
            (UPPER_SUMS, n_sets * m * m * m),
            (LOWER_SUMS, n_sets * m * m * m),
            (HEAD_TABLE, n_sets * (prefixes + leaves)),
            (UPPER_TABLE, n_sets * prefixes),
            (LOWER_TABLE, n_sets * leaves),
            (LEVEL_TABLE, n_sets * m * m),
            (LEVEL_2_TABLE, level_2),
            (SIFTED_TABLE, n_sets * leaves * m),
            (HEAD_STARTS, 2 * n_sets * shape.n_prefixes((shape.head - 1).min(4))),
            (OUT, n_blocks.into()),
        ];
        for (array, n) in fixed {
            arena.add(array, n);
        }
        let of_item = |arrays: &[Array]| arrays.iter().map(|(_, bytes)| bytes).sum::<u64>();
        let wanted: u128 = GROWING.iter().zip(needs).map(|(arrays, n)| u128::from(n * of_item(arrays))).sum();
        // Each array begins at a multiple of 256.
        let left = bytes.checked_sub(arena.bytes + 256 * N_ARRAYS as u64).filter(|&left| left > 0)?;
        for (arrays, &n) in GROWING.iter().zip(needs) {
            // Cursors have 32 bits.
            let room = u128::from(n) * u128::from(left) / wanted.max(1);
            let room = u64::try_from(room).map_or(u64::MAX, |room| room.min(u32::MAX.into()));
            for array in *arrays {
                arena.add(*array, room);
            }
        }
        (arena.bytes <= bytes).then_some(arena)
    }

    fn add(&mut self, (array, of_item): Array, n: u64) {
        self.bytes = self.bytes.next_multiple_of(256);
        self.at[array] = self.bytes;
        self.capacity[array] = n;
        self.bytes += n * of_item;
    }

    /// Returns the parameters, with all cursors at zero.
    pub(crate) fn params(&self, board: Board, n_sets: usize) -> Vec<u8> {
        let word = |value: u64| u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes();
        let middle = board.middle.unwrap_or(99);
        let first = [
            board.n.into(),
            middle.into(),
            n_sets as u64,
            u64::from(board.n % 2),
            board.n_buckets().into(),
            board.n_digits.into(),
        ];
        let mut bytes: Vec<u8> = first.into_iter().chain([0; 2 + N_ARRAYS + 2]).flat_map(word).collect();
        bytes.extend(self.capacity.iter().flat_map(|&n| word(n)));
        bytes.extend(self.at.iter().flat_map(|at| at.to_le_bytes()));
        debug_assert_eq!(bytes.len(), PARAMS);
        bytes
    }

    /// Returns whether all growing arrays have room for `times` times `needs`.
    pub(crate) fn holds(&self, needs: &Items, times: u64) -> bool {
        GROWING.iter().zip(needs).all(|(arrays, need)| need * times <= self.capacity[arrays[0].0])
    }

    pub(crate) const fn sets_at(&self) -> u64 {
        self.at[SETS.0]
    }

    pub(crate) const fn binomials_at(&self) -> u64 {
        self.at[BINOMIALS.0]
    }

    pub(crate) const fn out_at(&self) -> u64 {
        self.at[OUT.0]
    }

    /// Returns where the numbers of upper and of lower placements by first queens begin.
    pub(crate) const fn sums_at(&self) -> [u64; 2] {
        [self.at[UPPER_SUMS.0], self.at[LOWER_SUMS.0]]
    }
}

/// The cursors after some kernels have run.
#[derive(Clone, Debug)]
pub(crate) struct Cursors(pub(crate) [u8; CURSOR_BYTES]);

impl Cursors {
    fn word(&self, i: usize) -> u64 {
        let bytes = self.0.get(4 * i..4 * i + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes).into()
    }

    /// Returns the items of each growing array that were needed.
    pub(crate) fn items(&self) -> Items {
        GROWING.map(|arrays| self.word(arrays[0].0))
    }

    pub(crate) fn n_pieces(&self) -> u64 {
        self.word(PIECES.0)
    }

    pub(crate) fn n_tails(&self) -> u64 {
        self.word(TAILS[0].0)
    }

    /// Returns whether an array had no room.
    pub(crate) fn overflowed(&self) -> bool {
        self.word(N_ARRAYS + 1) != 0
    }
}

impl Board {
    /// Returns the number of sets of columns that a tail may have.
    pub(crate) fn n_buckets(self) -> u32 {
        binomial(self.n.into(), self.shape.m - self.shape.head)
    }
}

/// Returns the number of ways to choose `k` of `n` things, at most 32 and 8.
fn binomial(n: u32, k: u32) -> u32 {
    (0..k).fold(1, |product, i| product * n.saturating_sub(i) / (i + 1))
}

/// Returns the numbers of ways to choose up to 7 of up to 31 things, as the kernels look them up.
pub(crate) fn binomials() -> Vec<u8> {
    (0..32).flat_map(|n| (0..8).map(move |k| binomial(n, k))).flat_map(u32::to_le_bytes).collect()
}

impl SetOnCard {
    pub(crate) fn bytes(&self) -> impl Iterator<Item = u8> + use<> {
        let Self { columns, first, numbers, factor, weighing } = *self;
        let words = [columns, first, numbers, [factor, 0], weighing, [0, 0]];
        words.into_iter().flatten().flat_map(u32::to_le_bytes)
    }
}
