//! The search of [`blocks`](super::blocks) by vectors of four or eight states, without instructions that compress.
//!
//! **Passes.** The states of one vector have different numbers of children. So the kernel works through an array in
//! passes. Each pass gives every state one child, with its queen on the lowest untried square, and keeps the states
//! that have squares left. They move to the front of the same array, over states already read, for the next pass.
//!
//! ```text
//!   pass 1    a b c d e f g h …    →    kept  a d e g …       first children of a to h
//!   pass 2    a d e g …            →    kept  d …             second children of a, d, e, g
//! ```
//!
//! All lanes work except those of one vector at the end of each pass, and no vector waits for its predecessor. (The
//! AVX-512 kernel refills single lanes, which it has instructions for; here that is slower, see `docs/KERNEL.md`.)
//!
//! **Packing lanes.** A table of lane numbers for each mask permutes the surviving lanes to the front, and one store
//! writes the whole vector. The next store overwrites the words behind them.

use super::blocks::{self, Arrays, Vectors};
use super::level::Level;
use crate::pruning::SEEN_WHOLE;

/// The most states of one row before a vector is appended.
const CAPACITY: usize = 2048;

/// The most words in a vector.
const MOST_LANES: usize = 8;

/// Words of an array. Behind a full one there is room for an appended vector and one of dead states.
const WORDS: usize = CAPACITY + 2 * MOST_LANES;

/// One word of each state of a row.
type Words = [u32; WORDS];

/// The states of a row, with their untried free squares if a pass has kept them.
type States = blocks::States<WORDS, WORDS>;
pub(super) type Search<'a, L> = blocks::Search<'a, L, WORDS, WORDS>;

thread_local! {
    pub(super) static ARRAYS: Arrays<WORDS, WORDS> = blocks::arrays();
}

/// The operations of an instruction set on vectors of 32-bit words. A value of the type exists only where the processor
/// has the instructions. All operations are inlined into [`expand`](Self::expand), which enables them.
pub(super) trait Lanes: Copy {
    /// A vector of words.
    type V: Copy;

    /// A number of rows to shift by, in the form that the shifts want.
    type Rows: Copy;

    /// The order that permutes lanes.
    type Order: Copy;

    /// Words in a vector.
    const N: usize;

    /// Calls [`expand`] with the instructions enabled.
    fn expand<const SEEN: usize>(search: &mut Search<'_, Self>, level: usize) -> Option<()>;

    /// Loads a vector.
    ///
    /// # Safety
    /// There must be `N` words, which need not be aligned.
    unsafe fn load(self, from: *const u32) -> Self::V;

    /// Stores a vector.
    ///
    /// # Safety
    /// There must be room for `N` words, which need not be aligned.
    unsafe fn store(self, to: *mut u32, lanes: Self::V);

    fn all(self, word: u32) -> Self::V;
    fn rows(self, rows: u32) -> Self::Rows;
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    fn or(self, a: Self::V, b: Self::V) -> Self::V;
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;

    /// Returns `b` without the bits of `a`.
    fn without(self, a: Self::V, b: Self::V) -> Self::V;
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn min(self, a: Self::V, b: Self::V) -> Self::V;

    /// Returns all ones in the lanes that are equal, and zeros in the others.
    fn equal(self, a: Self::V, b: Self::V) -> Self::V;
    fn left(self, a: Self::V, rows: Self::Rows) -> Self::V;
    fn right(self, a: Self::V, rows: Self::Rows) -> Self::V;

    /// Returns the set of lanes whose bits are all ones; the others must be zero.
    fn mask(self, a: Self::V) -> u32;

    /// Returns the number of lanes in a set.
    fn count(self, mask: u32) -> u32;

    /// Returns the order that moves the lanes outside a set to the front.
    fn outside(self, mask: u32) -> Self::Order;
    fn permute(self, a: Self::V, order: Self::Order) -> Self::V;
}

/// Implements the operations of [`Lanes`] by expressions.
macro_rules! operations {
    ($($name:ident($($arg:ident: $arg_type:ty),*) -> $result:ty = $call:expr;)*) => {
        $(
            #[inline(always)]
            fn $name(self, $($arg: $arg_type),*) -> $result {
                // SAFETY: a value of the type exists only where the processor has the instructions.
                #[allow(unused_unsafe, reason = "some are safe on some targets")]
                unsafe { $call }
            }
        )*
    };
}
pub(super) use operations;

impl<L: Lanes> Vectors<WORDS, WORDS> for L {
    const CAPACITY: usize = CAPACITY;

