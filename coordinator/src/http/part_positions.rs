//! The position of each part on the map of a job.

use std::collections::BTreeMap;

use queens_solver::{BoardSize, HalvesPart, Part, Plan, Symmetry, cross_lines};

/// The widest row of a map of halves. If there are more parts, neighbours share a cell.
const WIDEST: usize = 32;

/// A cell of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MapPosition {
    /// For crosses, the column of the queen on the first of the two central rows. For halves of a board with a middle
    /// row, the column of the queen there; for other halves, only a row of the map.
    pub(super) first: u8,
    /// For crosses, the column of the queen on the second central row. For halves, a column of the map. They are sorted
    /// by their columns: first the parts whose upper half has the columns next to the centre.
    pub(super) second: u8,
}

/// The positions of all parts of a plan.
#[derive(Debug)]
pub(super) struct Map(Vec<Option<MapPosition>>);

impl Map {
    pub(super) fn of(plan: &Plan) -> Self {
        let halves: Option<Vec<&HalvesPart>> =
            plan.parts().iter().map(|planned| halves(planned.part())).collect();
        match halves {
            Some(halves) if !halves.is_empty() => Self(of_halves(&halves).into_iter().map(Some).collect()),
            _ => Self(
                plan.parts()
                    .iter()
                    .map(|planned| of_cross(plan.n(), planned.part(), Symmetry::IDENTITY))
                    .collect(),
            ),
        }
    }

    /// Returns the cell of the part with this number; `None` if the part does not exist or is on no cell.
    pub(super) fn place(&self, number: u32) -> Option<MapPosition> {
        self.0.get(usize::try_from(number).ok()?).copied().flatten()
    }
}

/// Returns the half boards of a part, unless it is a cross.
pub(super) const fn halves(part: &Part) -> Option<&HalvesPart> {
    match part {
        Part::Halves(halves) => Some(halves),
        Part::Cross(_) => None,
    }
}

/// Returns the cell of an image of a cross.
pub(super) fn of_cross(n: BoardSize, part: &Part, image: Symmetry) -> Option<MapPosition> {
    let [first, second] = cross_lines(n)?;
    let queens = part.queens(image);
    let column = |row| queens.iter().find(|queen| queen.row == row).map(|queen| queen.column);
    Some(MapPosition { first: column(first)?, second: column(second)? })
}

/// Places halves: each group with the same queen in the middle row is a row of the map. Without a middle row, all parts
/// fill a square.
fn of_halves(parts: &[&HalvesPart]) -> Vec<MapPosition> {
    let mut groups: BTreeMap<Option<u8>, Vec<usize>> = BTreeMap::new();
    for (number, part) in parts.iter().enumerate() {
        groups.entry(part.middle_queen()).or_default().push(number);
    }
    let mut places = vec![MapPosition { first: 0, second: 0 }; parts.len()];
    for (queen, mut numbers) in groups {
        numbers.sort_by_key(|&number| pattern(parts[number]));
        let width = if queen.is_some() { WIDEST } else { ceil_sqrt(numbers.len()).min(WIDEST) };
        let n_cells = if queen.is_some() { width } else { width * width };
        let shared = numbers.len().div_ceil(n_cells);
        for (rank, number) in numbers.into_iter().enumerate() {
            let at = rank / shared;
            places[number] =
                MapPosition { first: queen.unwrap_or(small(at / width)), second: small(at % width) };
        }
    }
    places
}

/// Returns whether each known column is the lower half's, from the centre outwards; the upper half's sort first.
fn pattern(part: &HalvesPart) -> Vec<bool> {
    let (upper, lower) = (part.upper_columns(), part.lower_columns());
    let mut known: Vec<u32> = (0..u32::BITS).filter(|&column| (upper | lower) >> column & 1 == 1).collect();
    // Twice the middle of the known columns, which lie around the centre.
    let sum = known.first().zip(known.last()).map_or(0, |(first, last)| first + last);
    known.sort_by_key(|&column| (2 * column).abs_diff(sum));
    known.into_iter().map(|column| lower >> column & 1 == 1).collect()
}

fn ceil_sqrt(number: usize) -> usize {
    let root = number.isqrt();
    root + usize::from(root * root < number)
}

/// Converts a coordinate, which is at most [`WIDEST`].
fn small(number: usize) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::num::NonZeroUsize;
    use std::sync::atomic::AtomicBool;

    use queens_solver::{BoardSize, Method};

    use super::*;

    /// Every part of a board with middle rows is on a cell, and there are few cells.
    #[test]
    fn all_parts_are_on_the_map() {
        for (n, method) in (4..=24).flat_map(|n| Method::ALL.map(|method| (n, method))) {
            let board = BoardSize::new(n).expect("a board size");
            let never = AtomicBool::new(false);
            if method == Method::Search && n > 14 {
                continue;
            }
            let plan = Plan::new(board, method, NonZeroUsize::MIN, &never).expect("nobody stops it");
            let map = Map::of(&plan);
            let places: Vec<MapPosition> =
                (0..).zip(plan.parts()).map(|(number, _)| map.place(number).expect("on the map")).collect();
            let widest = if method == Method::Search { usize::from(n) } else { WIDEST };
            assert!(
                places.iter().all(|place| usize::from(place.first.max(place.second)) < widest),
                "n = {n}"
            );
            let cells: BTreeSet<MapPosition> = places.iter().copied().collect();
            assert!(method == Method::Search || cells.len() * 2 > places.len().min(100), "n = {n}");
            assert_eq!(map.place(u32::MAX), None);
        }
    }
}
