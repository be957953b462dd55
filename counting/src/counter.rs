//! What a thread counts with: a kernel, or a card with a kernel beside it.

use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use queens_gpu::{Card, CardError, CardId};
use queens_solver::{BoardSize, Count, HalvesPart, Kernel, Part, SplitMix, Subproblems, Symmetry};
use tracing::{error, info, warn};

/// How long a thread counts by a card between two of its subproblems that the processor counts again.
const BETWEEN_CHECKS: Duration = Duration::from_secs(1);

/// After this many failures in a row, a card rests.
const MOST_FAILURES: u32 = 3;

/// What a thread counts with.
#[derive(Debug)]
pub(crate) struct Counter {
    kernel: Kernel,
    card: Option<OnCard>,
}

/// A card, and how it has done so far.
struct OnCard {
    id: CardId,
    /// The number of threads that share its memory.
    share: u64,
    open: Option<(BoardSize, Card)>,
    n_failures: u32,
    checked: Option<Instant>,
    random: SplitMix,
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

/// Returns the number of threads of a card. Two keep it busy: while one waits for a result, the other counts.
pub(crate) const fn n_threads(card: CardId) -> usize {
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

    /// Counts by a card what cards count, and by a kernel everything else. `seed` chooses the subproblems that are
    /// counted twice.
    pub(crate) fn card(id: CardId, kernel: Kernel, seed: u64) -> Self {
        let share = n_threads(id) as u64;
        let random = SplitMix::new(seed);
        Self { kernel, card: Some(OnCard { id, share, open: None, n_failures: 0, checked: None, random }) }
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
            match card.count(halves, self.kernel, numbers.clone(), stop) {
                Outcome::Counted(count) => {
                    card.n_failures = 0;
                    return Some(count);
                }
                Outcome::Stopped => return None,
                Outcome::Failed(reason) => {
                    card.open = None;
                    card.n_failures += 1;
                    if card.n_failures < MOST_FAILURES {
                        warn!(card = %id, %reason, "the card failed; it is opened anew");
                        thread::sleep(Duration::from_secs(1 << (card.n_failures - 1)));
                        continue;
                    }
                    error!(card = %id, %reason, kernel = %self.kernel, "the card failed three times and rests; the processor counts");
                    self.card = None;
                }
                Outcome::Wrong { number, card, processor } => {
                    error!(
                        card = %id, n = %halves.n(), part = ?part, subproblem = number, ?card, ?processor,
                        "the card counted wrong and rests; what it recorded since its last check may be wrong, so have it counted again: queens verify-more"
                    );
                    self.card = None;
                }
            }
        }
        subproblems.count(numbers, self.kernel, stop)
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
        if self.open.as_ref().is_none_or(|(n, _)| *n != halves.n()) {
            self.open = None;
            match self.id.open(halves.n(), self.share) {
                Ok(card) => {
                    info!(card = %self.id, n = %halves.n(), "opened a card");
                    self.open = Some((halves.n(), card));
                    self.checked = None;
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
        if self.checked.is_some_and(|at| at.elapsed() < BETWEEN_CHECKS) {
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
        self.checked = Some(Instant::now());
        if by_card == processor {
            Outcome::Counted(count)
        } else {
            Outcome::Wrong { number, card: by_card, processor }
        }
    }
}
