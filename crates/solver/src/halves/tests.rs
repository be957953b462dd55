//! Tests of the halves method's mathematics against boards of squares.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use crate::board::{BoardSize, Square};
use crate::halves::columns::{Columns, Middle, combination, members, n_combinations};
use crate::halves::footprint::{Half, footprint};
use crate::halves::parts::{Given, HALVES_DECOMPOSITION_VERSION, Subproblem, parts_in_lexicographic_order};
use crate::halves::specification::{self, Lists};
use crate::halves::transposition::{CentralRows, delta, gamma, weight};
use crate::part::halves_in_counting_order;

static NEVER: AtomicBool = AtomicBool::new(false);

fn size(n: u8) -> BoardSize {
    BoardSize::new(n).expect("a board size")
}

/// Returns a square of a half board, with its row counted from the middle.
fn square(n: u8, half: Half, row: u8, column: u8) -> Square {
    let row = if half == Half::Upper { n / 2 - row } else { n / 2 + n % 2 + row - 1 };
    Square { row, column }
}

#[test]
fn footprints_meet_where_queens_attack_each_other() {
    for n in (2..=16).chain([31, 32]) {
        let all = || (1..=n / 2).flat_map(|row| (0..n).map(move |column| (row, column)));
        for (upper, lower) in all().flat_map(|upper| all().map(move |lower| (upper, lower))) {
            if upper.1 == lower.1 {
                continue;
            }
            let [above, below] = [(Half::Upper, upper), (Half::Lower, lower)];
            let meet = |(half, (row, column))| footprint(size(n), half, row, column);
            let attack = |(half, (row, column))| square(n, half, row, column);
            let attacks = attack(above).attacks(attack(below));
            assert_eq!(meet(above) & meet(below) != 0, attacks, "n = {n}: {upper:?}, {lower:?}");
        }
    }
}

/// Returns all solutions of a board, by comparing squares: columns row by row.
fn solutions(n: u8) -> Vec<Vec<u8>> {
    let mut placed = vec![Vec::new()];
    for row in 0..n {
        let is_free = |columns: &Vec<u8>, column: u8| {
            let mut queens = (0..).zip(columns).map(|(row, &column)| Square { row, column });
            queens.all(|queen| !queen.attacks(Square { row, column }))
        };
        let free = |columns: &Vec<u8>| (0..n).filter(|&column| is_free(columns, column)).collect::<Vec<_>>();
        let more =
            |columns: &Vec<u8>| free(columns).into_iter().map(|c| [&columns[..], &[c]].concat()).collect();
        placed = placed.iter().flat_map(|columns| -> Vec<Vec<u8>> { more(columns) }).collect();
    }
    placed
}

/// Cuts a solution into the middle, the columns of its upper half board, and the weight of its pair.
fn cut(n: u8, solution: &[u8]) -> Option<(Middle, Columns, u64)> {
    let m = n / 2;
    let queen = (n % 2 == 1).then(|| solution[usize::from(m)]);
    let middle = Middle::all(size(n)).into_iter().find(|middle| middle.queen == queen)?;
    let above = || (1..=m).map(|row| (row, solution[usize::from(m - row)]));
    let below = || (1..=m).map(|row| (row, solution[usize::from(m + n % 2 + row - 1)]));
    let upper = above().map(|(_, column)| 1 << column).sum();
    // Sets with both central columns below are not canonical, so their result is not used.
    let mut central = [CentralRows::default(); 2];
    above()
        .filter(|&(_, column)| middle.is_central(column))
        .for_each(|(row, _)| central[0].add(Half::Upper, row));
    below()
        .filter(|&(_, column)| middle.is_central(column))
        .for_each(|(row, _)| central[1].add(Half::Lower, row));
    let first = |mut half: Box<dyn Iterator<Item = (u8, u8)>>| half.next().map(|(_, column)| column);
    let delta = delta(middle, first(Box::new(above())), first(Box::new(below())));
    Some((middle, upper, weight(gamma(central[0], central[1]), delta)))
}

