//! The loop of a counting thread: takes leases and counts them chunk by chunk.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Instant;

use queens_model::LeasedSpan;
use queens_platform::thread_time;
use queens_solver::{Part, Subproblems};
use queens_worker_session::{HeldLease, LeaseToCount};
use tracing::{debug_span, error};

use crate::config::Duty;
use crate::counter::{Counted, Counter, NotCounted};
use crate::metrics::ChunkCounters;
use crate::shared_queue::SharedQueue;

/// Counts leases until the queue is closed.
pub(crate) fn run(queue: &SharedQueue, mut counter: Counter, duty: Duty, counters: &ChunkCounters) {
    while let Some(lease) = queue.next_lease() {
        let _span =
            debug_span!("count", job = %lease.job, lease = %lease.id, n = %lease.n, method = %lease.method)
                .entered();
        // A panic may leave a lease inconsistent, and that lease is dropped.
        let counted =
            catch_unwind(AssertUnwindSafe(|| count_lease(queue, &mut counter, duty, counters, &lease)));
        counter.take_notice().into_iter().for_each(|notice| queue.at(|queue| queue.tell(notice)));
        if let Err(reason) = counted.unwrap_or_else(|panic| Err(message(panic.as_ref()))) {
            error!(lease = %lease.id, n = %lease.n, reason, "failed to count");
            queue.at(|queue| queue.fail(lease.id, reason));
        }
        queue.end(lease.id);
    }
}

/// Returns a panic's message.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
    text.unwrap_or("a panic without a message").to_owned()
}

/// Counts a lease chunk by chunk, until it ends or is cancelled. The error says why the current chunk can't be counted.
fn count_lease(
    queue: &SharedQueue,
    counter: &mut Counter,
    duty: Duty,
    counters: &ChunkCounters,
    lease: &LeaseToCount,
) -> Result<(), String> {
    counter.forget();
    // The first lease of a board does not pay for opening the card, so that the measured speed is right.
    if !counter.opens_card(lease.n, lease.method, &lease.stop) {
        queue.at(|queue| queue.change(lease.id, HeldLease::count_on_processor));
    }
    loop {
        let Some(()) = count_chunks(queue, counter, duty, counters, lease)? else { return Ok(()) };
        // The last chunks of a lease are checked before the lease is released.
        match counter.check(&lease.stop) {
            Some(is_right) => settle(queue, lease, is_right),
            None => return Ok(()),
        }
        if queue.at(|queue| queue.change(lease.id, |held| held.has_chunk())) != Some(true) {
            return Ok(());
        }
    }
}

/// Records what waited for a check, or leaves the lease to the processor, as the card rests then.
fn settle(queue: &SharedQueue, lease: &LeaseToCount, is_right: bool) {
    queue.at(|queue| {
        if is_right {
            queue.change(lease.id, HeldLease::accept);
        } else {
            queue.change(lease.id, HeldLease::reject);
            queue.change(lease.id, HeldLease::count_on_processor);
        }
    });
}

