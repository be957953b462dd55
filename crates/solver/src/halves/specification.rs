//! The join without a trick: the specification of all other versions, and what counts the smallest boards.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::halves::columns::{Columns, Middle, members};
use crate::halves::footprint::{Footprint, Half, footprint};
use crate::halves::parts::{Given, Subproblem};
use crate::halves::transposition::{CentralRows, delta, gamma, is_promising, weight};
use crate::halves::unit::units;
use crate::span::Count;

/// Placements or pairs between two checks of the stop flag.
const PATIENCE: usize = 1 << 20;

/// All placements of a half board with the same queens in the first two rows.
#[derive(Clone, Debug)]
struct Group {
    /// Absent, like the second, if a half board has no such row.
    first: Option<u8>,
    second: Option<u8>,
    /// By the rows of their queens in the central columns.
    members: Vec<(CentralRows, Vec<Footprint>)>,
}

/// The lists of the last subproblem. The next one usually has the same upper list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    upper: Option<(Wanted, Vec<Group>)>,
    lower: Option<(Wanted, Vec<Group>)>,
}

/// A request for the placements of a half board on these columns, with these queens in the first rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wanted {
    middle: Middle,
    half: Half,
    columns: Columns,
    first: Option<u8>,
    second: Option<u8>,
}

/// Counts a subproblem; `None` if it was stopped.
pub(crate) fn count(
    middle: Middle,
    subproblem: &Subproblem,
    lists: &mut Lists,
    stop: &AtomicBool,
) -> Option<Count> {
    let Subproblem { upper, lower, factor, given: Given { lower_1, upper_1, lower_2 } } = *subproblem;
    if factor == 0 {
        return Some(Count::default());
    }
    let mut patience = Patience { left: PATIENCE, stop };
    let wanted = |half, columns, first, second| Wanted { middle, half, columns, first, second };
    let uppers = placements(&mut lists.upper, wanted(Half::Upper, upper, upper_1, None), &mut patience)?;
    let lowers = placements(&mut lists.lower, wanted(Half::Lower, lower, lower_1, lower_2), &mut patience)?;
    let (mut solutions, mut pairs) = (0, 0);
    for above in uppers {
        for below in lowers {
            let joined = join(middle, above, below, &mut patience)?;
            solutions += joined.0;
            pairs += joined.1;
        }
    }
    Some(Count { solutions: u64::from(factor) * solutions, work: units(middle.n, pairs) })
}

/// Returns the weighted number of fitting pairs of two groups, and the pairs that are their work
/// ([`unit`](super::unit)).
fn join(middle: Middle, above: &Group, below: &Group, patience: &mut Patience<'_>) -> Option<(u64, u128)> {
    let (near_above, near_below) = (above.near(middle, Half::Upper), below.near(middle, Half::Lower));
    if near_above & near_below != 0 {
        return Some((0, 0));
    }
    let delta = delta(middle, above.first, below.first);
    let count = |members: &[(CentralRows, Vec<Footprint>)]| {
        let promising = members.iter().filter(|(rows, _)| is_promising(middle, *rows, delta));
        promising.map(|(_, all)| all.len() as u128).sum::<u128>()
    };
    let uppers = above.unattacked(near_below);
    let pairs = count(&uppers) * count(&below.unattacked(above.nearest(middle, Half::Upper)));
    let lowers = below.unattacked(near_above);
    let mut solutions = 0;
    for (rows_above, uppers) in uppers {
        for (rows_below, lowers) in &lowers {
            let weight = weight(gamma(rows_above, *rows_below), delta);
            if weight == 0 {
                continue;
            }
            for upper in &uppers {
                patience.spend(lowers.len())?;
                let n_fitting = lowers.iter().filter(|&lower| upper & lower == 0).count();
                solutions += weight * n_fitting as u64;
            }
        }
    }
    Some((solutions, pairs))
}