/// The counted solutions stand for all, with and without the transposition. The portable version finds those of each
/// set.
#[test]
fn each_solution_is_counted_once() {
    for n in 0..=10 {
        let solutions = solutions(n);
        let (mut transposed, mut plain) = (0, 0);
        let mut sets: BTreeMap<(Option<u8>, Columns), u64> = BTreeMap::new();
        for (middle, upper, times) in solutions.iter().filter_map(|solution| cut(n, solution)) {
            let factor = u64::from(middle.factor(upper));
            transposed += u64::from(middle.weight()) * factor * times;
            plain += u64::from(middle.weight()) * factor;
            if factor > 0 {
                *sets.entry((middle.queen, upper)).or_default() += factor * times;
            }
        }
        // A middle row's queen in a corner column is counted only by the transposition.
        let is_left_out =
            |solution: &&Vec<u8>| n > 1 && n % 2 == 1 && [0, n - 1].contains(&solution[usize::from(n / 2)]);
        let n_left_out = solutions.iter().filter(is_left_out).count();
        assert_eq!(transposed, solutions.len() as u64, "n = {n}");
        assert_eq!(plain, (solutions.len() - n_left_out) as u64, "n = {n}");
        for middle in Middle::all(size(n)) {
            for upper in sets_of(middle) {
                let (lower, factor) = (middle.columns() & !upper, middle.factor(upper));
                let subproblem = Subproblem { upper, lower, factor, given: Given::default() };
                let count = specification::count(middle, &subproblem, &mut Lists::default(), &NEVER);
                let expected = sets.get(&(middle.queen, upper)).copied().unwrap_or(0);
                assert_eq!(
                    count.map(|count| count.solutions),
                    Some(expected),
                    "n = {n}, {middle:?}, {upper:b}"
                );
            }
        }
    }
}

/// Returns all sets of columns that the upper half board may have.
fn sets_of(middle: Middle) -> impl Iterator<Item = Columns> {
    let (columns, m) = (middle.outwards(), usize::from(middle.n_rows()));
    (0..n_combinations(columns.len(), m)).map(move |number| combination(&columns, m, number))
}

fn mirrored(n: u8, columns: Columns) -> Columns {
    members(columns).map(|column| 1 << (n - 1 - column)).sum()
}

/// Exactly one image of a set by mirroring and flipping is canonical, and it stands for all.
#[test]
fn one_image_of_each_set_is_canonical() {
    for n in 1..=14 {
        for middle in Middle::all(size(n)) {
            let columns = middle.columns();
            for upper in sets_of(middle) {
                let lower = columns & !upper;
                // Mirroring moves the middle row's queen to the other side, unless it is in the centre.
                let mut images = match middle.is_left() {
                    true => vec![upper, lower],
                    false => vec![upper, lower, mirrored(n, upper), mirrored(n, lower)],
                };
                images.sort_unstable();
                images.dedup();
                let n_sides = if middle.is_left() { 2 } else { 1 };
                let canonical: Vec<u8> =
                    images.iter().map(|&image| middle.factor(image)).filter(|&factor| factor > 0).collect();
                let [factor] = canonical[..] else { panic!("n = {n}: {upper:b}: {canonical:?}") };
                let stands_for = u32::from(factor) * u32::from(middle.weight());
                assert_eq!(stands_for as usize, images.len() * n_sides, "n = {n}: {upper:b}");
            }
        }
    }
}

#[test]
fn combinations_are_numbered_in_order_and_all_are_there() {
    for n in 0..=12_u8 {
        let of: Vec<u8> = (0..n).rev().collect();
        for k in 0..=usize::from(n) {
            let all: Vec<Columns> =
                (0..n_combinations(of.len(), k)).map(|number| combination(&of, k, number)).collect();
            // The first column is the highest bit here, so that lexicographic order is descending.
            assert!(all.windows(2).all(|pair| pair[0] > pair[1]), "{k} of {n}");
            assert!(all.iter().all(|set| set.count_ones() as usize == k && set >> n == 0), "{k} of {n}");
        }
    }
    assert_eq!(n_combinations(32, 16), 601_080_390);
}

