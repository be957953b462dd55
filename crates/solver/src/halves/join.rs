//! The vectored join: counts the pairs of placements that fit, for the columns of a subproblem.
//!
//! The loops, from the outermost to the innermost, with what each makes for those inside it. The [parent module](super)
//! explains the terms. A [`Shape`] has the rows at which each stage ends.
//!
//! ```text
//!   columns of both half boards        heads and buckets of tails                   Join::take
//!   └ first lower queen                lower groups; first level: upper lists       Join::count_below
//!     │                                filtered by this queen
//!     └ second lower queen (n ≥ 28)    next level: the first, filtered by it        Level::filter
//!       └ lower group, 128 blocks                                                   Pieces::join
//!         └ first upper queen          weights of pairs
//!           └ upper list               list filtered by the group's last queen;
//!             │                        group sifted by the list's queens
//!             └ leaf row (n ≥ 26)      list filtered by one more lower queen        Pieces::descend
//!               └ 1,024 of the list    bit planes, tables                           Leaf::piece
//!                 └ lower node         `and` of the planes of its queens
//!                   └ lower placement  step: 1,024 pairs at once                    Vectors::steps
//! ```
//!
//! - *Columns come first*, because making lists is a fifth of all work at n = 24 and lists belong to the columns. With
//!   first queens outside, each would need the lists of all columns again.
//! - *Lower queens come before upper queens.* Upper lists are filtered once for the first lower queen, and all groups with
//!   that queen share the result.
//! - *A list is filtered before its group is sifted*: if no upper placement is left, there is no need for a sieve.
//! - *128 blocks*, because a placement that passed the sieve is stored as a number of 16 bits.
//! - *1,024 lanes*, because the four tables then take 41 to 51 KB at n = 20 to 28, about a first-level cache.
//! - *The first upper queen has a loop of its own*, because pairs are counted, as work, by the first queens, and because
//!   the first queens of both half boards decide which pairs weigh two. Pairs of weight one are few. They are joined
//!   together, once for each first upper queen ([`Pieces::join_equal`]).
//!
//! Prototypes tried and dropped: testing single pairs by vectors, with the lower placements in a trie (44 to 64 cycles
//! for eight solutions, 27 to 43 for the prototype of this join at n = 22 and 24); merging placements with equal
//! footprints (95 to 98 % differ); tables for three rows (making them takes longer than they save); fixing the queens of
//! the middle rows and central columns first (each choice makes its own lists). The module `avx512` has the cost of each
//! loop, and its own failed attempts.

use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::board::BoardSize;
use crate::halves::columns::{Columns, Middle};
use crate::halves::footprint::Half;
use crate::halves::join_group::{Halves, Pieces, Work};
use crate::halves::lines::Words;
use crate::halves::lower::{First, Group, Lower};
use crate::halves::parts::{Given, Subproblem};
use crate::halves::placements::{Found, Parts, Path};
use crate::halves::shape::Shape;
use crate::halves::side::Side;
use crate::halves::unit::Joined;
use crate::halves::upper::{Level, Upper, Wanted, Weighing};
use crate::halves::vectors::{MAX_BLOCKS, Vectors};

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

impl<V: Vectors> Join<V> {
    pub(crate) fn new(vectors: V, middle: Middle) -> Self {
        Self::with_shape(vectors, middle, Shape::of(middle.n))
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
            work: Work::new(shape),
        }
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
}

/// A [`Join`] by any vectors.
pub(crate) trait Joiner: Debug + Send + Sync {
    fn n(&self) -> BoardSize;
    /// Counts the pairs of a subproblem; `None` if it was stopped.
    fn count(&mut self, subproblem: &Subproblem, stop: &AtomicBool) -> Option<Joined>;
    /// Returns the memory of its lists, in bytes.
    fn memory(&self) -> usize;
}

impl<V: Vectors> Joiner for Join<V> {
    fn n(&self) -> BoardSize {
        self.middle.n
    }

    fn count(&mut self, subproblem: &Subproblem, stop: &AtomicBool) -> Option<Joined> {
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

    fn memory(&self) -> usize {
        self.found.memory()
            + self.upper_parts.memory()
            + self.lower_parts.value.memory()
            + self.upper.value.memory()
            + self.lower.value.memory()
            + self.level.value.memory()
            + self.next_level.memory()
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
