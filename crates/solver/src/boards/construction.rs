//! Constructs a solution of any board without a search.

use super::placement::Placement;

/// Constructs a solution for boards of size `n` in linear time. `None` if none exists (n = 2, 3) or `n` is over
/// [`Placement::MAX_SIZE`].
///
/// Two staircases of knight's moves, first on the odd columns (counted from 0), then on the even ones:
///
/// ```text
///   n = 6      . Q . . . .      n = 4      . Q . .
///              . . . Q . .                 . . . Q
///              . . . . . Q                 Q . . .
///              Q . . . . .                 . . Q .
///              . . Q . . .
///              . . . . Q .
/// ```
///
/// That is a solution unless n leaves 2 or 3 when divided by 6. Then queens of the two staircases meet on diagonals,
/// and the ends of the staircases are repaired. For 2, the second one begins with 2 0, and its 4 moves to its end. For
/// 3, the first column of the first staircase moves to its end. The first two of the second move to the end of that (E.
/// Pauls, "Das Maximalproblem der Damen auf dem Schachbrete", Deutsche Schachzeitung 29, 1874; the same with proofs:
/// Hoffman, Loessl and Moore, "Constructions for the solution of the m queens problem", Mathematics Magazine 42, 1969).
#[must_use]
pub fn construction(n: u32) -> Option<Placement> {
    if n == 2 || n == 3 || n > Placement::MAX_SIZE {
        return None;
    }
    let odd = (1..n).step_by(2);
    let even = (0..n).step_by(2);
    let columns = match n % 6 {
        2 => odd.chain([2, 0]).chain((6..n).step_by(2)).chain([4]).collect(),
        3 => odd.skip(1).chain([1]).chain(even.skip(2)).chain([0, 2]).collect(),
        _ => odd.chain(even).collect(),
    };
    Some(Placement::found(columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_solution_for_every_board_but_two() {
        // `Placement::new` checks each.
        for n in (0..=2000).chain([9_998, 9_999, 10_000, 10_001, 10_002, 10_003, 1_000_000]) {
            let found = construction(n);
            assert_eq!(found.is_none(), n == 2 || n == 3, "n = {n}");
            assert!(found.is_none_or(|placement| placement.n() == n), "n = {n}");
        }
        assert_eq!(construction(Placement::MAX_SIZE + 1), None);
    }

    #[test]
    fn the_smallest_are_known() {
        for (n, expected) in
            [(0, "[]"), (1, "[0]"), (4, "[1 3 0 2]"), (5, "[1 3 0 2 4]"), (6, "[1 3 5 0 2 4]")]
        {
            assert_eq!(construction(n).map(|placement| placement.to_string()).as_deref(), Some(expected));
        }
    }
}
