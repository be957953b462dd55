//! Counts small boards in a web page: `.ci/targets` compiles it to WebAssembly, and `coordinator/assets/count-worker.js` calls
//! it.
//!
//! A tab counts alone. It can't be a cluster's worker: browsers don't speak gRPC, whose streams need HTTP/2 frames that
//! scripts can't send.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use crate::{BoardSize, Kernel, Method, Plan};

/// The largest board: about a second.
const LARGEST: u32 = 16;

thread_local! {
    /// The board to count. A tab's thread counts one at a time.
    static PLAN: RefCell<Option<Plan>> = const { RefCell::new(None) };
}

/// Plans a count by search, and returns the number of its parts: none if the board is empty or too large.
#[unsafe(no_mangle)]
extern "C" fn plan(n: u32) -> u32 {
    let board = u8::try_from(n).ok().filter(|_| (1..=LARGEST).contains(&n));
    let board = board.and_then(|n| BoardSize::new(n).ok());
    let never = AtomicBool::new(false);
    let plan = board.and_then(|n| Plan::new(n, Method::Search, NonZeroUsize::MIN, &never));
    let n_parts = plan.as_ref().map_or(0, |plan| plan.parts().len());
    PLAN.set(plan);
    u32::try_from(n_parts).unwrap_or(0)
}

/// Counts the solutions of a part of the planned board, on all the images that it stands for; 0 if there is no such
/// part.
#[unsafe(no_mangle)]
extern "C" fn count_part(part: u32) -> u64 {
    let never = AtomicBool::new(false);
    PLAN.with_borrow(|plan| {
        let planned = plan.as_ref()?.parts().get(part as usize)?;
        let all = 0..planned.choice().n_subproblems;
        let count = planned.subproblems().count(all, Kernel::best(), &never)?;
        Some(u64::from(planned.weight()) * count.solutions)
    })
    .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use crate::published;

    use super::*;

    #[test]
    fn boards_are_counted_part_by_part() {
        for n in 1..=12 {
            let n_parts = plan(n);
            let solutions: u64 = (0..n_parts).map(|part| count_part(part)).sum();
            let board = u8::try_from(n).ok().and_then(|n| BoardSize::new(n).ok()).expect("a board size");
            assert_eq!(u128::from(solutions), published(board).expect("published").solutions, "n = {n}");
            assert_eq!(count_part(n_parts), 0);
        }
        for wrong in [0, LARGEST + 1, 256 + 8, u32::MAX] {
            assert_eq!((plan(wrong), count_part(0)), (0, 0), "{wrong}");
        }
    }
}
