//! A simulated worker: a real queue and session, with simulated threads.

use std::sync::atomic::Ordering;
use std::time::Duration;

use queens_model::{HalvesSkill, Hello, Name, Speed, WorkerId};
use queens_solver::{Count, Kernel, Method, Span};
use queens_worker_session::{LeaseQueue, LeaseToCount, WorkerSession};

use super::team::Team;

pub(crate) struct Worker {
    pub(crate) id: WorkerId,
    pub(crate) is_card: bool,
    /// Work units per second of a thread.
    pub(crate) speed: f64,
    pub(crate) queue: LeaseQueue,
    pub(crate) session: WorkerSession,
    pub(crate) threads: Vec<Thread>,
    /// When its last message arrives, each way: no message overtakes another.
    pub(crate) up: Duration,
    pub(crate) down: Duration,
    /// When its session asks to be woken.
    pub(crate) wakes: Option<Duration>,
}

#[derive(Debug, Default)]
pub(crate) struct Thread {
    lease: Option<LeaseToCount>,
    pub(crate) chunk: Option<Chunk>,
    /// Since when it has had nothing to do.
    pub(crate) idle_since: Duration,
}

/// A chunk in hand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub(crate) span: Span,
    pub(crate) duration: Duration,
    pub(crate) work: f64,
}

impl Worker {
    /// Creates a worker of a team. It knows nothing of its speed: it claims that of a processor's kernel.
    pub(crate) fn new(id: WorkerId, team: Team, speed: f64) -> Self {
        let name = Name::of_any(&format!("host-{id}{}", if team.is_card { "-cuda-0" } else { "" }));
        let claimed = |method: Method| -> Speed { method.typical_speed(Kernel::Avx512).into() };
        let halves =
            HalvesSkill { decomposition: Method::Halves.decomposition(), speed: claimed(Method::Halves) };
        let hello = Hello {
            worker: id,
            name,
            build: Name::of_any("simulated"),
            kernel: Name::of_any(if team.is_card { "cuda" } else { "avx512" }),
            n_threads: team.n_threads,
            speed: claimed(Method::Search),
            halves,
            decomposition: Method::Search.decomposition(),
            machine: id.0,
            held: Vec::new(),
        };
        Self {
            id,
            is_card: team.is_card,
            speed,
            queue: LeaseQueue::default(),
            session: WorkerSession::new(hello),
            threads: (0..team.n_threads).map(|_| Thread::default()).collect(),
            up: Duration::ZERO,
            down: Duration::ZERO,
            wakes: None,
        }
    }

    /// Lets an idle thread take its next chunk, if necessary of another lease; `None` if there is nothing to do.
    pub(crate) fn begin(&mut self, thread: usize) -> Option<Span> {
        let thread = &mut self.threads[thread];
        loop {
            let lease = match thread.lease.take() {
                Some(lease) => lease,
                None => self.queue.next_lease()?,
            };
            if let Some(chunk) = self.queue.begin(lease.id) {
                thread.lease = Some(lease);
                return Some(chunk.span);
            }
            self.queue.end(lease.id);
        }
    }

    /// Lets a thread finish its chunk. Each subproblem has one solution.
    pub(crate) fn finish(&mut self, thread: usize) {
        let thread = &mut self.threads[thread];
        let (Some(chunk), Some(lease)) = (thread.chunk.take(), &thread.lease) else { return };
        if !lease.stop.load(Ordering::Relaxed) {
            let count = Count { solutions: chunk.span.n_subproblems(), work: whole(chunk.work) };
            self.queue.finish(lease.id, count, chunk.duration);
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "far below the limit")]
fn whole(work: f64) -> u64 {
    work as u64
}
