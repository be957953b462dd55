//! What a counting thread does.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use queens_proto::LeasedSpan;
use queens_solver::{Cross, FreeRows, Kernel, Prefixes, depth};
use tracing::error;

use crate::desk::{Desk, Work};

/// How long one kernel call should take: what is lost when it is abandoned, and how fine progress is.
const CHUNK: Duration = Duration::from_millis(100);

/// Counts leases until the desk is closed.
pub(crate) fn run(desk: &Desk, kernel: Kernel) {
    while let Some(work) = desk.next() {
        // Whatever a panic has left half done is dropped with the lease.
        let counted = catch_unwind(AssertUnwindSafe(|| count_lease(desk, kernel, &work)));
        if let Err(reason) = counted.unwrap_or_else(|panic| Err(message(panic.as_ref()))) {
            error!(lease = %work.id, n = %work.n, reason, "failed to count");
            work.fail(reason);
        }
        desk.end(&work);
    }
}

/// What a panic has said.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
    text.unwrap_or("a panic without a message").to_owned()
}

/// Counts a lease as far as it goes; the error says why what is in hand, or else the first that is left, can't be
/// counted.
fn count_lease(desk: &Desk, kernel: Kernel, work: &Work) -> Result<(), String> {
    let crosses = desk.crosses(work.n);
    let mut chunk_size = ChunkSize(1);
    while let Some(part) = work.front() {
        let number = part.span.cross();
        let cross = usize::try_from(number).ok().and_then(|number| crosses.get(number));
        let cross = cross.ok_or_else(|| format!("n = {} has no cross {number} here", work.n))?;
        if count_span(kernel, work, part, cross, &mut chunk_size).is_none() {
            break;
        }
    }
    Ok(())
}

/// Counts chunks off the front of the lease as long as they go on in this span; `None` if the lease is cancelled.
fn count_span(
    kernel: Kernel,
    work: &Work,
    part: LeasedSpan,
    cross: &Cross,
    chunk_size: &mut ChunkSize,
) -> Option<()> {
    let free = FreeRows::new(work.n, &cross.image(work.n, part.image));
    let mut prefixes = Prefixes::new(&free, depth(work.n));
    prefixes.seek(part.span.from());
    while let Some(chunk) = work.begin(part.span.cross(), prefixes.position(), chunk_size.0) {
        let began = Instant::now();
        let count = kernel.count(&mut prefixes, chunk.n_subproblems(), &work.stop)?;
        let duration = began.elapsed();
        work.finish(chunk, count, duration);
        chunk_size.adapt(chunk.n_subproblems(), duration);
    }
    Some(())
}

/// How many subproblems to count in one kernel call.
struct ChunkSize(u64);

impl ChunkSize {
    /// Steps towards [`CHUNK`], at most doubling: neighbours differ in work.
    fn adapt(&mut self, n_subproblems: u64, duration: Duration) {
        if duration < CHUNK / 2 {
            self.0 = self.0.max(n_subproblems.saturating_mul(2));
        } else if duration > CHUNK * 2 {
            self.0 = (n_subproblems / 2).max(1);
        }
    }
}
