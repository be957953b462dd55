//! The leases a worker holds, shared by its threads and its session.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use queens_messages::{Delta, Failure, Held, JobId, Lease, LeaseId, LeasedSpan};
use queens_solver::{BoardSize, Count, Cross, Span, crosses_in_counting_order};
use tokio::sync::Notify;

/// Where leases lie until they are counted and what is counted lies until it is reported.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    state: Mutex<State>,
    /// For threads: there may be a lease to count.
    lease_came: Condvar,
    /// For the session: a lease has ended.
    pub(crate) lease_ended: Notify,
    crosses: Mutex<Option<(BoardSize, Arc<[Cross]>)>>,
}

#[derive(Debug, Default)]
struct State {
    held: BTreeMap<LeaseId, Arc<Work>>,
    waiting: VecDeque<Arc<Work>>,
    closed: bool,
}

/// A lease as the thread that counts it and the session see it.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) id: LeaseId,
    pub(crate) job: JobId,
    pub(crate) n: BoardSize,
    /// Set to make its thread drop it, the chunk in hand included.
    pub(crate) stop: AtomicBool,
    parts: Mutex<Parts>,
}

#[derive(Debug, Default)]
struct Parts {
    /// What no kernel call has begun on.
    left: VecDeque<LeasedSpan>,
    /// What a kernel call is counting.
    in_hand: Option<Span>,
    /// What is counted and not reported.
    done: Vec<Delta>,
    /// What can't be counted, and is not reported.
    failed: Option<Failure>,
    ended: bool,
}

/// What there is to report.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// What was counted.
    pub(crate) deltas: Vec<Delta>,
    /// What can't be counted.
    pub(crate) failures: Vec<Failure>,
    /// Leases that have ended.
    pub(crate) ended: Vec<LeaseId>,
}

impl Desk {
    /// Puts a lease behind those that wait.
    pub(crate) fn add(&self, lease: Lease) {
        let parts = Parts { left: lease.spans.into(), ..Parts::default() };
        let work = Arc::new(Work {
            id: lease.id,
            job: lease.job,
            n: lease.n,
            stop: AtomicBool::new(false),
            parts: Mutex::new(parts),
        });
        let mut state = lock(&self.state);
        state.held.insert(lease.id, work.clone());
        state.waiting.push_back(work);
        drop(state);
        self.lease_came.notify_one();
    }

    /// The next lease to count; waits for one. `None` when the desk is closed.
    pub(crate) fn next(&self) -> Option<Arc<Work>> {
        let state = lock(&self.state);
        let idle = |state: &mut State| state.waiting.is_empty() && !state.closed;
        let waited = self.lease_came.wait_while(state, idle);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if state.closed { None } else { state.waiting.pop_front() }
    }

    /// Takes spans off a lease, as far as no kernel call has begun on them.
    pub(crate) fn shorten(&self, lease: LeaseId, spans: &[Span]) {
        if let Some(work) = lock(&self.state).held.get(&lease) {
            let mut parts = lock(&work.parts);
            let left = std::mem::take(&mut parts.left);
            parts.left = left.into_iter().flat_map(|part| without(part, spans)).collect();
        }
    }

    /// Drops what is left of a lease. What it has counted is still reported.
    pub(crate) fn cancel(&self, lease: LeaseId) {
        if let Some(work) = lock(&self.state).held.get(&lease) {
            work.stop.store(true, Ordering::Relaxed);
            lock(&work.parts).left.clear();
        }
    }

    /// Drops what no kernel call has begun on, of all leases.
    pub(crate) fn begin_no_more(&self) {
        for work in lock(&self.state).held.values() {
            lock(&work.parts).left.clear();
        }
    }

    /// Drops what is left of all leases, the chunks in hand included.
    pub(crate) fn cancel_all(&self) {
        let held: Vec<LeaseId> = lock(&self.state).held.keys().copied().collect();
        held.into_iter().for_each(|lease| self.cancel(lease));
    }

    /// Sends the threads home.
    pub(crate) fn close(&self) {
        self.cancel_all();
        lock(&self.state).closed = true;
        self.lease_came.notify_all();
    }

