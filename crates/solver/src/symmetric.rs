//! Counts the placements that a half-turn or a quarter-turn of the board leaves unchanged.
//!
//! Both searches place a queen together with its turned images, so that every partial placement is symmetric itself. A
//! symmetric placement also has symmetric attacks, which keeps the state small.
//!
//! Words with a bit for each square of a row or each diagonal, bit `c` for column `c` and `last` = n − 1:
//!
//! ```text
//!   rising diagonals   r + c          row r sees bits r .. r + n of the word:         word >> r
//!   falling diagonals  c + last − r   row r sees bits last − r .. last − r + n:       word >> (last − r)
//! ```
//!
//! A word has 2n − 1 ≤ 63 bits. The main diagonals are bit `last` of their words.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::board::BoardSize;

/// Counts the placements of n queens that a rotation by 180 degrees leaves unchanged (OEIS A032522).
///
/// This includes those that a rotation by 90 degrees leaves unchanged. Returns `None` if `stop` was set before the end
/// of the search, which checks it at least every 0.1 ms.
///
/// ```
/// # use std::sync::atomic::AtomicBool;
/// # use queens_solver::{BoardSize, half_turn};
/// assert_eq!(half_turn(BoardSize::new(12)?, &AtomicBool::new(false)), Some(80));
/// assert_eq!(half_turn(BoardSize::new(12)?, &AtomicBool::new(true)), None);
/// # Ok::<(), queens_solver::InvalidBoardSize>(())
/// ```
#[must_use]
pub fn half_turn(n: BoardSize, stop: &AtomicBool) -> Option<u64> {
    if stop.load(Ordering::Relaxed) {
        return None;
    }
    if n.get() <= 1 {
        return Some(1);
    }
    Pairs::new(n, stop).count()
}

/// Counts the placements of n queens that a rotation by 90 degrees leaves unchanged (OEIS A033148).
///
/// There are none unless n is a multiple of four or one more. Returns `None` if `stop` was set before the end of the
/// search, which checks it at every node.
///
/// ```
/// # use std::sync::atomic::AtomicBool;
/// # use queens_solver::{BoardSize, quarter_turn};
/// assert_eq!(quarter_turn(BoardSize::new(12)?, &AtomicBool::new(false)), Some(8));
/// assert_eq!(quarter_turn(BoardSize::new(12)?, &AtomicBool::new(true)), None);
/// # Ok::<(), queens_solver::InvalidBoardSize>(())
/// ```
#[must_use]
pub fn quarter_turn(n: BoardSize, stop: &AtomicBool) -> Option<u64> {
    if stop.load(Ordering::Relaxed) {
        return None;
    }
    match n.get() % 4 {
        _ if n.get() <= 1 => Some(1),
        // Queens off the centre come in fours, and the centre holds at most one.
        2 | 3 => Some(0),
        _ => Fours::new(n, stop).count(),
    }
}

/// With fewer free rows than this in the top half, a search does not check `stop`. Five rows have at most 10 + 10·8 +
/// 10·8·6 + … = 6330 nodes of about ten nanoseconds, as each queen takes a pair of columns.
const ROWS_BETWEEN_STOPS: usize = 6;

/// The search for placements unchanged by the half-turn; n ≥ 2.
///
/// A queen on (r, c) stands together with its image on (last − r, last − c). Hence rows and columns are filled in
/// mirrored pairs: the search covers only the rows of the top half, and a filled column fills its mirror column. A pair
/// on a main diagonal would attack itself, so main diagonals are attacked from the start. (For odd n the number of
/// queens is odd, so one stands in the centre. It attacks them and the central column too.)
///
/// Mirroring the board or turning it by 90 degrees takes half-turn placements to half-turn placements, so they come in
/// orbits of four (or of two, if the quarter-turn changes nothing). The two pairs on the lines next to the middle, one
/// in rows and one in columns, form a symmetric cross. The search takes one cross of each orbit, and weighs its
/// completions with the size of the cross's orbit: a fourth of the work, and no test at the leaves.
///
/// The other rows follow from the middle outwards. Central queens attack most squares, so dead ends come early.
///
/// Measured for n = 22, one thread: 2.2 M nodes, 26 ms. Rejected alternatives: rows from the outside inwards (6.7 M, 85
/// ms); the row with the fewest free squares first (2.1 M, 37 ms); no cross but the left half of the first row, twice
/// (4.1 M, 51 ms outwards; 12.3 M, 157 ms inwards); looking ahead two, three or all rows (a sixth of the nodes, no
/// time); no look-ahead (+ 7 % time); attacks from a table instead of shifts (+ 4 %); general last two rows (+ 16 %).
struct Pairs<'a> {
    /// n − 1, the number of the last row and column.
    last: u32,
    /// A bit for each column.
    row_mask: u64,
    stop: &'a AtomicBool,
}

