//! Counts a span about which parties disagree, or on which one failed, on threads of the coordinator. So nobody is
//! outvoted.
//!
//! One span at a time: most show that a party is wrong, which is suspect from then on. So there are few. A span takes as
//! long as its lease did, up to two minutes of a thread of the worker, which may be hours for what a graphics card
//! counted.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use queens_ledger::Judgement;
use queens_ledger::store::Source;
use queens_model::Name;
use queens_platform::VERSION;
use queens_solver::{Count, KernelChoice, Span, parallel};
use tokio::sync::mpsc;
use tracing::{error, info};

use crate::command::{self, Command, Judged};

/// The delay before a failed count is tried again.
const RETRY: Duration = Duration::from_secs(10);

/// The pieces of a span for each thread: the last ones end at about the same time.
const PIECES: u64 = 16;

/// Counts spans for the coordinator.
pub(crate) struct Judge {
    commands: mpsc::WeakSender<Command>,
    n_threads: NonZeroUsize,
    stop: Arc<AtomicBool>,
}

impl Judge {
    pub(crate) fn new(commands: mpsc::WeakSender<Command>, n_threads: NonZeroUsize) -> Self {
        Self { commands, n_threads, stop: Arc::default() }
    }

    /// Begins to count a span. [`Command::Judged`] comes when that has ended.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub(crate) fn start(&self, judgement: Judgement) -> std::io::Result<()> {
        let (n_threads, stop, began) = (self.n_threads, Arc::clone(&self.stop), Instant::now());
        let (of_work, of_end) = (judgement.clone(), Arc::clone(&stop));
        let count = move || {
            info!(job = %of_work.job, span = %of_work.span, "parties disagree about a span or failed on it: the coordinator counts it");
            counted(&of_work, n_threads, &stop).map(|(count, source)| (count, began.elapsed(), source))
        };
        let ended = move |counted: Option<Judged>| {
            if counted.is_none() && !of_end.load(Ordering::Relaxed) {
                error!(job = %judgement.job, span = %judgement.span, "the coordinator could not count a span; it is tried again");
                thread::sleep(RETRY);
            }
            Command::Judged { judgement, counted }
        };
        command::start("judge".to_owned(), &self.commands, count, ended)
    }

    /// Stops counting.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Counts a span with several threads; `None` if that was stopped or failed.
fn counted(
    judgement: &Judgement,
    n_threads: NonZeroUsize,
    stop: &AtomicBool,
) -> Option<(Count, Arc<Source>)> {
    let kernel = KernelChoice::AUTO.kernel();
    let part = judgement.plan.part(judgement.span.part())?;
    let pieces = pieces(judgement.span, n_threads);
    let go_on = |_| !stop.load(Ordering::Relaxed);
    let count = |i: usize| {
        let piece = pieces.get(i)?;
        part.subproblems().count(piece.from()..piece.to(), kernel, stop)
    };
    let counts = parallel(n_threads, pieces.len(), go_on, count).ok()?;
    if counts.len() < pieces.len() {
        return None;
    }
    let count = counts.into_iter().try_fold(Count::default(), |sum, count| sum.checked_add(count?))?;
    let source = Source::coordinator(Name::of_any(VERSION), Name::of_any(kernel.name()));
    Some((count, Arc::new(source)))
}

/// Cuts a span into pieces of about equal length.
fn pieces(span: Span, n_threads: NonZeroUsize) -> Vec<Span> {
    let n_pieces = u64::try_from(n_threads.get()).unwrap_or(u64::MAX).saturating_mul(PIECES);
    let length = span.n_subproblems().div_ceil(n_pieces);
    let (mut pieces, mut rest) = (Vec::new(), Some(span));
    while let Some(span) = rest {
        let (piece, after) = span.split_at(span.from().saturating_add(length));
        pieces.extend(piece);
        rest = after;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use queens_model::{JobId, Party};
    use queens_solver::{BoardSize, Kernel, Method, Plan};

    use super::*;

    #[test]
    fn a_span_is_counted_as_in_one_piece() {
        let (n, never) = (BoardSize::new(9).expect("a board size"), AtomicBool::new(false));
        for method in Method::ALL {
            let plan = Arc::new(Plan::new(n, method, NonZeroUsize::MIN, &never).expect("nobody stops it"));
            for (part, planned) in (0..).zip(plan.parts()) {
                let all = planned.choice().n_subproblems;
                let Ok(span) = Span::new(part, all / 3, all) else { continue };
                let whole = planned.subproblems().count(all / 3..all, Kernel::Portable, &never);
                for n_threads in [1, 3].map(|n| NonZeroUsize::new(n).expect("not zero")) {
                    let judgement = Judgement { job: JobId(1), plan: Arc::clone(&plan), span };
                    let found = counted(&judgement, n_threads, &never).expect("nobody stops it");
                    assert_eq!(
                        (Some(found.0), found.1.party),
                        (whole, Party::COORDINATOR),
                        "{method} {span}"
                    );
                    assert_eq!(counted(&judgement, n_threads, &AtomicBool::new(true)), None);
                }
            }
        }
    }
}
