//! What a thread counts with: a kernel, or a card with a kernel beside it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use queens_gpu::{Card, CardError, CardId};
use queens_solver::{BoardSize, Count, HalvesPart, Kernel, Part, SplitMix, Subproblems, Symmetry};
use tracing::{error, info, warn};

/// How long a thread counts by a card, at least, between two of its subproblems that the processor counts again.
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
    n_failures: u32,
    /// When the next check is due.
    next_check: Option<Instant>,
    random: SplitMix,
}

/// What the threads of a card share.
#[derive(Debug, Default)]
struct Common {
    /// Set when a check has failed: no thread uses the card any more.
    rests: AtomicBool,
    /// How often the card has failed. A driver heals only when all threads have closed it.
    n_lost: AtomicU32,
}

impl std::fmt::Debug for OnCard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnCard").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What a card has counted, or why it has not.
enum Outcome {
    Counted(Count),
    Stopped,
    Failed(CardError),
    Wrong { number: u64, card: Count, processor: Count },
}

/// Returns the number of threads that count by a card. Two keep it busy: while one waits for a result, the other counts.
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
        Self { kernel, card: None }
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
        let (opened_after, n_failures, next_check, random) = (0, 0, None, SplitMix::new(seed));
        let card = OnCard { id, common, opener, open: None, opened_after, n_failures, next_check, random };
        Self { kernel, card: Some(card) }
    }

    /// Counts subproblems of a part; `None` if `stop` was set before the end.
    ///
    /// If the card fails, it is opened anew and tries again; after three failures in a row, or one wrong count, it rests
    /// for good, and the kernel counts. So a card's failure is never the span's.
    pub(crate) fn count(
        &mut self,
        part: &Part,
        subproblems: &mut Subproblems,
        numbers: Range<u64>,
        stop: &AtomicBool,
    ) -> Option<Count> {
        while let (Some(card), Part::Halves(halves)) = (&mut self.card, part)
            && CardId::counts(halves.n())
        {
            let id = card.id;
            let outcome = card.count(halves, self.kernel, numbers.clone(), stop);
            if card.common.rests.load(Ordering::Relaxed) && !matches!(outcome, Outcome::Wrong { .. }) {
                // Another of its threads has found it wrong.
                self.card = None;
                break;
            }
            match outcome {
                Outcome::Counted(count) => {
                    card.n_failures = 0;
                    return Some(count);
                }
                Outcome::Stopped => return None,
                Outcome::Failed(reason) => {
                    card.open = None;
                    card.common.n_lost.fetch_add(1, Ordering::Relaxed);
                    card.n_failures += 1;
                    if card.n_failures < MOST_FAILURES {
                        warn!(card = %id, %reason, "the card failed; it is opened anew");
                        pause(Duration::from_secs(1 << (card.n_failures - 1)), stop);
                        continue;
                    }
                    error!(card = %id, %reason, kernel = %self.kernel, "the card failed three times and rests; the processor counts");
                    self.card = None;
                }
                Outcome::Wrong { number, card: wrong, processor } => {
                    card.common.rests.store(true, Ordering::Relaxed);
                    error!(
                        card = %id, n = %halves.n(), part = ?part, subproblem = number, ?wrong, ?processor,
                        "the card counted wrong and rests; what it recorded since its last check may be wrong, so have it counted again: queens verify-more"
                    );
                    self.card = None;
                }
            }
        }
        subproblems.count(numbers, self.kernel, stop)
    }
}

/// Sleeps, until `stop` is set at most.
fn pause(duration: Duration, stop: &AtomicBool) {
    let began = Instant::now();
    while began.elapsed() < duration && !stop.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(20));
    }
}

impl OnCard {
    fn count(
        &mut self,
        halves: &HalvesPart,
        kernel: Kernel,
        numbers: Range<u64>,
        stop: &AtomicBool,
    ) -> Outcome {
        if self.common.rests.load(Ordering::Relaxed) {
            return Outcome::Stopped;
        }
        let n_lost = self.common.n_lost.load(Ordering::Relaxed);
        if self.opened_after != n_lost || self.open.as_ref().is_none_or(|(n, _)| *n != halves.n()) {
            self.open = None;
            self.opened_after = n_lost;
            match (self.opener)(halves.n()) {
                Ok(card) => {
                    info!(card = %self.id, n = %halves.n(), "opened a card");
                    self.open = Some((halves.n(), card));
                    self.next_check = None;
                }
                Err(reason) => return Outcome::Failed(reason),
            }
        }
        let Some((_, card)) = &mut self.open else { return Outcome::Stopped };
        let count = match card.count(halves, numbers.clone(), stop) {
            Ok(Some(count)) => count,
            Ok(None) => return Outcome::Stopped,
            Err(reason) => return Outcome::Failed(reason),
        };
        let began = Instant::now();
        if self.next_check.is_some_and(|due| began < due) {
            return Outcome::Counted(count);
        }
        // One subproblem by both, before the chunk is reported.
        let length = usize::try_from(numbers.end - numbers.start).unwrap_or(usize::MAX);
        let number = numbers.start + self.random.below(length) as u64;
        let one = number..number + 1;
        let by_card = match card.count(halves, one.clone(), stop) {
            Ok(Some(count)) => count,
            Ok(None) => return Outcome::Stopped,
            Err(reason) => return Outcome::Failed(reason),
        };
        let subproblems = &mut Part::Halves(*halves).subproblems(Symmetry::IDENTITY);
        let Some(processor) = subproblems.count(one, kernel, stop) else { return Outcome::Stopped };
        self.next_check = Some(Instant::now() + BETWEEN_CHECKS.max(began.elapsed() * CHECK_SHARE));
        if by_card == processor {
            Outcome::Counted(count)
        } else {
            Outcome::Wrong { number, card: by_card, processor }
        }
    }
}

