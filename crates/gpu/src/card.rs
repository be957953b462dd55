//! Counts subproblems on a card, in batches of sets of columns.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use queens_solver::{ColumnSet, Count, HalvesPart};

use crate::arena::{
    Arena, Board, CURSOR_BYTES, CURSORS, Cursors, END_OF_PIECES, Items, N_GROWING, NEXT_PIECE, SetOnCard,
    binomials,
};
use crate::device::{CardError, Device, JOIN, LISTS, Stage, TAILS};
use crate::pace::Pace;
use crate::shape::Shape;

/// Sets in a batch, at most.
const MOST_SETS: usize = 512;

/// A batch of several sets that takes longer is followed by smaller ones, which need less memory and are done sooner.
/// If one set is expected to take longer, the host waits for each kernel, so that it can stop after it.
const LONGEST_BATCH: Duration = Duration::from_millis(500);

/// A launch that joins is meant to take this long, at most. After it the host can stop, and the card can draw a screen.
/// Batches that are expected to take less are joined at once.
const LONGEST_JOIN: Duration = Duration::from_millis(50);

/// A set that takes longer is followed by parts of sets, but not by less than a quarter: each part has the upper lists
/// of its set made again. At n = 28 these take a few tenths of a second on a card that joins the set in one.
const LONGEST_SET: Duration = Duration::from_secs(2);
const LEAST_OF_SET: u64 = 4;

/// Batches without room, one after another, before a card is given up. Nine halvings lead from 512 sets to one, and
/// twelve from its 2,744 subproblems to one. Then each array may turn out to be too small once.
const MOST_TRIES: u32 = 32;

/// What became of a batch.
enum Batch {
    Counted(Count),
    NoRoom,
    Stopped,
}

/// A card that counts boards of one size.
pub struct Card {
    device: Box<dyn Device>,
    shape: Shape,
    /// Items of each growing array per set, of the batches so far.
    needs: Items,
    /// Sets in the next batch.
    n_sets: usize,
    /// The most numbers of a set in a batch.
    most_numbers: u64,
    /// Pieces that one launch joins.
    pieces_at_once: u64,
    pace: Pace,
    /// The tails on the card, and the board and middle row's queen that they are for.
    tails: Option<((u8, Option<u8>), Arena)>,
}

impl Card {
    pub(crate) fn new(device: Box<dyn Device>, shape: Shape) -> Self {
        let (needs, pieces_at_once) = (first_needs(shape), device.n_blocks().into());
        let (n_sets, most_numbers) = (1, u64::MAX);
        let pace = Pace::new(LONGEST_JOIN);
        Self { device, shape, needs, n_sets, most_numbers, pieces_at_once, pace, tails: None }
    }

    /// Returns the seconds that each kernel has taken, by its name; empty if that is not known.
    #[must_use]
    pub fn seconds(&self) -> Vec<(&'static str, f64)> {
        self.device.seconds()
    }