    fn expand(search: &mut Search<'_, L>, level: usize) -> Option<()> {
        let Level { n_left, n_seen, .. } = search.levels[level];
        match n_seen {
            _ if n_left == 3 => L::expand::<LAST>(search, level),
            ..=1 => L::expand::<1>(search, level),
            2 => L::expand::<2>(search, level),
            3 => L::expand::<3>(search, level),
            4 => L::expand::<4>(search, level),
            _ => L::expand::<SEEN_WHOLE>(search, level),
        }
    }
}

/// In place of the number of rows that the pruning rule looks at: the last searched row.
const LAST: usize = 0;

/// The constants of a level, in every lane.
struct Constants<L: Lanes> {
    /// The allowed squares of the row and of those that the pruning rule looks at.
    allowed: [L::V; SEEN_WHOLE + 1],
    /// Rows down to the next free row, and from there to the later rows that the rule looks at.
    down: [L::Rows; SEEN_WHOLE],
}

/// The states of one vector; `columns` are those still to be filled.
#[derive(Clone, Copy)]
struct Lane<L: Lanes> {
    columns: L::V,
    rising: L::V,
    falling: L::V,
}

/// Does [`Vectors::expand`] for a level at which the pruning rule looks at `SEEN` rows, or for the [`LAST`] one.
#[inline(always)]
pub(super) fn expand<L: Lanes, const SEEN: usize>(search: &mut Search<'_, L>, level: usize) -> Option<()> {
    let vectors = search.vectors;
    let Level { allowed, down, .. } = search.levels[level];
    let constants = Constants::<L> {
        allowed: allowed.map(|squares| vectors.all(squares)),
        down: down.map(|rows| vectors.rows(rows)),
    };
    pass::<L, true, SEEN>(search, level, &constants)?;
    while search.states[level].len > 0 {
        pass::<L, false, SEEN>(search, level, &constants)?;
    }
    Some(())
}

/// Gives each state of a row's array one child, and keeps the states with squares left. The first pass over an array
/// starts with all free squares.
#[inline(always)]
fn pass<L: Lanes, const FIRST: bool, const SEEN: usize>(
    search: &mut Search<'_, L>,
    level: usize,
    constants: &Constants<L>,
) -> Option<()> {
    if SEEN == LAST {
        pass_last::<L, FIRST>(search, level, constants);
        return Some(());
    }
    let vectors = search.vectors;
    let len = search.states[level].bury_end(L::N);
    let (mut at, mut kept) = (0, 0);
    loop {
        let (upper, lower) = search.states.split_at_mut(level + 1);
        let (from, to) = (&mut upper[level], &mut lower[0]);
        let mut end = to.len;
        while at < len && end <= CAPACITY {
            let child;
            // SAFETY: `at` is below `len`, and each turn keeps no more states than it takes; a vector fits behind
            // `CAPACITY`.
            unsafe {
                (child, kept) = from.turn::<L, FIRST>(vectors, at, kept, constants);
                end = to.append(vectors, end, child, child.dropped::<SEEN>(vectors, constants));
            }
            at += L::N;
        }
        search.count.work += (end - to.len) as u64;
        to.len = end;
        if at >= len {
            break;
        }
        search.expand(level + 1)?;
    }
    search.states[level].len = kept;
    Some(())
}

/// Does the same for the last searched row: its children have two rows left and are counted.
#[inline(always)]
fn pass_last<L: Lanes, const FIRST: bool>(
    search: &mut Search<'_, L>,
    level: usize,
    constants: &Constants<L>,
) {
    let vectors = search.vectors;
    let from = &mut search.states[level];
    let len = from.bury_end(L::N);
    let (mut at, mut kept) = (0, 0);
    let (mut work, mut solutions) = (0_u64, 0_u64);
    while at < len {
        let child;
        // SAFETY: `at` is less than `len`, and each turn keeps no more states than it takes.
        (child, kept) = unsafe { from.turn::<L, FIRST>(vectors, at, kept, constants) };
        at += L::N;
        let (survives, completions) = child.complete(vectors, constants);
        work += u64::from(survives);
        solutions += u64::from(completions);
    }
    from.len = kept;
    search.count.work += work;
    search.count.solutions += solutions;
}

impl States {
    /// Places a queen for each state of the vector from `at` and goes down to the next row. Stores states with squares
    /// left behind the first `kept`, and returns their new number.
    ///
    /// # Safety
    /// `at` must be less than the length, which is `CAPACITY + L::N` at most, and `kept` at most `at`.
    #[inline(always)]
    unsafe fn turn<L: Lanes, const FIRST: bool>(
        &mut self,
        vectors: L,
        at: usize,
        kept: usize,
        constants: &Constants<L>,
    ) -> (Lane<L>, usize) {
        debug_assert!(kept <= at && at < self.len && self.len <= CAPACITY + L::N);
        // SAFETY: a vector from `at` ends at `CAPACITY + 2 * L::N - 1` at most: within `WORDS`.
        let (states, untried) = unsafe {
            let states = Lane {
                columns: load(vectors, &self.columns, at),
                rising: load(vectors, &self.rising, at),
                falling: load(vectors, &self.falling, at),
            };
            let untried = if FIRST {
                states.free(vectors, constants.allowed[0])
            } else {
                load(vectors, &self.untried, at)
            };
            (states, untried)
        };
        let rest = vectors.and(untried, vectors.add(untried, vectors.all(u32::MAX)));
        let queen = vectors.xor(untried, rest);
        let done = vectors.mask(vectors.equal(rest, vectors.all(0)));
        let order = vectors.outside(done);
        // SAFETY: `kept` is at most `at`, from where a vector was loaded.
        unsafe {
            store(vectors, &mut self.columns, kept, states.columns, order);
            store(vectors, &mut self.rising, kept, states.rising, order);
            store(vectors, &mut self.falling, kept, states.falling, order);
            store(vectors, &mut self.untried, kept, rest, order);
        }
        let child = Lane {
            columns: vectors.xor(states.columns, queen),
            rising: vectors.or(states.rising, queen),
            falling: vectors.or(states.falling, queen),
        };
        (child.down(vectors, constants.down[0]), kept + L::N - vectors.count(done) as usize)
    }

