//! What a thread counts with: a kernel, or a card with a kernel beside it.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use queens_gpu::{Card, CardError, CardId};
use queens_solver::{BoardSize, Count, HalvesPart, Kernel, Method, Part, SplitMix, Subproblems, Symmetry};
use tracing::{error, info, warn};

/// How long a thread counts by a card, at least, between two checks.
const BETWEEN_CHECKS: Duration = Duration::from_secs(1);

/// A check takes at most a share of the time: one in this many parts.
const CHECK_SHARE: u32 = 20;

/// After this many failures in a row, a card rests.
const MOST_FAILURES: u32 = 3;

/// What a thread counts with.
#[derive(Debug)]
pub(crate) struct Counter {
    kernel: Kernel,
    card: Option<OnCard>,
    /// One of the subproblems that a card has counted since the last check.
    unchecked: Option<Unchecked>,
}

/// What was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) count: Count,
    /// Whether the next check decides if the count is right.
    pub(crate) is_unchecked: bool,
}

/// What an open card does.
trait Counts: Send {
    /// Counts subproblems; `None` if it was stopped.
    fn count(
        &mut self,
        part: &HalvesPart,
        numbers: Range<u64>,
        stop: &AtomicBool,
    ) -> Result<Option<Count>, CardError>;
}

impl Counts for Card {
    fn count(
        &mut self,
        part: &HalvesPart,
        numbers: Range<u64>,
        stop: &AtomicBool,
    ) -> Result<Option<Count>, CardError> {
        Self::count(self, part, numbers, stop)
    }
}

/// Opens a card for boards of one size.
type Opener = Box<dyn FnMut(BoardSize) -> Result<Box<dyn Counts>, CardError> + Send>;

/// A card, and how it has done so far.
struct OnCard {
    id: CardId,
    common: Arc<Common>,
    opener: Opener,
    open: Option<(BoardSize, Box<dyn Counts>)>,
    /// How often the card had been lost when this thread opened it.
    opened_after: u32,
    /// When the next check is due; now, if there is none.
    next_check: Option<Instant>,
    random: SplitMix,
}

/// What the threads of a card share.
#[derive(Debug, Default)]
struct Common {
    /// Set when the card is of no use any more: no thread uses it.
    rests: AtomicBool,
    /// How often the card has failed. A driver heals only when all threads have closed it.
    n_lost: AtomicU32,
}

impl std::fmt::Debug for OnCard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnCard").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A subproblem that a card has counted.
#[derive(Clone, Copy, Debug)]
struct Unchecked {
    part: HalvesPart,
    number: u64,
    /// The number of subproblems that it was chosen from.
    of: u64,
}

/// What came of an attempt on a card.
enum Attempt<T> {
    Done(T),
    Stopped,
    /// The card rests.
    Rests,
}

/// Returns the number of threads that count by a card. Two keep it busy: while one waits for a result, the other counts.
pub(crate) const fn threads_of(card: CardId) -> usize {
    match card {
        CardId::Cuda(_) => 2,
        // A driver that is no card's crashes if several threads call it at once.
        CardId::OpenCl(_) => 1,
    }
}

impl Counter {
    /// Counts by a kernel.
    pub(crate) const fn kernel(kernel: Kernel) -> Self {
        Self { kernel, card: None, unchecked: None }
    }

    /// Returns the counters of a card's threads: they count by the card what cards count, and by a kernel everything else.
    /// `seed` chooses the subproblems that are counted twice.
    pub(crate) fn of_card(id: CardId, kernel: Kernel, seed: u64) -> Vec<Self> {
        let (n, common) = (threads_of(id) as u64, Arc::new(Common::default()));
        // They share its memory.
        let open = move |size| id.open(size, n).map(|card| Box::new(card) as Box<dyn Counts>);
        (0..n).map(|i| Self::opened_by(id, common.clone(), Box::new(open), kernel, seed ^ i)).collect()
    }

    fn opened_by(id: CardId, common: Arc<Common>, opener: Opener, kernel: Kernel, seed: u64) -> Self {
        let (opened_after, next_check, random) = (0, None, SplitMix::new(seed));
        let card = OnCard { id, common, opener, open: None, opened_after, next_check, random };
        Self { kernel, card: Some(card), unchecked: None }
    }

    /// Counts subproblems of a part; `None` if `stop` was set before the end.
    ///
    /// If the card fails, it is opened anew and tries again. When it rests, the kernel counts. So a card's failure is
    /// never the span's.
    pub(crate) fn count(
        &mut self,
        part: &Part,
        subproblems: &mut Subproblems,
        numbers: Range<u64>,
        stop: &AtomicBool,
    ) -> Option<Counted> {
        if let (Some(card), Part::Halves(part)) = (&mut self.card, part)
            && CardId::counts(part.n())
        {
            match card.attempt(part.n(), stop, |open| open.count(part, numbers.clone(), stop)) {
                Attempt::Done(count) => {
                    let length = numbers.end - numbers.start;
                    let of = self.unchecked.map_or(0, |chosen| chosen.of).saturating_add(length);
                    // Each subproblem since the last check is as likely as every other.
                    let chosen = card.random.next() % of.max(1);
                    self.unchecked = match self.unchecked {
                        Some(before) if chosen >= length => Some(Unchecked { of, ..before }),
                        _ => Some(Unchecked { part: *part, number: numbers.start + chosen, of }),
                    };
                    return Some(Counted { count, is_unchecked: true });
                }
                Attempt::Stopped => return None,
                Attempt::Rests => self.card = None,
            }
        }
        let count = subproblems.count(numbers, self.kernel, stop)?;
        Some(Counted { count, is_unchecked: false })
    }