    /// Counts the subproblems of a part with these numbers; numbers past the last hold nothing. The count is that of
    /// [`Subproblems::count`](queens_solver::Subproblems::count), solutions and units.
    ///
    /// Returns `None` if `stop` was set before the end. Then nothing was counted.
    ///
    /// # Errors
    /// If the card fails.
    pub fn count(
        &mut self,
        part: &HalvesPart,
        numbers: Range<u64>,
        stop: &AtomicBool,
    ) -> Result<Option<Count>, CardError> {
        let n = part.n().get();
        if Shape::of(n) != Some(self.shape) {
            return Err(CardError::BoardSize);
        }
        let board = Board { n, middle: part.middle_queen(), shape: self.shape, n_digits: part.n_digits() };
        let Some(tails) = self.tails(board, stop)? else { return Ok(None) };
        let mut sum = Count::default();
        let mut waiting: VecDeque<ColumnSet> = VecDeque::new();
        let mut sets = part.column_sets(numbers);
        let mut n_failed = 0;
        loop {
            while waiting.len() < self.n_sets
                && let Some(set) = sets.next()
            {
                waiting.push_back(set);
            }
            self.divide_first(&mut waiting);
            if waiting.is_empty() {
                return Ok(Some(sum));
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let batch: Vec<ColumnSet> = waiting.drain(..waiting.len().min(self.n_sets)).collect();
            match self.count_batch(board, &tails, part, &batch, stop)? {
                Batch::Stopped => return Ok(None),
                Batch::Counted(count) => {
                    sum = sum.checked_add(count).ok_or_else(too_much)?;
                    n_failed = 0;
                }
                // The next batch's arrays follow the needs seen now, so the same sets may have room then.
                Batch::NoRoom => {
                    n_failed += 1;
                    if n_failed > MOST_TRIES {
                        return Err(CardError::TooLittleMemory(self.device.memory() >> 20));
                    }
                    let again = if let [set] = &batch[..] { halved(set.clone()) } else { batch };
                    again.into_iter().rev().for_each(|set| waiting.push_front(set));
                }
            }
        }
    }

    /// Makes the tails of a board with its middle row's queen, unless they are on the card. `None` if `stop` was set
    /// before the end.
    fn tails(&mut self, board: Board, stop: &AtomicBool) -> Result<Option<Arena>, CardError> {
        let of = (board.n, board.middle);
        if let Some((made, arena)) = &self.tails
            && *made == of
        {
            return Ok(Some(arena.clone()));
        }
        self.tails = None;
        let memory = self.device.memory();
        let mut arena = Arena::of_tails(board, 0);
        let find = |device: &mut dyn Device, arena: &Arena, stages: &[Stage]| {
            if arena.bytes > memory {
                return Err(CardError::TooLittleMemory(memory >> 20));
            }
            device.write(0, &arena.params(board, 0))?;
            device.write(arena.binomials_at(), &binomials())?;
            let mut found = 0;
            for stage in stages {
                device.start(stage)?;
                found = cursors(device)?.n_tails();
                if stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
            }
            Ok(Some(found))
        };
        // Without room for any, so that they are only counted.
        let found = find(&mut *self.device, &arena, &TAILS[..2])?;
        let Some(n_tails) = found else { return Ok(None) };
        arena = Arena::of_tails(board, n_tails);
        if find(&mut *self.device, &arena, &TAILS)?.is_some() {
            self.tails = Some((of, arena));
        }
        Ok(self.tails.as_ref().map(|(_, arena)| arena.clone()))
    }

    /// Divides the first set until it has no more numbers than a batch may have.
    fn divide_first(&self, waiting: &mut VecDeque<ColumnSet>) {
        while let Some(set) = waiting.front()
            && set.numbers.end - set.numbers.start > self.most_numbers
            && let Some(set) = waiting.pop_front()
        {
            halved(set).into_iter().rev().for_each(|set| waiting.push_front(set));
        }
    }

    /// Counts some sets at once.
    fn count_batch(
        &mut self,
        board: Board,
        tails: &Arena,
        part: &HalvesPart,
        sets: &[ColumnSet],
        stop: &AtomicBool,
    ) -> Result<Batch, CardError> {
        let memory = self.device.memory();
        let n_blocks = self.device.n_blocks();
        let Some(arena) = tails.with_batch(board, sets.len(), n_blocks, &self.needs, memory) else {
            self.n_sets = (sets.len() / 2).max(1);
            return if sets.len() > 1 {
                Ok(Batch::NoRoom)
            } else {
                Err(CardError::TooLittleMemory(memory >> 20))
            };
        };
        let began = Instant::now();
        let expected = self.pace.of_sets(sets.len());
        let on_card: Vec<u8> = sets.iter().flat_map(|set| on_card(board, part, set).bytes()).collect();
        self.device.write(0, &arena.params(board, sets.len()))?;
        self.device.write(arena.sets_at(), &on_card)?;
        for stage in LISTS {
            self.device.start(stage)?;
            if sets.len() == 1 && expected > LONGEST_BATCH {
                cursors(&mut *self.device)?;
                if stop.load(Ordering::Relaxed) {
                    return Ok(Batch::Stopped);
                }
            }
        }
        let Some((cursors, solutions)) = self.join(&arena, expected, stop)? else {
            return Ok(Batch::Stopped);
        };
        let taken = began.elapsed();
        let n_given = (self.shape.m as u64).pow(u32::from(board.n_digits));
        let is_partial = sets.iter().any(|set| set.numbers.end - set.numbers.start < n_given);
        self.learn(board, tails, sets.len(), is_partial, &cursors);
        let n_numbers = sets.iter().map(|set| set.numbers.end - set.numbers.start).max().unwrap_or(1);
        self.bound_time(n_given, sets.len(), n_numbers, taken);
        if cursors.overflowed() {
            return Ok(Batch::NoRoom);
        }
        self.pace.learn(taken, sets.len(), is_partial);
        let cube = (self.shape.m as usize).pow(3);
        let mut sums = [vec![0; 4 * cube * sets.len()], vec![0; 4 * cube * sets.len()]];
        for (bytes, at) in sums.iter_mut().zip(arena.sums_at()) {
            self.device.read(at, bytes)?;
        }
        let [upper, lower] = sums.map(|bytes| {
            let words = bytes.as_chunks().0.iter().map(|bytes| u64::from(u32::from_le_bytes(*bytes)));
            words.collect::<Vec<u64>>()
        });
        let mut work = 0u64;
        for ((set, upper), lower) in sets.iter().zip(upper.chunks(cube)).zip(lower.chunks(cube)) {
            let of_set = work_of(board, part, set, upper, lower).ok_or_else(too_much)?;
            work = work.checked_add(of_set).ok_or_else(too_much)?;
        }
        Ok(Batch::Counted(Count { solutions, work }))
    }

    /// Joins the pieces of a batch that should take this long. Returns the cursors and the solutions; `None` if `stop`
    /// was set before the end.
    fn join(
        &mut self,
        arena: &Arena,
        expected: Duration,
        stop: &AtomicBool,
    ) -> Result<Option<(Cursors, u64)>, CardError> {
        if expected < LONGEST_JOIN {
            // All kernels in one go.
            self.device.start(JOIN)?;
            let cursors = cursors(&mut *self.device)?;
            return Ok(Some((cursors, self.sum_of_blocks(arena)?)));
        }
        let cursors = cursors(&mut *self.device)?;
        let n_pieces = if cursors.overflowed() { 0 } else { cursors.n_pieces() };
        let (mut first, mut sum) = (0, 0u64);
        while first < n_pieces {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let (began, end) = (Instant::now(), n_pieces.min(first.saturating_add(self.pieces_at_once)));
            for (at, number) in [(NEXT_PIECE, first), (END_OF_PIECES, end)] {
                let number = u32::try_from(number).map_err(|_| too_much())?;
                self.device.write(at, &number.to_le_bytes())?;
            }
            self.device.start(JOIN)?;
            sum = sum.checked_add(self.sum_of_blocks(arena)?).ok_or_else(too_much)?;
            let taken = began.elapsed();
            if taken > LONGEST_JOIN {
                // At least one for each block.
                self.pieces_at_once = (self.pieces_at_once / 2).max(self.device.n_blocks().into());
            } else if taken < LONGEST_JOIN / 2 && end - first == self.pieces_at_once {
                self.pieces_at_once = self.pieces_at_once.saturating_mul(2);
            }
            first = end;
        }
        Ok(Some((cursors, sum)))
    }

    /// Returns the solutions that the blocks of the last join have found.
    fn sum_of_blocks(&mut self, arena: &Arena) -> Result<u64, CardError> {
        let mut out = vec![0; 8 * self.device.n_blocks() as usize];
        self.device.read(arena.out_at(), &mut out)?;
        let mut solutions = out.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        solutions.try_fold(0u64, u64::checked_add).ok_or_else(too_much)
    }

    /// Adapts the number of sets in a batch, and the sizes of arrays, to what a batch needed.
    fn learn(&mut self, board: Board, tails: &Arena, n_sets: usize, is_partial: bool, cursors: &Cursors) {
        let needed = &cursors.items();
        if cursors.overflowed() {
            // An array behind the one that overflowed has seen only some of its items.
            for (need, &here) in self.needs.iter_mut().zip(needed) {
                *need = (*need).max(here / n_sets as u64 + 1);
            }
            self.n_sets = (n_sets / 2).max(1);
            return;
        }
        // A small batch, as at the end of a span or in a check, says little of the others.
        let is_small = 2 * n_sets < self.n_sets;
        for (need, &here) in self.needs.iter_mut().zip(needed) {
            let here = here / n_sets as u64 + 1;
            *need = here.max(if is_small || is_partial { *need } else { *need - *need / 8 });
        }
        let most = if is_partial { self.n_sets } else { (2 * n_sets).max(self.n_sets).clamp(1, MOST_SETS) };
        // Twice what the last batches needed must have room.
        let has_room = |&n: &usize| {
            tails
                .with_batch(board, n, self.device.n_blocks(), &self.needs, self.device.memory())
                .is_some_and(|arena| arena.holds(&self.needs, 2 * n as u64))
        };
        self.n_sets =
            (0..).map(|halvings| most >> halvings).take_while(|&n| n > 0).find(has_room).unwrap_or(1);
    }

    /// Makes the next batch smaller if one took too long, and lets parts of sets grow again if one took a quarter of
    /// that.
    fn bound_time(&mut self, of_set: u64, n_sets: usize, n_numbers: u64, taken: Duration) {
        if taken > LONGEST_BATCH {
            self.n_sets = self.n_sets.min((n_sets / 2).max(1));
        }
        if taken > LONGEST_SET && n_sets == 1 {
            self.most_numbers = (n_numbers / 2).max(of_set / LEAST_OF_SET).max(1);
        } else if taken < LONGEST_SET / 4 && n_numbers >= self.most_numbers {
            self.most_numbers = self.most_numbers.saturating_mul(2);
        }
    }
}

fn cursors(device: &mut dyn Device) -> Result<Cursors, CardError> {
    let mut cursors = Cursors([0; CURSOR_BYTES]);
    device.read(CURSORS as u64, &mut cursors.0)?;
    Ok(cursors)
}

fn too_much() -> CardError {
    CardError::Driver("the count exceeds 64 bits".to_owned())
}

/// Returns what a set needs at first, before anything is known: for m = 11, as measured; each further row needs three
/// times as much.
fn first_needs(shape: Shape) -> Items {
    const AT_11: [u64; N_GROWING] = [40_000, 300_000, 300_000, 1_500_000, 0, 4_000, 1_000_000, 4_500];
    AT_11.map(|need| {
        let need = (11..shape.m).fold(need, |need, _| 3 * need);
        (shape.m..11).fold(need, |need, _| need / 2) + 1_000
    })
}

/// Returns the halves of the only set's numbers; the set itself if it has only one.
fn halved(set: ColumnSet) -> Vec<ColumnSet> {
    let Range { start, end } = set.numbers;
    if end - start < 2 {
        return vec![set];
    }
    let middle = start + (end - start) / 2;
    [start..middle, middle..end].map(|numbers| ColumnSet { numbers, ..set.clone() }).to_vec()
}

/// Returns a set as the kernels see it.
fn on_card(board: Board, part: &HalvesPart, set: &ColumnSet) -> SetOnCard {
    let n = u32::from(board.n);
    let m = board.shape.m;
    let weighing = match part.middle_queen() {
        Some(queen) if u32::from(queen) < n / 2 => [1, n / 2 - u32::from(queen)],
        Some(_) => [0, 0],
        None => {
            let central = 0b11 << (n / 2 - 1);
            [if set.upper & central == central { 2 } else { 3 }, 0]
        }
    };
    let word = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let numbers = [word(set.numbers.start), word(set.numbers.end)];
    // Ranks of the first rows' queens that some number has.
    let mut first = [(1 << m) - 1; 2];
    if board.n_digits > 0 {
        let of_digit = m.pow(u32::from(board.n_digits) - 1);
        let (from, to) = (numbers[0] / of_digit, (numbers[1] - 1) / of_digit);
        first[1] = (from..=to).map(|rank| 1 << rank).sum();
        if from == to && board.n_digits > 1 {
            let of_digit_2 = of_digit / m;
            let within = |number: u32| number % of_digit / of_digit_2;
            first[0] = (within(numbers[0])..=within(numbers[1] - 1)).map(|rank| 1 << rank).sum();
        }
    }
    SetOnCard { columns: [set.upper, set.lower], first, numbers, factor: set.factor.into(), weighing }
}

/// Returns the units of a set's subproblems; `None` if they exceed 64 bits, which no right numbers do. `upper` and
/// `lower` are numbers of placements by the first upper, first lower and second lower queen.
fn work_of(board: Board, part: &HalvesPart, set: &ColumnSet, upper: &[u64], lower: &[u64]) -> Option<u64> {
    let m = board.shape.m as usize;
    let pairs = |u: usize, a: usize, b: usize| {
        let at = (u * m + a) * m + b;
        u128::from(upper[at]) * u128::from(lower[at])
    };
    let all = 0..m;
    let of_number = |number: u64| -> u128 {
        let digits = usize::try_from(number).unwrap_or(0);
        match board.n_digits {
            0 => all
                .clone()
                .flat_map(|u| all.clone().map(move |a| (u, a)))
                .map(|(u, a)| all.clone().map(|b| pairs(u, a, b)).sum::<u128>())
                .sum(),
            1 => all.clone().map(|u| all.clone().map(|b| pairs(u, digits, b)).sum::<u128>()).sum(),
            2 => all.clone().map(|b| pairs(digits % m, digits / m, b)).sum(),
            _ => pairs(digits / m % m, digits / (m * m), digits % m),
        }
    };
    set.numbers.clone().try_fold(0u64, |sum, number| sum.checked_add(part.units(of_number(number))))
}