/// Counts the chunks of a lease until none is left; `None` if it is cancelled.
fn count_chunks(
    queue: &SharedQueue,
    counter: &mut Counter,
    duty: Duty,
    counters: &ChunkCounters,
    lease: &LeaseToCount,
) -> Result<Option<()>, String> {
    let parts = queue.parts(lease.n, lease.method);
    // The last chunk, and the subproblems that it left at its end.
    let mut at: Option<(LeasedSpan, Part, Subproblems)> = None;
    while let Some(chunk) = queue.at(|queue| queue.begin(lease.id)) {
        let LeasedSpan { span, image } = chunk;
        let goes_on = at.take().filter(|(last, ..)| last.span.part() == span.part() && last.image == image);
        let (part, mut subproblems) = match goes_on {
            Some((_, part, subproblems)) => (part, subproblems),
            None => {
                let part = usize::try_from(span.part()).ok().and_then(|number| parts.get(number));
                let part = part.ok_or_else(|| {
                    format!("n = {} has no part {} by {} here", lease.n, span.part(), lease.method)
                })?;
                (*part, part.subproblems(image))
            }
        };
        let (began, used_before) = (Instant::now(), thread_time());
        let numbers = span.from()..span.to();
        let Counted { count, is_unchecked } =
            match counter.count(&part, &mut subproblems, numbers, &lease.stop) {
                Ok(counted) => counted,
                Err(NotCounted::Stopped) => return Ok(None),
                Err(NotCounted::CardRests) => {
                    queue.at(|queue| queue.change(lease.id, HeldLease::count_on_processor));
                    continue;
                }
            };
        let taken = began.elapsed();
        let pause = duty.pause_after(taken);
        // The coordinator sizes leases by elapsed time, which includes the pause.
        let duration = taken + pause;
        counters.counted(lease.method, count, duration);
        // A thread waits while its card counts, and while other programs have its processor.
        let used = if is_unchecked { taken } else { thread_time().saturating_sub(used_before) };
        counters.tally.add(span.n_subproblems(), used);
        if is_unchecked {
            queue.at(|queue| queue.change(lease.id, |held| held.finish_unchecked(count, duration)));
        } else {
            queue.at(|queue| queue.finish(lease.id, count, duration));
        }
        if counter.is_check_due() {
            let Some(is_right) = counter.check(&lease.stop) else { return Ok(None) };
            settle(queue, lease, is_right);
        }
        at = Some((chunk, part, subproblems));
        if !pause.is_zero() {
            thread::sleep(pause);
        }
    }
    Ok(Some(()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use queens_gpu::CardId;
    use queens_model::{
        Failure, HalvesSkill, Hello, JobIdentity, Lease, LeaseId, Name, Report, ToCoordinator, ToWorker,
        WorkerId,
    };
    use queens_solver::{BoardSize, Kernel, Method, Span, Symmetry};
    use queens_worker_session::{ChunkAim, WorkerSession};

    use super::*;
    use crate::config::Device;
    use crate::metrics::Metrics;

    fn lease(id: LeaseId, parts: &[u32]) -> Lease {
        let leased = |&part: &u32| {
            let span = Span::new(part, 0, 1).expect("not empty");
            LeasedSpan { span, image: Symmetry::IDENTITY }
        };
        let n = BoardSize::new(8).expect("a board size");
        Lease {
            id,
            job: JobIdentity(1),
            n,
            method: Method::Search,
            spans: parts.iter().map(leased).collect(),
        }
    }

    /// Returns a session that has received these leases.
    fn session(queue: &SharedQueue, leases: Vec<Lease>) -> WorkerSession {
        let name = || Name::of_any("test");
        let (worker, n_threads) = (WorkerId(1), 1);
        let (speed, machine) = (1.into(), 1);
        let halves = HalvesSkill { decomposition: 0, speed };
        let (build, kernel) = (name(), name());
        let (decomposition, held) = (0, Vec::new());
        let hello = Hello {
            worker,
            name: name(),
            build,
            kernel,
            n_threads,
            speed,
            decomposition,
            halves,
            machine,
            held,
        };
        let mut session = WorkerSession::new(hello);
        queue.at(|queue| {
            session.connect(Duration::ZERO, queue);
            for lease in leases {
                assert_eq!(session.hear(Duration::ZERO, ToWorker::Lease(lease), queue), None);
            }
        });
        session
    }

    /// Returns the session's output after leases have ended, merged into one report.
    fn said(session: &mut WorkerSession, queue: &SharedQueue) -> (Report, Vec<Failure>) {
        let (mut all, mut failures) = (Report::default(), Vec::new());
        for message in queue.at(|queue| session.step(Duration::from_millis(1), queue)).messages {
            match message {
                ToCoordinator::Report(report) => {
                    all.deltas.extend(report.deltas);
                    all.finished.extend(report.finished);
                }
                ToCoordinator::Failure(failure) => failures.push(failure),
                other => panic!("{other:?}"),
            }
        }
        (all, failures)
    }

    #[test]
    fn what_can_not_be_counted_is_said_and_ends_its_lease_alone() {
        let (queue, counters) = (
            SharedQueue::new(ChunkAim::PROCESSOR),
            Metrics::new().chunk_counters(Device::Card(CardId::Cuda(0))),
        );
        let mut session = session(&queue, vec![lease(LeaseId(7), &[0, 999, 1]), lease(LeaseId(8), &[2])]);
        thread::scope(|scope| {
            let thread =
                scope.spawn(|| run(&queue, Counter::kernel(Kernel::Portable), Duty::FULL, &counters));
            let (mut report, mut failures) = (Report::default(), Vec::new());
            while report.finished.len() < 2 {
                let more = said(&mut session, &queue);
                report.deltas.extend(more.0.deltas);
                report.finished.extend(more.0.finished);
                failures.extend(more.1);
            }
            queue.close();
            thread.join().expect("the thread has not panicked");
            let counted: Vec<u32> = report.deltas.iter().map(|delta| delta.span.part()).collect();
            assert_eq!((counted, report.finished), (vec![0, 2], vec![LeaseId(7), LeaseId(8)]));
            let [failure] = &failures[..] else { panic!("{failures:?}") };
            assert_eq!((failure.lease, failure.span.part()), (LeaseId(7), 999));
            assert_eq!(failure.reason, "n = 8 has no part 999 by search here");
        });
    }

    #[test]
    fn a_panic_fails_the_chunk_in_hand_with_its_own_words() {
        let queue = SharedQueue::new(ChunkAim::PROCESSOR);
        let mut session = session(&queue, vec![lease(LeaseId(7), &[0, 1])]);
        let taken = queue.next_lease().expect("was added");
        assert!(queue.at(|queue| queue.begin(taken.id)).is_some());
        let panic = catch_unwind(|| panic!("no {}", "luck")).expect_err("panics");
        queue.at(|queue| queue.fail(taken.id, message(panic.as_ref())));
        queue.end(taken.id);
        let (_, failures) = said(&mut session, &queue);
        assert_eq!((failures.len(), failures[0].span.part(), failures[0].reason.as_str()), (1, 0, "no luck"));
        let other = catch_unwind(|| std::panic::panic_any(7)).expect_err("panics");
        assert_eq!(message(other.as_ref()), "a panic without a message");
    }
}
