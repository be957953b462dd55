//! What a counting thread does.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use queens_messages::LeasedSpan;
use queens_solver::{Cross, Kernel};
use tracing::{debug_span, error};

use crate::desk::{Desk, Work};
use crate::metrics::Counters;

/// How long one kernel call should take: what is lost when it is abandoned, and how fine progress is.
const CHUNK: Duration = Duration::from_millis(100);

/// Counts leases until the desk is closed.
pub(crate) fn run(desk: &Desk, kernel: Kernel, counters: &Counters) {
    while let Some(work) = desk.next() {
        let _span = debug_span!("count", job = %work.job, lease = %work.id, n = %work.n).entered();
        // Whatever a panic has left half done is dropped with the lease.
        let counted = catch_unwind(AssertUnwindSafe(|| count_lease(desk, kernel, counters, &work)));
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
fn count_lease(desk: &Desk, kernel: Kernel, counters: &Counters, work: &Work) -> Result<(), String> {
    let crosses = desk.crosses(work.n);
    let mut chunk_size = ChunkSize(1);
    while let Some(part) = work.front() {
        let number = part.span.cross();
        let cross = usize::try_from(number).ok().and_then(|number| crosses.get(number));
        let cross = cross.ok_or_else(|| format!("n = {} has no cross {number} here", work.n))?;
        if count_span(kernel, counters, work, part, cross, &mut chunk_size).is_none() {
            break;
        }
    }
    Ok(())
}

/// Counts chunks off the front of the lease as long as they go on in this span; `None` if the lease is cancelled.
fn count_span(
    kernel: Kernel,
    counters: &Counters,
    work: &Work,
    part: LeasedSpan,
    cross: &Cross,
    chunk_size: &mut ChunkSize,
) -> Option<()> {
    let mut subproblems = cross.subproblems(part.image);
    let mut at = part.span.from();
    while let Some(chunk) = work.begin(part.span.cross(), at, chunk_size.0) {
        let began = Instant::now();
        let count = subproblems.count(chunk.from()..chunk.to(), kernel, &work.stop)?;
        let duration = began.elapsed();
        at = chunk.to();
        work.finish(chunk, count, duration);
        counters.counted(count, duration);
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

#[cfg(test)]
mod tests {
    use queens_messages::{JobId, Lease, LeaseId};
    use queens_solver::{BoardSize, Span, Symmetry};

    use super::*;

    fn lease(crosses: &[u32]) -> Lease {
        let leased = |&cross: &u32| {
            let span = Span::new(cross, 0, 1).expect("not empty");
            LeasedSpan { span, image: Symmetry::IDENTITY }
        };
        let n = BoardSize::new(8).expect("a board size");
        Lease { id: LeaseId(7), job: JobId(1), n, spans: crosses.iter().map(leased).collect() }
    }

    #[test]
    fn what_can_not_be_counted_is_said_and_ends_its_lease_alone() {
        let desk = Desk::default();
        desk.add(lease(&[0, 999, 1]));
        desk.add(Lease { id: LeaseId(8), ..lease(&[2]) });
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| run(&desk, Kernel::Portable, &Counters::new()));
            let mut collected = crate::desk::Collected::default();
            while collected.ended.len() < 2 {
                let more = desk.collect();
                collected.deltas.extend(more.deltas);
                collected.failures.extend(more.failures);
                collected.ended.extend(more.ended);
            }
            desk.close();
            thread.join().expect("the thread has not panicked");
            let counted: Vec<u32> = collected.deltas.iter().map(|delta| delta.span.cross()).collect();
            assert_eq!((counted, collected.ended), (vec![0, 2], vec![LeaseId(7), LeaseId(8)]));
            let [failure] = &collected.failures[..] else { panic!("{:?}", collected.failures) };
            assert_eq!((failure.lease, failure.span.cross()), (LeaseId(7), 999));
            assert_eq!(failure.reason, "n = 8 has no cross 999 here");
        });
    }

    #[test]
    fn a_panic_fails_the_chunk_in_hand_with_its_own_words() {
        let desk = Desk::default();
        desk.add(lease(&[0, 1]));
        let work = desk.next().expect("was added");
        assert!(work.begin(0, 0, 1).is_some());
        let panic = catch_unwind(|| panic!("no {}", "luck")).expect_err("panics");
        work.fail(message(panic.as_ref()));
        desk.end(&work);
        let failures = desk.collect().failures;
        assert_eq!(
            (failures.len(), failures[0].span.cross(), failures[0].reason.as_str()),
            (1, 0, "no luck")
        );
        let other = catch_unwind(|| std::panic::panic_any(7)).expect_err("panics");
        assert_eq!(message(other.as_ref()), "a panic without a message");
    }
}