    /// Takes what there is to report since the last call, and forgets the leases that have ended.
    pub(crate) fn collect(&self) -> Collected {
        let mut collected = Collected::default();
        let mut state = lock(&self.state);
        for work in state.held.values() {
            let mut parts = lock(&work.parts);
            collected.deltas.append(&mut parts.done);
            collected.failures.extend(parts.failed.take());
            if parts.ended {
                collected.ended.push(work.id);
            }
        }
        for lease in &collected.ended {
            state.held.remove(lease);
        }
        collected
    }

    /// Whether no lease is held.
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.state).held.is_empty()
    }

    /// How many leases are held.
    pub(crate) fn n_held(&self) -> usize {
        lock(&self.state).held.len()
    }

    /// All leases with what is not reported of them.
    pub(crate) fn held(&self) -> Vec<Held> {
        let unreported = |work: &Arc<Work>| {
            let parts = lock(&work.parts);
            let done = parts.done.iter().map(|delta| delta.span);
            let left = parts.left.iter().map(|part| part.span);
            Held { lease: work.id, job: work.job, spans: done.chain(parts.in_hand).chain(left).collect() }
        };
        lock(&self.state).held.values().map(unreported).collect()
    }

    /// The crosses that span numbers of boards of size `n` mean; kept for the last n asked for.
    pub(crate) fn crosses(&self, n: BoardSize) -> Arc<[Cross]> {
        let mut kept = lock(&self.crosses);
        match &*kept {
            Some((size, crosses)) if *size == n => crosses.clone(),
            _ => {
                let crosses: Arc<[Cross]> = crosses_in_counting_order(n).into();
                *kept = Some((n, crosses.clone()));
                crosses
            }
        }
    }

    /// A thread is done with a lease.
    pub(crate) fn end(&self, work: &Work) {
        let mut parts = lock(&work.parts);
        parts.in_hand = None;
        parts.ended = true;
        drop(parts);
        self.lease_ended.notify_one();
    }
}

impl Work {
    /// The first span that is left.
    pub(crate) fn front(&self) -> Option<LeasedSpan> {
        lock(&self.parts).left.front().copied()
    }

    /// Takes up to `n_subproblems` off the front to count them, if the front still begins there.
    pub(crate) fn begin(&self, cross: u32, from: u64, n_subproblems: u64) -> Option<Span> {
        let mut parts = lock(&self.parts);
        let front = *parts.left.front()?;
        if front.span.cross() != cross || front.span.from() != from {
            return None;
        }
        let (chunk, rest) = front.span.split_at(from.saturating_add(n_subproblems));
        match rest {
            Some(rest) => parts.left[0].span = rest,
            None => _ = parts.left.pop_front(),
        }
        parts.in_hand = chunk;
        chunk
    }

    /// What is in hand, or else the first that is left, can't be counted: the lease is dropped.
    pub(crate) fn fail(&self, reason: String) {
        let mut parts = lock(&self.parts);
        let span = parts.in_hand.take().or_else(|| parts.left.front().map(|part| part.span));
        parts.failed = span.map(|span| Failure { job: self.job, lease: self.id, span, reason });
        parts.left.clear();
    }

    /// The chunk that was begun has been counted.
    pub(crate) fn finish(&self, chunk: Span, count: Count, duration: Duration) {
        let mut parts = lock(&self.parts);
        parts.in_hand = None;
        if let Some(last) = parts.done.last_mut()
            && last.span.cross() == chunk.cross()
            && last.span.to() == chunk.from()
            && let Some(sum) = last.count.checked_add(count)
            && let Ok(span) = Span::new(chunk.cross(), last.span.from(), chunk.to())
        {
            *last = Delta { span, count: sum, duration: last.duration + duration, ..*last };
        } else {
            parts.done.push(Delta { job: self.job, lease: self.id, span: chunk, count, duration });
        }
    }
}

/// What is left of `part` when `spans` are taken off it.
fn without(part: LeasedSpan, spans: &[Span]) -> Vec<LeasedSpan> {
    let mut left = vec![part];
    for span in spans {
        left = left
            .into_iter()
            .flat_map(|part| {
                if part.span.intersection(*span).is_none() {
                    return vec![part];
                }
                let (before, rest) = part.span.split_at(span.from());
                let after = rest.and_then(|rest| rest.split_at(span.to()).1);
                [before, after].into_iter().flatten().map(|span| LeasedSpan { span, ..part }).collect()
            })
            .collect();
    }
    left
}

/// A thread that panicked leaves its data as complete as any other: each lock is held for one whole change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
