//! Configuration of a machine's workers, one for the processor and one for each card: name, kernel, threads, share of
//! time.

use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use queens_gpu::CardId;
use queens_model::{MOST_THREADS, Name};
use queens_solver::{BoardSize, Kernel};

use crate::counter::threads_of;

/// A worker's configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name shown to people.
    pub name: Name,
    /// The kernel that counts, or that counts what a card can't.
    pub kernel: Kernel,
    /// What counts.
    pub device: Device,
    /// The share of its time that each thread counts.
    pub duty: Duty,
    /// Whether its threads run only when processors have nothing else to do, where the system can do that.
    pub is_nice: bool,
    /// The board that a card is opened for at once; others are opened for when the first lease comes.
    pub board: Option<BoardSize>,
}

/// What a worker counts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// The processor, by this many threads.
    Processor(NonZeroUsize),
    /// A graphics card.
    Card(CardId),
}

/// The most characters of a machine's name in the name of a card.
const LONGEST_MACHINE: usize = 80;

impl Config {
    /// Returns the workers of a machine: one for its processor, unless it has no threads, and one for each card, which
    /// is called `NAME-cuda:0` and opened for `board` at once. A coordinator measures the speed of each and sizes its
    /// leases by it. By default, there is a thread for each processor that no thread of a card needs.
    #[must_use]
    pub fn of_machine(
        name: &Name,
        kernel: Kernel,
        n_threads: Option<usize>,
        cards: &[CardId],
        duty: Duty,
        board: Option<BoardSize>,
    ) -> Vec<Self> {
        let n_of_cards = cards.iter().map(|card| threads_of(*card)).sum();
        let n_threads = n_threads.unwrap_or_else(|| default_threads().get().saturating_sub(n_of_cards));
        let processor = NonZeroUsize::new(n_threads).map(|n_threads| Self {
            name: name.clone(),
            kernel,
            device: Device::Processor(n_threads),
            duty,
            is_nice: false,
            board: None,
        });
        let start: String = name.as_str().chars().take(LONGEST_MACHINE).collect();
        let cards = cards.iter().map(|card| Self {
            name: Name::of_any(&format!("{start}-{card}")),
            kernel,
            device: Device::Card(*card),
            duty,
            is_nice: false,
            board,
        });
        processor.into_iter().chain(cards).collect()
    }

    /// Returns the number of counting threads.
    #[must_use]
    pub const fn n_threads(&self) -> usize {
        match self.device {
            Device::Processor(n_threads) => n_threads.get(),
            Device::Card(card) => threads_of(card),
        }
    }

    /// Returns the name of what counts: the kernel's, or that of the card's driver.
    #[must_use]
    pub fn counter_name(&self) -> &'static str {
        match self.device {
            Device::Processor(_) => self.kernel.name(),
            Device::Card(card) => card.driver(),
        }
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Processor(_) => f.write_str("cpu"),
            Self::Card(card) => card.fmt(f),
        }
    }
}

/// Returns one thread for each processor that this process may use, at most a worker's maximum.
#[must_use]
pub fn default_threads() -> NonZeroUsize {
    let most = usize::try_from(MOST_THREADS).ok().and_then(NonZeroUsize::new).unwrap_or(NonZeroUsize::MIN);
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN).min(most)
}

/// The share of its time that a thread counts, in percent, 1 to 100. It pauses for the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duty(u8);

/// The longest pause. It lets a stopping thread end within a second.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Duty {
    /// A thread that never pauses.
    pub const FULL: Self = Self(100);

    /// Returns this share in percent; `None` unless it is 1 to 100.
    #[must_use]
    pub fn percent(percent: u8) -> Option<Self> {
        (1..=100).contains(&percent).then_some(Self(percent))
    }

    /// Returns the pause after a chunk that took `counted`. The chunk size adapts until chunk and pause together take a
    /// tenth of a second.
    pub(crate) fn pause_after(self, counted: Duration) -> Duration {
        let pause = counted * u32::from(100 - self.0) / u32::from(self.0);
        pause.min(LONGEST_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(percent: u8, counted_ms: u64, pause_ms: u64) {
        let duty = Duty::percent(percent).expect("a share");
        let pause = duty.pause_after(Duration::from_millis(counted_ms));
        assert_eq!(pause, Duration::from_millis(pause_ms), "{percent} % after {counted_ms} ms");
    }

    #[test]
    fn a_card_is_a_worker_of_its_own() {
        let names = |n_threads: usize, cards: &[CardId]| {
            let name = "x".repeat(100).parse().expect("a name");
            let workers = Config::of_machine(&name, Kernel::best(), Some(n_threads), cards, Duty::FULL, None);
            workers.into_iter().map(|config| config.name.to_string()).collect::<Vec<_>>()
        };
        let (all, start) = ("x".repeat(100), "x".repeat(80));
        let cards = [CardId::Cuda(0), CardId::OpenCl(1)];
        assert_eq!(names(2, &cards), [all, format!("{start}-cuda:0"), format!("{start}-opencl:1")]);
        assert_eq!(names(0, &cards[1..]), [format!("{start}-opencl:1")]);
    }

    #[test]
    fn pauses_make_up_the_rest_of_the_time() {
        check(100, 100, 0);
        check(50, 100, 100);
        check(25, 30, 90);
        check(1, 1, 99);
        check(1, 100, 1000);
        assert_eq!((Duty::percent(0), Duty::percent(101)), (None, None));
    }
}