    /// Opens the card, if there is one that counts such boards.
    pub(crate) fn open_card(&mut self, n: BoardSize, method: Method, stop: &AtomicBool) {
        if let Some(card) = &mut self.card
            && method == Method::Halves
            && CardId::counts(n)
            && let Attempt::Rests = card.attempt(n, stop, |_| Ok(Some(())))
        {
            self.card = None;
        }
    }

    /// Forgets what waits for a check.
    pub(crate) const fn forget(&mut self) {
        self.unchecked = None;
    }

    /// Returns whether a check is due: for a card's first chunk, and after a second or more.
    pub(crate) fn is_check_due(&self) -> bool {
        let next = self.card.as_ref().and_then(|card| card.next_check);
        self.unchecked.is_some() && next.is_none_or(|due| Instant::now() >= due)
    }

    /// Counts one of the subproblems since the last check again, by the card and by the processor. Returns whether all of
    /// them may be reported; `None` if `stop` was set before the end.
    ///
    /// A wrong card rests, in all its threads.
    pub(crate) fn check(&mut self, stop: &AtomicBool) -> Option<bool> {
        let Some(Unchecked { part, number, .. }) = self.unchecked.take() else { return Some(true) };
        let Some(card) = &mut self.card else { return Some(false) };
        let (began, one) = (Instant::now(), number..number + 1);
        let by_card = match card.attempt(part.n(), stop, |open| open.count(&part, one.clone(), stop)) {
            Attempt::Done(count) => count,
            Attempt::Stopped => return None,
            Attempt::Rests => {
                self.card = None;
                return Some(false);
            }
        };
        let by_processor =
            Part::Halves(part).subproblems(Symmetry::IDENTITY).count(one, self.kernel, stop)?;
        card.next_check = Some(Instant::now() + BETWEEN_CHECKS.max(began.elapsed() * CHECK_SHARE));
        if by_card != by_processor {
            card.common.rests.store(true, Ordering::Relaxed);
            error!(
                card = %card.id, n = %part.n(), ?part, subproblem = number, ?by_card, ?by_processor,
                "the card counted wrong and rests; what it has counted since its last check is counted again"
            );
            self.card = None;
        }
        Some(by_card == by_processor)
    }
}

impl OnCard {
    /// Acts on the open card until that succeeds. After failures in a row, the card rests.
    fn attempt<T>(
        &mut self,
        n: BoardSize,
        stop: &AtomicBool,
        mut act: impl FnMut(&mut dyn Counts) -> Result<Option<T>, CardError>,
    ) -> Attempt<T> {
        for n_failures in 1.. {
            if self.common.rests.load(Ordering::Relaxed) {
                break;
            }
            let acted = self.open(n).and_then(&mut act);
            // Another thread may have found the card wrong meanwhile.
            if self.common.rests.load(Ordering::Relaxed) {
                break;
            }
            let reason = match acted {
                Ok(Some(done)) => return Attempt::Done(done),
                Ok(None) => return Attempt::Stopped,
                Err(reason) => reason,
            };
            self.common.n_lost.fetch_add(1, Ordering::Relaxed);
            if reason == CardError::Hung {
                // Closing it would wait for the kernel that hangs, and so would opening it anew.
                std::mem::forget(self.open.take());
            }
            self.open = None;
            if n_failures == MOST_FAILURES || reason == CardError::Hung {
                error!(card = %self.id, %reason, n_failures, "the card failed and rests; the processor counts");
                self.common.rests.store(true, Ordering::Relaxed);
                break;
            }
            warn!(card = %self.id, %reason, "the card failed; it is opened anew");
            pause(Duration::from_secs(1 << (n_failures - 1)), stop);
            if stop.load(Ordering::Relaxed) {
                return Attempt::Stopped;
            }
        }
        Attempt::Rests
    }

    /// Returns the card, open for boards of size `n`.
    fn open(&mut self, n: BoardSize) -> Result<&mut dyn Counts, CardError> {
        let n_lost = self.common.n_lost.load(Ordering::Relaxed);
        let is_open = self.open.as_ref().is_some_and(|(of, _)| *of == n);
        if !is_open || self.opened_after != n_lost {
            self.open = None;
            self.opened_after = n_lost;
            self.next_check = None;
            self.open = Some((n, (self.opener)(n)?));
            info!(card = %self.id, %n, "opened a card");
        }
        match &mut self.open {
            Some((_, card)) => Ok(&mut **card),
            None => Err(CardError::Driver("the card is closed".to_owned())),
        }
    }
}

/// Sleeps, until `stop` is set at most.
fn pause(duration: Duration, stop: &AtomicBool) {
    let began = Instant::now();
    while began.elapsed() < duration && !stop.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(20));
    }
}