/// The numbers of all parts together cover all canonical sets of columns, each once, with all fixed queens.
#[test]
fn parts_partition_the_sets_of_columns() {
    for n in 0..=17 {
        let mut found = BTreeMap::new();
        for part in parts_in_lexicographic_order(size(n)) {
            for number in 0..part.n_subproblems() {
                let Subproblem { upper, lower, factor, given } = part.subproblem(number);
                assert_eq!(given, Given::default());
                assert_eq!((upper | lower, upper & lower), (part.middle.columns(), 0));
                assert_eq!(part.weight(), part.middle.weight());
                if factor > 0 {
                    *found.entry((part.middle_queen(), upper)).or_insert(0) += 1;
                }
            }
        }
        let all = || {
            let sets = |middle: Middle| sets_of(middle).map(move |upper| (middle, upper));
            Middle::all(size(n)).into_iter().flat_map(sets)
        };
        let canonical = all().filter(|(middle, upper)| middle.factor(*upper) > 0);
        let expected: BTreeMap<_, _> = canonical.map(|(middle, upper)| ((middle.queen, upper), 1)).collect();
        assert_eq!(found, expected, "n = {n}");
    }
}

/// On large boards the numbers of a set run through the fixed queens, the last digit fastest.
#[test]
fn digits_give_each_queen_its_columns() {
    for (n, n_digits) in [(22, 0), (23, 1), (24, 1), (25, 2), (26, 2), (27, 3), (28, 3), (32, 3)] {
        let parts = parts_in_lexicographic_order(size(n));
        let part = parts[parts.len() / 3];
        let m = u64::from(n / 2);
        assert_eq!(part.n_given(), m.pow(n_digits), "n = {n}");
        let rank = part.n_sets() / 2;
        let numbers = rank * part.n_given()..(rank + 1) * part.n_given();
        let given: Vec<Given> = numbers.clone().map(|number| part.subproblem(number).given).collect();
        let key = |given: &Given| (given.lower_1, given.upper_1, given.lower_2);
        assert!(given.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])), "n = {n}");
        for number in numbers {
            let Subproblem { upper, lower, given, .. } = part.subproblem(number);
            assert_eq!(upper, part.set(rank), "n = {n}");
            let is_in = |columns: Columns, column: Option<u8>| column.is_none_or(|c| columns >> c & 1 == 1);
            assert!(
                is_in(lower, given.lower_1) && is_in(upper, given.upper_1) && is_in(lower, given.lower_2)
            );
            assert_eq!(part.queens(number).len(), n_digits as usize);
        }
    }
}

/// The recorded parts of every n and meanings of their numbers. A change requires a new version of the decomposition.
const PARTS: &str = include_str!("parts.csv");

#[test]
fn parts_are_what_they_were() {
    assert_eq!(HALVES_DECOMPOSITION_VERSION, 1);
    let rows: Vec<String> = BoardSize::range(0, 32).map(summary).collect();
    let expected = PARTS.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    assert!(expected.eq(&rows), "they are now\n{}", rows.join("\n"));
}

/// Returns a board's row in the table.
fn summary(n: BoardSize) -> String {
    let parts = halves_in_counting_order(n);
    let (mut n_subproblems, mut bytes) = (0, Vec::new());
    for part in &parts {
        bytes.extend([part.middle_queen().unwrap_or(u8::MAX), part.weight()]);
        bytes.extend(part.upper_columns().to_le_bytes());
        bytes.extend(part.lower_columns().to_le_bytes());
        bytes.extend(part.n_subproblems().to_le_bytes());
        for number in [part.n_subproblems() / 3, part.n_subproblems() - 1] {
            let Subproblem { upper, factor, given: Given { lower_1, upper_1, lower_2 }, .. } =
                part.subproblem(number);
            bytes.extend(upper.to_le_bytes());
            bytes.push(factor);
            bytes.extend([lower_1, upper_1, lower_2].map(|column| column.unwrap_or(u8::MAX)));
        }
        n_subproblems += u128::from(part.n_subproblems());
    }
    let digest = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{n},{},{n_subproblems},{digest:016x}", parts.len())
}