    /// Stores the lanes that are not in `dropped` from `at`, and returns their end.
    ///
    /// # Safety
    /// `at` must be `CAPACITY` at most.
    #[inline(always)]
    unsafe fn append<L: Lanes>(&mut self, vectors: L, at: usize, child: Lane<L>, dropped: u32) -> usize {
        debug_assert!(at <= CAPACITY);
        let order = vectors.outside(dropped);
        // SAFETY: a vector from `at` ends at `CAPACITY + L::N` at most: within `WORDS`.
        unsafe {
            store(vectors, &mut self.columns, at, child.columns, order);
            store(vectors, &mut self.rising, at, child.rising, order);
            store(vectors, &mut self.falling, at, child.falling, order);
        }
        at + L::N - vectors.count(dropped) as usize
    }
}

impl<L: Lanes> Lane<L> {
    #[inline(always)]
    fn down(self, vectors: L, rows: L::Rows) -> Self {
        Self {
            columns: self.columns,
            rising: vectors.left(self.rising, rows),
            falling: vectors.right(self.falling, rows),
        }
    }

    #[inline(always)]
    fn free(self, vectors: L, allowed: L::V) -> L::V {
        vectors.without(vectors.or(self.rising, self.falling), vectors.and(self.columns, allowed))
    }

    /// Returns the lanes that the pruning rule drops (see [`surviving`](crate::pruning::surviving)).
    #[inline(always)]
    fn dropped<const SEEN: usize>(self, vectors: L, constants: &Constants<L>) -> u32 {
        let mut fewest = self.free(vectors, constants.allowed[1]);
        let mut reached = fewest;
        for i in 1..SEEN {
            let free = self.down(vectors, constants.down[i]).free(vectors, constants.allowed[i + 1]);
            fewest = vectors.min(fewest, free);
            reached = vectors.or(reached, free);
        }
        let empty = vectors.equal(fewest, vectors.all(0));
        // With more rows left than it looks at, the rule looks at one or two.
        if SEEN < 3 {
            return vectors.mask(empty);
        }
        let survives = vectors.without(empty, vectors.equal(reached, self.columns));
        !vectors.mask(survives) & ((1 << L::N) - 1)
    }

    /// Returns the number of lanes that the pruning rule lets through with two rows left, and their number of
    /// completions (see `last_two` of the portable kernel).
    #[inline(always)]
    fn complete(self, vectors: L, constants: &Constants<L>) -> (u32, u32) {
        let both = self.columns;
        let upper = self.free(vectors, constants.allowed[1]);
        let lower = self.down(vectors, constants.down[1]).free(vectors, constants.allowed[2]);
        let empty = vectors.equal(vectors.min(upper, lower), vectors.all(0));
        let reached = vectors.equal(vectors.or(upper, lower), both);
        let survives = vectors.mask(vectors.without(empty, reached));
        let attacked = vectors.and(both, vectors.right(both, constants.down[1]));
        let one_way = survives & vectors.mask(vectors.equal(attacked, vectors.all(0)));
        let other_way = one_way & vectors.mask(vectors.equal(vectors.and(upper, lower), both));
        (vectors.count(survives), vectors.count(one_way) + vectors.count(other_way))
    }
}

/// Loads the words of the states from `at`.
///
/// # Safety
/// There must be a vector of words from `at`.
#[inline(always)]
unsafe fn load<L: Lanes>(vectors: L, words: &Words, at: usize) -> L::V {
    debug_assert!(at + L::N <= words.len());
    // SAFETY: the caller keeps the vector in bounds.
    unsafe { vectors.load(words.as_ptr().add(at)) }
}

/// Stores the lanes of a vector from `at` in the given order.
///
/// # Safety
/// There must be a vector of words from `at`.
#[inline(always)]
unsafe fn store<L: Lanes>(vectors: L, words: &mut Words, at: usize, lanes: L::V, order: L::Order) {
    debug_assert!(at + L::N <= words.len());
    // SAFETY: the caller keeps the vector in bounds.
    unsafe { vectors.store(words.as_mut_ptr().add(at), vectors.permute(lanes, order)) };
}