/// Returns the wanted placements, from the list if it has them.
fn placements<'a>(
    list: &'a mut Option<(Wanted, Vec<Group>)>,
    wanted: Wanted,
    patience: &mut Patience<'_>,
) -> Option<&'a [Group]> {
    if list.as_ref().is_none_or(|(of, _)| *of != wanted) {
        *list = None;
        let mut groups = Vec::new();
        wanted.place(1, Placed::default(), &mut groups, patience)?;
        *list = Some((wanted, groups));
    }
    list.as_ref().map(|(_, groups)| groups.as_slice())
}

/// The queens of the rows placed so far, from the middle outwards.
#[derive(Clone, Copy, Debug, Default)]
struct Placed {
    columns: Columns,
    /// Squares of the next row that they attack along a diagonal.
    rising: u64,
    falling: u64,
    footprint: Footprint,
    central: CentralRows,
    first: Option<u8>,
    second: Option<u8>,
}

impl Wanted {
    /// Lists the ways to place the rows from `row` on.
    fn place(
        &self,
        row: u8,
        placed: Placed,
        groups: &mut Vec<Group>,
        patience: &mut Patience<'_>,
    ) -> Option<()> {
        patience.spend(1)?;
        if row > self.middle.n_rows() {
            keep(placed, groups);
            return Some(());
        }
        let given = match row {
            1 => self.first,
            2 => self.second,
            _ => None,
        };
        for column in members(self.columns & !placed.columns) {
            let bit = 1 << column;
            let by_middle = self.middle.queen.is_some_and(|queen| queen.abs_diff(column) == row);
            if (placed.rising | placed.falling) & bit != 0
                || by_middle
                || given.is_some_and(|given| given != column)
            {
                continue;
            }
            let mut next = Placed {
                columns: placed.columns | 1 << column,
                rising: (placed.rising | bit) << 1,
                falling: (placed.falling | bit) >> 1,
                footprint: placed.footprint | footprint(self.middle.n, self.half, row, column),
                ..placed
            };
            if self.middle.is_central(column) {
                next.central.add(self.half, row);
            }
            match row {
                1 => next.first = Some(column),
                2 => next.second = Some(column),
                _ => {}
            }
            self.place(row + 1, next, groups, patience)?;
        }
        Some(())
    }
}

/// Adds a placement to its group, which is the last one if it exists.
fn keep(placed: Placed, groups: &mut Vec<Group>) {
    let Placed { first, second, central, footprint, .. } = placed;
    if groups.last().is_none_or(|group| (group.first, group.second) != (first, second)) {
        groups.push(Group { first, second, members: Vec::new() });
    }
    let Some(group) = groups.last_mut() else { return };
    match group.members.iter_mut().find(|(rows, _)| *rows == central) {
        Some((_, members)) => members.push(footprint),
        None => group.members.push((central, vec![footprint])),
    }
}

impl Group {
    /// Returns the placements that share no diagonal with some queens of the other half board.
    fn unattacked(&self, queens: Footprint) -> Vec<(CentralRows, Vec<Footprint>)> {
        let unattacked = |all: &Vec<Footprint>| all.iter().copied().filter(|one| one & queens == 0).collect();
        self.members.iter().map(|(rows, all)| (*rows, unattacked(all))).collect()
    }

    /// Returns the footprint of the queen in the first row.
    fn nearest(&self, middle: Middle, half: Half) -> Footprint {
        self.first.map_or(0, |column| footprint(middle.n, half, 1, column))
    }

    /// Returns the footprint of the queens in the first two rows.
    fn near(&self, middle: Middle, half: Half) -> Footprint {
        let queen =
            |row, column: Option<u8>| column.map_or(0, |column| footprint(middle.n, half, row, column));
        queen(1, self.first) | queen(2, self.second)
    }
}

/// The work left until the next check of the stop flag.
struct Patience<'a> {
    left: usize,
    stop: &'a AtomicBool,
}

impl Patience<'_> {
    /// Spends some of the work; `None` if the flag was set.
    fn spend(&mut self, steps: usize) -> Option<()> {
        if self.left > steps {
            self.left -= steps;
            return Some(());
        }
        self.left = PATIENCE;
        (!self.stop.load(Ordering::Relaxed)).then_some(())
    }
}