#[cfg(test)]
mod tests {

    use queens_solver::{Method, parts_in_counting_order};

    use super::*;

    static NEVER: AtomicBool = AtomicBool::new(false);

    /// A card that counts by the processor, and fails or lies as told.
    struct Fake {
        fails: bool,
        adds: u64,
        n_calls: Arc<AtomicU32>,
    }

    impl Counts for Fake {
        fn count(
            &mut self,
            part: &HalvesPart,
            numbers: Range<u64>,
            stop: &AtomicBool,
        ) -> Result<Option<Count>, CardError> {
            self.n_calls.fetch_add(1, Ordering::Relaxed);
            if self.fails {
                return Err(CardError::Driver("lost".to_owned()));
            }
            let count =
                Part::Halves(*part).subproblems(Symmetry::IDENTITY).count(numbers, Kernel::best(), stop);
            Ok(count.map(|count| Count { solutions: count.solutions + self.adds, ..count }))
        }
    }

    /// Counts the first part of n = 12 by a card whose n-th opening makes `fake(n)`; returns the count, whether the card
    /// goes on, and how often it was called.
    fn count(
        fake: impl Fn(u32) -> (bool, u64) + Send + 'static,
        stop: &AtomicBool,
    ) -> (Option<Count>, bool, u32) {
        let n_calls = Arc::new(AtomicU32::new(0));
        let (calls, mut n_opened) = (n_calls.clone(), 0);
        let open = move |_| {
            let (fails, adds) = fake(n_opened);
            n_opened += 1;
            Ok(Box::new(Fake { fails, adds, n_calls: calls.clone() }) as Box<dyn Counts>)
        };
        let mut counter =
            Counter::opened_by(CardId::Cuda(0), Arc::default(), Box::new(open), Kernel::best(), 1);
        let n = BoardSize::new(12).expect("a board size");
        let part = parts_in_counting_order(n, Method::Halves)[0];
        let mut subproblems = part.subproblems(Symmetry::IDENTITY);
        let all = 0..subproblems.n_subproblems();
        let count = counter.count(&part, &mut subproblems, all, stop);
        (count, counter.card.is_some(), n_calls.load(Ordering::Relaxed))
    }

    /// Returns the count that the processor finds.
    fn right() -> Option<Count> {
        let n = BoardSize::new(12).expect("a board size");
        let mut subproblems = parts_in_counting_order(n, Method::Halves)[0].subproblems(Symmetry::IDENTITY);
        subproblems.count(0..u64::MAX, Kernel::best(), &NEVER)
    }

    #[test]
    fn a_cards_first_chunk_is_checked() {
        assert_eq!(count(|_| (false, 0), &NEVER), (right(), true, 2));
    }

    #[test]
    fn a_card_that_fails_is_opened_anew() {
        assert_eq!(count(|opening| (opening == 0, 0), &NEVER), (right(), true, 3));
    }

    #[test]
    fn a_card_that_fails_three_times_rests_and_the_processor_counts() {
        assert_eq!(count(|_| (true, 0), &NEVER), (right(), false, 3));
    }

    #[test]
    fn a_card_that_counts_wrong_rests_and_the_processor_counts() {
        assert_eq!(count(|_| (false, 1), &NEVER), (right(), false, 2));
    }

    #[test]
    fn a_stopped_card_counts_nothing() {
        assert_eq!(count(|_| (false, 0), &AtomicBool::new(true)), (None, true, 1));
    }

    #[test]
    fn a_card_that_one_thread_found_wrong_is_used_by_none() {
        let common = Arc::new(Common::default());
        let (n_calls, n) = (Arc::new(AtomicU32::new(0)), BoardSize::new(12).expect("a board size"));
        let mut counters = [1, 0].map(|adds| {
            let n_calls = n_calls.clone();
            let open = move |_| {
                Ok(Box::new(Fake { fails: false, adds, n_calls: n_calls.clone() }) as Box<dyn Counts>)
            };
            Counter::opened_by(CardId::Cuda(0), common.clone(), Box::new(open), Kernel::best(), 1)
        });
        let part = parts_in_counting_order(n, Method::Halves)[0];
        for counter in &mut counters {
            let mut subproblems = part.subproblems(Symmetry::IDENTITY);
            let all = 0..subproblems.n_subproblems();
            assert_eq!(counter.count(&part, &mut subproblems, all, &NEVER), right());
        }
        assert!(counters.iter().all(|counter| counter.card.is_none()));
        assert_eq!(n_calls.load(Ordering::Relaxed), 2);
    }
}
