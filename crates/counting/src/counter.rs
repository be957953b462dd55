//! Counts chunks by a kernel or a card, checks a card's counts, and stops using a card that fails or counts wrong.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use queens_gpu::{Card, CardError, CardId};
use queens_solver::{BoardSize, Count, HalvesPart, Kernel, Method, Part, SplitMix, Subproblems, Symmetry};
use tracing::{error, info, warn};

/// How long a thread counts by a card, at least, between two checks. So two threads check a card once a second.
const BETWEEN_CHECKS: Duration = Duration::from_secs(2);

/// A check takes at most a share of the time: one in this many parts. But what waits for a check is never older than
/// half a minute, as a stop loses it.
const CHECK_SHARE: u32 = 20;
const LONGEST_BETWEEN_CHECKS: Duration = Duration::from_secs(30);

/// Subproblems that the processor counts until one holds something to compare.
const CANDIDATES: usize = 8;

/// The first check, and then one of this many, compares a whole chunk with its parts: a card may be wrong only where it
/// counts many subproblems at once.
const CHECKS_TO_A_CHUNK: u32 = 16;

/// After this many failures in a row, a card rests.
const MOST_FAILURES: u32 = 3;

/// After this many failures of one thread in an hour, a card rests, too.
const MOST_FAILURES_AN_HOUR: usize = 12;
const HOUR: Duration = Duration::from_secs(3600);

/// What a thread counts with.
#[derive(Debug)]
pub(crate) struct Counter {
    kernel: Kernel,
    card: Option<OnCard>,
    /// One of the chunks that a card has counted since the last check.
    unchecked: Option<Unchecked>,
    /// Why the card rests, for the operators.
    notice: Option<String>,
}

/// A chunk's count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) count: Count,
    /// Whether the next check decides if the count is right.
    pub(crate) is_unchecked: bool,
}