/// The lines that the queens of a half-turn placement attack.
///
/// Invariant: turning the board by 180 degrees changes none of the words. Bit i of `columns` equals bit last − i, bit i
/// of `rising` and of `falling` equals bit 2·last − i.
#[derive(Clone, Copy)]
struct Attacked {
    columns: u64,
    rising: u64,
    falling: u64,
}

/// The queens next to the middle: a pair in the rows `arm` and last − `arm`, and a pair in the columns of the same
/// numbers. For even n these are the central lines, for odd n the lines beside them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SymmetricCross {
    /// The column of the queen in row `arm`.
    column: u32,
    /// The row of the queen in column `arm`.
    row: u32,
}

impl SymmetricCross {
    /// Returns the size of the cross's orbit if it is the least of its orbit, else 0.
    ///
    /// Up to the half-turn a cross has four images: itself, mirrored, transposed, and turned by 90 degrees (both). Only
    /// the last can be the same cross again. The same cross mirrored needs a queen in the middle of a line of odd
    /// length, which the centre's queen attacks. The same cross transposed needs two queens on one rising diagonal.
    fn weight(self, last: u32) -> u64 {
        let Self { column, row } = self;
        let mirrored = Self { column: last - column, row: last - row };
        let transposed = Self { column: row, row: column };
        let turned = Self { column: last - row, row: last - column };
        if self > mirrored || self > transposed || self > turned {
            0
        } else if self == turned {
            2
        } else {
            4
        }
    }
}

impl<'a> Pairs<'a> {
    fn new(n: BoardSize, stop: &'a AtomicBool) -> Self {
        let last = u32::from(n.get()) - 1;
        Self { last, row_mask: n.row_mask().into(), stop }
    }

    /// Counts all placements, cross by cross.
    ///
    /// The sum can't wrap: the top half of the board has at most 16 rows. There are 16! ways to give them pairs of
    /// mirrored columns, with two sides each. Even weighted, the sum is a number of different placements: at most 2¹⁶ ·
    /// 16! < 2⁶¹.
    fn count(&self) -> Option<u64> {
        // For n = 8 this is row (and column) 3, for n = 9 too: 4 is the centre's.
        let arm = self.last.div_ceil(2) - 1;
        let mut total = 0;
        for column in 0..=self.last {
            // On an odd board row last / 2 holds the centre's queen.
            for row in (0..=self.last).filter(|row| 2 * row != self.last) {
                let cross = SymmetricCross { column, row };
                let weight = cross.weight(self.last);
                if weight > 0
                    && let Some(attacked) = self.place_cross(arm, cross)
                {
                    let row_on_top = row.min(self.last - row);
                    let rows: Vec<u32> = (0..arm).rev().filter(|&r| r != row_on_top).collect();
                    let free = rows.first().map_or(0, |&r| self.free(attacked, r));
                    total += weight * self.completions(attacked, free, &rows)?;
                }
            }
        }
        Some(total)
    }

    /// Returns the state after a cross, or `None` if its queens attack each other or the centre's.
    ///
    /// No queen of a cross serves a row and a column at once: the crossing squares are on main diagonals.
    fn place_cross(&self, arm: u32, cross: SymmetricCross) -> Option<Attacked> {
        let main_diagonal = 1 << self.last;
        let centre = if self.last.is_multiple_of(2) { 1 << (self.last / 2) } else { 0 };
        let empty = Attacked { columns: centre, rising: main_diagonal, falling: main_diagonal };
        let with_row = self.try_place(empty, arm, 1 << cross.column)?;
        self.try_place(with_row, cross.row, 1 << arm)
    }

    fn try_place(&self, attacked: Attacked, row: u32, queen: u64) -> Option<Attacked> {
        (self.free(attacked, row) & queen != 0).then(|| self.place(attacked, row, queen))
    }

    /// Returns the squares of a row that no queen attacks.
    #[inline(always)]
    fn free(&self, attacked: Attacked, row: u32) -> u64 {
        let diagonals = attacked.rising >> row | attacked.falling >> (self.last - row);
        !(attacked.columns | diagonals) & self.row_mask
    }

