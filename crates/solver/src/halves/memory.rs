//! The memory limit of a thread's lists.

use crate::board::BoardSize;

/// Returns the memory limit of a thread's lists, in bytes: the measured maximum over the largest sets of columns found
/// (3 MB at n = 20, 18 at 22, 78 at 24, 108 at 26, 68 at 27 and 398 at 28), and some reserve. Absent for boards without
/// a vectored join.
pub(crate) fn most_memory(n: BoardSize) -> Option<usize> {
    const MIB: usize = 1 << 20;
    Some(match n.get() {
        30.. => return None,
        ..=21 => 16 * MIB,
        22..=23 => 48 * MIB,
        24..=25 => 128 * MIB,
        26..=27 => 192 * MIB,
        28..=29 => 512 * MIB,
    })
}