/// Why a chunk was not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotCounted {
    /// The thread was told to stop.
    Stopped,
    /// The card rests, or has no room for the board. The kernel counts from now on, in chunks of its own size.
    CardRests,
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

    /// Returns the seconds that each kernel has taken, by its name; empty if they are not known.
    fn stage_seconds(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
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

    fn stage_seconds(&self) -> Vec<(&'static str, f64)> {
        self.seconds()
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
    n_checks: u32,
    /// When it failed in the last hour.
    failures: Vec<Instant>,
    /// A board that the card has no room for.
    unfit: Option<BoardSize>,
    random: SplitMix,
}

/// What the threads of a card share.
#[derive(Debug, Default)]
struct Common {
    /// Set when the card is of no use any more: no thread uses it.
    rests: AtomicBool,
    /// Why it rests, until a thread has told.
    why: Mutex<Option<String>>,
    /// Set when a kernel hangs: closing the card would wait for it.
    hangs: AtomicBool,
    /// How often the card has failed. A driver heals only when all threads have closed it.
    n_lost: AtomicU32,
}

impl Common {
    /// Lets the card rest for this reason.
    fn rest(&self, why: String) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        self.rests.store(true, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for OnCard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnCard").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A chunk that a card has counted.
#[derive(Clone, Debug)]
struct Unchecked {
    part: HalvesPart,
    numbers: Range<u64>,
    count: Count,
    /// The number of subproblems since the last check.
    of: u64,
}

/// The outcome of a call on a card.
enum Attempt<T> {
    Done(T),
    Stopped,
    /// The card rests.
    Rests,
}

/// Returns the number of threads that count by a card. Two keep it busy: while one waits for a result, the other
/// counts.
#[must_use]
pub const fn threads_of(card: CardId) -> usize {
    match card {
        CardId::Cuda(_) => 2,
        // A driver that is no card's crashes if several threads call it at once.
        CardId::OpenCl(_) => 1,
    }
}

impl Counter {
    /// Counts by a kernel.
    pub(crate) const fn kernel(kernel: Kernel) -> Self {
        Self { kernel, card: None, unchecked: None, notice: None }
    }

    /// Returns the counters of a card's threads: they count by the card what cards count, and by a kernel everything
    /// else. `seed` chooses the subproblems that are counted twice.
    pub(crate) fn of_card(id: CardId, kernel: Kernel, seed: u64) -> Vec<Self> {
        let (n, common) = (threads_of(id) as u64, Arc::new(Common::default()));
        // They share its memory.
        let open = move |size| id.open(size, n).map(|card| Box::new(card) as Box<dyn Counts>);
        (0..n).map(|i| Self::opened_by(id, common.clone(), Box::new(open), kernel, seed ^ i)).collect()
    }

    fn opened_by(id: CardId, common: Arc<Common>, opener: Opener, kernel: Kernel, seed: u64) -> Self {
        let (opened_after, next_check, random) = (0, None, SplitMix::new(seed));
        let (open, n_checks, failures, unfit) = (None, 0, Vec::new(), None);
        let card =
            OnCard { id, common, opener, open, opened_after, next_check, n_checks, failures, unfit, random };
        Self { kernel, card: Some(card), unchecked: None, notice: None }
    }

    /// Counts subproblems of a part.
    ///
    /// If the card fails, it is opened anew and tries again. When it rests, the kernel counts. So a card's failure is
    /// never the span's.
    ///
    /// # Errors
    /// If `stop` was set before the end, or if the card rests. The next call counts by the kernel then.
    pub(crate) fn count(
        &mut self,
        part: &Part,
        subproblems: &mut Subproblems,
        numbers: Range<u64>,
        stop: &AtomicBool,
    ) -> Result<Counted, NotCounted> {
        if let (Some(card), Part::Halves(part)) = (&mut self.card, part)
            && CardId::counts(part.n())
            && card.unfit != Some(part.n())
        {
            match card.attempt(part.n(), stop, |open| open.count(part, numbers.clone(), stop)) {
                Attempt::Done(count) => {
                    let length = numbers.end - numbers.start;
                    let of = self.unchecked.as_ref().map_or(0, |chosen| chosen.of).saturating_add(length);
                    // Each subproblem since the last check is as likely as every other.
                    self.unchecked = match self.unchecked.take() {
                        Some(before) if card.random.next() % of.max(1) >= length => {
                            Some(Unchecked { of, ..before })
                        }
                        _ => Some(Unchecked { part: *part, numbers, count, of }),
                    };
                    return Ok(Counted { count, is_unchecked: true });
                }
                Attempt::Stopped => return Err(NotCounted::Stopped),
                Attempt::Rests => {
                    self.forget_resting_card();
                    return Err(NotCounted::CardRests);
                }
            }
        }
        let count = subproblems.count(numbers, self.kernel, stop).ok_or(NotCounted::Stopped)?;
        Ok(Counted { count, is_unchecked: false })
    }

    fn forget_resting_card(&mut self) {
        if let Some(card) = self.card.take_if(|card| card.common.rests.load(Ordering::Relaxed)) {
            self.notice = card.common.why.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }

    /// Takes what the operators should know: why the card rests. Only one of a card's threads has it.
    pub(crate) fn take_notice(&mut self) -> Option<String> {
        self.notice.take()
    }

    /// Opens the card for a board; returns whether it counts it.
    pub(crate) fn opens_card(&mut self, n: BoardSize, method: Method, stop: &AtomicBool) -> bool {
        let Some(card) = self.card.as_mut().filter(|_| method == Method::Halves && CardId::counts(n)) else {
            return false;
        };
        let is_open = !matches!(card.attempt(n, stop, |_| Ok(Some(()))), Attempt::Rests);
        self.forget_resting_card();
        is_open
    }

    /// Returns the seconds that each kernel of the open card has taken, by its name; empty if they are not known.
    pub(crate) fn stage_seconds(&self) -> Vec<(&'static str, f64)> {
        let open = self.card.as_ref().and_then(|card| card.open.as_ref());
        open.map(|(_, open)| open.stage_seconds()).unwrap_or_default()
    }

    /// Forgets what waits for a check.
    pub(crate) fn forget(&mut self) {
        self.unchecked = None;
    }

    /// Returns whether a check is due: for a card's first chunk, and after a second or more.
    pub(crate) fn is_check_due(&self) -> bool {
        let next = self.card.as_ref().and_then(|card| card.next_check);
        self.unchecked.is_some() && next.is_none_or(|due| Instant::now() >= due)
    }

    /// Counts one of the subproblems since the last check again, by the card and by the processor; and now and then its
    /// whole chunk by the card, divided otherwise. Returns whether all chunks since the last check may be reported;
    /// `None` if `stop` was set before the end.
    ///
    /// A wrong card rests, in all its threads.
    pub(crate) fn check(&mut self, stop: &AtomicBool) -> Option<bool> {
        let Some(Unchecked { part, numbers, count, .. }) = self.unchecked.take() else { return Some(true) };
        let Some(card) = &mut self.card else { return Some(false) };
        let began = Instant::now();
        // By the processor first, as a subproblem that holds nothing tells little.
        let length = usize::try_from(numbers.end - numbers.start).unwrap_or(usize::MAX);
        let (mut number, mut by_processor) = (numbers.start, Count::default());
        for _ in 0..CANDIDATES {
            number = numbers.start + card.random.below(length) as u64;
            let subproblems = &mut Part::Halves(part).subproblems(Symmetry::IDENTITY);
            by_processor = subproblems.count(number..number + 1, self.kernel, stop)?;
            if by_processor.work > 0 {
                break;
            }
        }
        let is_of_chunk = card.n_checks.is_multiple_of(CHECKS_TO_A_CHUNK);
        let again = card.attempt(part.n(), stop, |open| {
            let Some(one) = open.count(&part, number..number + 1, stop)? else { return Ok(None) };
            if !is_of_chunk {
                return Ok(Some((one, count)));
            }
            let before = open.count(&part, numbers.start..number, stop)?;
            let after = open.count(&part, number + 1..numbers.end, stop)?;
            let (Some(before), Some(after)) = (before, after) else { return Ok(None) };
            let sum = before.checked_add(one).and_then(|sum| sum.checked_add(after));
            Ok(Some((one, sum.unwrap_or_default())))
        });
        let (by_card, count_again) = match again {
            Attempt::Done(again) => again,
            Attempt::Stopped => return None,
            Attempt::Rests => {
                self.forget_resting_card();
                return Some(false);
            }
        };
        card.n_checks = card.n_checks.wrapping_add(1);
        let pause = (began.elapsed() * CHECK_SHARE).clamp(BETWEEN_CHECKS, LONGEST_BETWEEN_CHECKS);
        card.next_check = Some(Instant::now() + pause);
        let is_right = by_card == by_processor && count_again == count;
        if !is_right {
            error!(
                card = %card.id, n = %part.n(), ?part, subproblem = number, ?by_card, ?by_processor, ?numbers, ?count,
                ?count_again,
                "the card counted wrong and rests; what it has counted since its last check is counted again"
            );
            let n = part.n();
            card.common.rest(format!(
                "the card {} counted n = {n} wrong and rests; what it has counted since its last check is counted again",
                card.id
            ));
            self.forget_resting_card();
        }
        Some(is_right)
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
            if self.common.rests.load(Ordering::Relaxed) || self.unfit == Some(n) {
                break;
            }
            // A driver's library may panic, and so may arithmetic with numbers from a card that is broken.
            let acted = catch_unwind(AssertUnwindSafe(|| self.open(n).and_then(&mut act)));
            let acted = acted.unwrap_or_else(|_| Err(CardError::Driver("a panic".to_owned())));
            if matches!(acted, Err(CardError::Hung)) {
                // Before any other thread closes it.
                self.common.hangs.store(true, Ordering::Relaxed);
                error!(card = %self.id, reason = %CardError::Hung, "the card hangs and rests; the processor counts");
                self.common.rest(format!("the card {} hangs and rests; the processor counts", self.id));
            }
            // Another thread may have found the card wrong meanwhile.
            if self.common.rests.load(Ordering::Relaxed) {
                break;
            }
            let reason = match acted {
                Ok(Some(done)) => return Attempt::Done(done),
                Ok(None) => return Attempt::Stopped,
                Err(reason) => reason,
            };
            self.close();
            if matches!(
                reason,
                CardError::BoardSize
                    | CardError::TooLittleMemory(_)
                    | CardError::TooLittleSharedMemory { .. }
            ) {
                error!(card = %self.id, %n, %reason, "the card can't count this board; the processor does");
                self.unfit = Some(n);
                break;
            }
            self.common.n_lost.fetch_add(1, Ordering::Relaxed);
            self.failures.retain(|failed| failed.elapsed() < HOUR);
            self.failures.push(Instant::now());
            if n_failures == MOST_FAILURES || self.failures.len() == MOST_FAILURES_AN_HOUR {
                error!(card = %self.id, %reason, n_failures, "the card failed and rests; the processor counts");
                self.common
                    .rest(format!("the card {} failed and rests; the processor counts: {reason}", self.id));
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

    /// Closes the card. One that hangs is given up with its memory, as closing it would wait for ever.
    fn close(&mut self) {
        let open = self.open.take();
        if self.common.hangs.load(Ordering::Relaxed) {
            std::mem::forget(open);
        }
    }

    /// Returns the card, open for boards of size `n`.
    fn open(&mut self, n: BoardSize) -> Result<&mut dyn Counts, CardError> {
        let n_lost = self.common.n_lost.load(Ordering::Relaxed);
        let is_open = self.open.as_ref().is_some_and(|(of, _)| *of == n);
        if !is_open || self.opened_after != n_lost {
            self.close();
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

impl Drop for OnCard {
    fn drop(&mut self) {
        self.close();
    }
}

/// Sleeps, until `stop` is set at most.
fn pause(duration: Duration, stop: &AtomicBool) {
    let began = Instant::now();
    while began.elapsed() < duration && !stop.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(20));
    }
}
