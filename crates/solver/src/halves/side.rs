//! One half board with its columns, and the footprints of its queens.

use crate::halves::columns::{Columns, Middle, members};
use crate::halves::footprint::{Footprint, Half, footprint};
use crate::halves::vectors::NO_PLANE;

/// The most rows and columns of a half board, so that row numbers and ranks have four bits.
pub(crate) const MAX_ROWS: usize = 15;

/// One half board with its columns. Each column has a *rank* among them.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    /// The board with the queen of its middle row.
    pub(crate) middle: Middle,
    /// In ascending order.
    pub(crate) columns: Vec<u8>,
    footprints: [[Footprint; MAX_ROWS]; MAX_ROWS + 1],
    feet: [[(u8, u8); MAX_ROWS]; MAX_ROWS + 1],
}

impl Side {
    pub(crate) fn new(middle: Middle, half: Half, set: Columns) -> Self {
        let columns: Vec<u8> = members(set).collect();
        debug_assert!(usize::from(middle.n_rows()) <= MAX_ROWS && columns.len() <= MAX_ROWS);
        let mut footprints = [[0; MAX_ROWS]; MAX_ROWS + 1];
        for (row, footprints) in (1..=middle.n_rows()).zip(&mut footprints[1..]) {
            for (column, of_queen) in columns.iter().zip(footprints) {
                *of_queen = footprint(middle.n, half, row, *column);
            }
        }
        let feet = footprints.map(|row| row.map(two_planes));
        Self { middle, columns, footprints, feet }
    }

    /// Returns the rank of a column.
    pub(crate) fn rank(&self, column: u8) -> Option<u8> {
        self.columns.iter().position(|&other| other == column).and_then(|rank| u8::try_from(rank).ok())
    }

    /// Returns a column's distance from the centre.
    pub(crate) fn distance(&self, rank: u8) -> u8 {
        self.middle.distance(self.columns[usize::from(rank)])
    }

    /// Returns the number of rows, which is the number of columns.
    pub(crate) const fn n_rows(&self) -> u8 {
        self.middle.n_rows()
    }

    /// Returns the footprint of a queen.
    pub(crate) fn footprint(&self, row: u8, rank: u8) -> Footprint {
        self.footprints[usize::from(row)][usize::from(rank)]
    }

    /// Returns the footprint of a queen as two plane numbers.
    pub(crate) fn feet(&self, row: u8, rank: u8) -> (u8, u8) {
        self.feet[usize::from(row)][usize::from(rank)]
    }

    /// Returns the central columns.
    pub(crate) fn central(&self) -> impl Iterator<Item = u8> {
        self.columns.iter().copied().filter(|&column| self.middle.is_central(column))
    }
}

/// Returns the planes of a queen's footprint.
fn two_planes(footprint: Footprint) -> (u8, u8) {
    let planes = Planes::of(footprint);
    let plane = |i| planes.all().get(i).map_or(NO_PLANE, |&plane| plane);
    (plane(0), plane(1))
}

/// The planes of the footprint bits of up to four queens.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Planes {
    planes: [u8; 8],
    n: u8,
}

impl Planes {
    /// Returns the planes of a footprint.
    pub(crate) fn of(footprint: Footprint) -> Self {
        let mut planes = Self::default();
        let mut left = footprint;
        for place in &mut planes.planes {
            if left == 0 {
                break;
            }
            *place = left.trailing_zeros().to_le_bytes()[0];
            planes.n += 1;
            left &= left - 1;
        }
        debug_assert!(left == 0);
        planes
    }

    /// Returns all planes, in ascending order.
    pub(crate) fn all(&self) -> &[u8] {
        &self.planes[..self.n.into()]
    }
}