    /// Adds a queen, given as a bit, and its image in row last − `row`.
    #[inline(always)]
    fn place(&self, attacked: Attacked, row: u32, queen: u64) -> Attacked {
        let image = (1 << self.last) >> queen.trailing_zeros();
        // In row r, square c is on rising diagonal r + c and falling diagonal c + last − r. The image is in row
        // last − r, so the two shifts change places.
        let opposite = self.last - row;
        Attacked {
            columns: attacked.columns | queen | image,
            rising: attacked.rising | queen << row | image << opposite,
            falling: attacked.falling | queen << opposite | image << row,
        }
    }

    /// Counts the ways to fill `rows`, the free rows of the top half, in the order given.
    ///
    /// `free` are the free squares of the first of them. The caller knows them because it looks one row ahead: it drops
    /// a child whose next row is full before that costs a call.
    fn completions(&self, attacked: Attacked, mut free: u64, rows: &[u32]) -> Option<u64> {
        if rows.len() >= ROWS_BETWEEN_STOPS && self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let mut total = 0;
        match *rows {
            // The cross has filled the board (n = 4 and 5).
            [] => total = 1,
            // One pair of mirrored columns is left, so at most two squares, and either one completes the placement.
            [_] => total = one_or_two(free),
            // The second last row holds most of the nodes, so its children cost no call.
            [row, last_row] => {
                while free != 0 {
                    let queen = free & free.wrapping_neg();
                    free ^= queen;
                    total += one_or_two(self.free(self.place(attacked, row, queen), last_row));
                }
            }
            [row, next_row, ..] => {
                while free != 0 {
                    let queen = free & free.wrapping_neg();
                    free ^= queen;
                    let child = self.place(attacked, row, queen);
                    let free_next = self.free(child, next_row);
                    if free_next != 0 {
                        total += self.completions(child, free_next, &rows[1..])?;
                    }
                }
            }
        }
        Some(total)
    }
}

/// Returns the number of bits of a word that has at most two (cheaper than a population count without the instruction).
#[inline(always)]
fn one_or_two(word: u64) -> u64 {
    u64::from(word != 0) + u64::from(word & word.wrapping_sub(1) != 0)
}

/// The search for placements unchanged by the quarter-turn; n = 4k or 4k + 1, n ≥ 4.
///
/// A queen on (r, c) stands together with (c, last − r), (last − r, last − c) and (last − c, r). These four fill the
/// rows r, c, last − r, last − c *and the columns of the same numbers*. So one word of free lines serves both. The turn
/// takes rising diagonals to falling ones. The four stand on the rising diagonals r + c, last + c − r and their mirrors
/// 2·last − i, and on the falling diagonals of the same numbers. So one word serves both again. After some fours the
/// board has a row and a column of each free line left:
///
/// ```text
///   n = 8, a queen on (0, 2) and its images; lines 0, 2, 5 and 7 are filled
///   . . Q . . . . .
///   . . . . . . . .
///   . . . . . . . Q
///   . . . . . . . .
///   . . . . . . . .
///   Q . . . . . . .
///   . . . . . . . .
///   . . . . . Q . .
/// ```
///
/// The four attack each other only if the queen is on a main diagonal (attacked from the start) or a central line
/// (filled from the start by the centre's queen, n odd).
struct Fours<'a> {
    /// n − 1, the number of the last row and column.
    last: u32,
    /// A bit for each line, the centre's included.
    lines: u64,
    /// A bit for each line before the middle.
    near_half: u64,
    stop: &'a AtomicBool,
}

impl<'a> Fours<'a> {
    fn new(n: BoardSize, stop: &'a AtomicBool) -> Self {
        let last = u32::from(n.get()) - 1;
        let near_half = (1 << (n.get() / 2)) - 1;
        Self { last, lines: n.row_mask().into(), near_half, stop }
    }

    /// Counts all placements. The sum can't wrap, as these are some of the half-turn's (see [`Pairs::count`]).
    fn count(&self) -> Option<u64> {
        let centre = if self.last.is_multiple_of(2) { 1 << (self.last / 2) } else { 0 };
        self.completions(self.lines & !centre, 1 << self.last)
    }

    /// Counts the ways to fill the free lines. Invariant: their set is its own mirror image, and so is `diagonals`.
    fn completions(&self, free_lines: u64, diagonals: u64) -> Option<u64> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        if free_lines == 0 {
            return Some(1);
        }
        // Every free row gets a queen in the end, so any rule that picks one finds each placement once. The row nearest
        // the middle takes half as long as the outermost. One exists: a mirrored set of lines without the centre has
        // half of its lines before the middle.
        let row = (free_lines & self.near_half).ilog2();
        let opposite = self.last - row;
        let attacked = diagonals >> row | diagonals >> opposite;
        let mut free = free_lines & !attacked;
        let mut total = 0;
        while free != 0 {
            let column = free.trailing_zeros();
            free &= free - 1;
            // The shifts of columns c and last − c mark the four's diagonals: r + c, r + last − c, last − r + c and
            // 2·last − r − c.
            let columns = 1 << column | 1 << (self.last - column);
            let rows = 1 << row | 1 << opposite;
            let marked = diagonals | columns << row | columns << opposite;
            total += self.completions(free_lines & !(columns | rows), marked)?;
        }
        Some(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Square;

    const COUNTS: &str = include_str!("../counts.csv");

    static GO_ON: AtomicBool = AtomicBool::new(false);
    static STOP: AtomicBool = AtomicBool::new(true);

    fn size(n: u8) -> BoardSize {
        BoardSize::new(n).expect("a board size")
    }

    #[track_caller]
    fn check_half_turn(n: u8, expected: u64) {
        assert_eq!(half_turn(size(n), &GO_ON), Some(expected), "half-turn, n = {n}");
    }

    #[track_caller]
    fn check_quarter_turn(n: u8, expected: u64) {
        assert_eq!(quarter_turn(size(n), &GO_ON), Some(expected), "quarter-turn, n = {n}");
    }

    /// Returns the size and the two symmetric counts of each row of the table.
    fn known() -> Vec<(u8, u64, u64)> {
        let parse = |line: &str| {
            let fields: Vec<u64> = line.split(',').map(|field| field.parse().unwrap_or(u64::MAX)).collect();
            (u8::try_from(fields[0]).expect("a board size"), fields[3], fields[4])
        };
        COUNTS.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).map(parse).collect()
    }

    #[test]
    fn half_turn_counts_are_the_known_ones() {
        let known: Vec<_> = known().into_iter().filter(|&(n, ..)| n <= 24).collect();
        assert_eq!(known.len(), 25);
        for (n, half_turn, _) in known {
            check_half_turn(n, half_turn);
        }
    }

    #[test]
    fn quarter_turn_counts_are_the_known_ones() {
        let known = known();
        assert_eq!(known.len(), 28);
        for (n, _, quarter_turn) in known {
            check_quarter_turn(n, quarter_turn);
        }
        // Past the table: OEIS A033148.
        check_quarter_turn(28, 32896);
        check_quarter_turn(29, 43776);
        check_quarter_turn(30, 0);
        check_quarter_turn(31, 0);
        check_quarter_turn(32, 406_784);
    }

    /// Adds a queen in the next row in every way, and passes each full placement to `visit`.
    fn for_each_placement(n: u8, queens: &mut Vec<Square>, visit: &mut impl FnMut(&[Square])) {
        let row = u8::try_from(queens.len()).expect("at most one queen a row");
        if row == n {
            return visit(queens);
        }
        for column in 0..n {
            let queen = Square { row, column };
            if !queens.iter().any(|other| other.attacks(queen)) {
                queens.push(queen);
                for_each_placement(n, queens, visit);
                queens.pop();
            }
        }
    }

    #[track_caller]
    fn check_against_all_placements(n: u8) {
        let (mut halves, mut quarters) = (0, 0);
        for_each_placement(n, &mut Vec::new(), &mut |queens| {
            let turned = |q: &Square| Square { row: q.column, column: n - 1 - q.row };
            quarters += u64::from(queens.iter().all(|q| queens.contains(&turned(q))));
            halves += u64::from(queens.iter().all(|q| queens.contains(&turned(&turned(q)))));
        });
        check_half_turn(n, halves);
        check_quarter_turn(n, quarters);
    }

    #[test]
    fn counts_agree_with_a_filter_over_all_placements() {
        for n in 0..=9 {
            check_against_all_placements(n);
        }
    }

    #[test]
    fn a_stop_before_the_start_gives_no_count() {
        for n in BoardSize::range(0, 32) {
            assert_eq!(half_turn(n, &STOP), None, "half-turn, n = {n}");
            assert_eq!(quarter_turn(n, &STOP), None, "quarter-turn, n = {n}");
        }
    }

    // Tests the searches without their first check of `stop`. Sizes rise, so that a search that does not stop fails on
    // a small board before it hangs on a large one.
    #[test]
    fn a_running_search_sees_the_stop() {
        for n in BoardSize::range(18, 32) {
            assert_eq!(Pairs::new(n, &STOP).count(), None, "half-turn, n = {n}");
            assert_eq!(Fours::new(n, &STOP).count(), None, "quarter-turn, n = {n}");
        }
    }
}
