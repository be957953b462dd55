//! Compares the time of the halves method with the search's: `cargo bench -p queens-solver --bench halves -- 20 22 24`.
//!
//! Either method counts some samples of each board in turn, on one thread. The estimate of the whole board's time is
//! the time per unit of work times the board's estimated work. Samples of half boards are consecutive subproblems, as
//! workers count them: the first one that needs a list makes it. A further argument `avx2` counts with that kernel,
//! `two` on two threads at once. The counts do not depend on the kernel; tests assert this, not the benchmark.

#![expect(clippy::print_stdout, reason = "the report")]

use std::error::Error;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use queens_solver::{BoardSize, Kernel, Method, Plan, Sampler, SplitMix};

/// Turns of each method.
const TURNS: usize = 12;

/// The duration of a turn of the search.
const TURN: Duration = Duration::from_secs(3);

/// The expected work of a turn of the halves method, in units: some seconds.
const WORK: u128 = 3_000_000_000;

/// Descents that estimate the work of a sample's part.
const N_DESCENTS: u32 = 256;

static NEVER: AtomicBool = AtomicBool::new(false);

/// The time and the counts of some turns.
#[derive(Clone, Copy, Default)]
struct Counted {
    seconds: f64,
    work: f64,
}

impl Counted {
    fn add(&mut self, other: Self) {
        self.seconds += other.seconds;
        self.work += other.work;
    }
}

/// Counts samples of the search for a while: every `step`-th from `first` on.
fn search(sampler: &Sampler, kernel: Kernel, first: usize, step: usize) -> io::Result<Counted> {
    let mut counted = Counted::default();
    let began = Instant::now();
    for number in (first..).step_by(step) {
        let part = sampler.part(number % sampler.n_samples());
        let before = process_time()?;
        let count = part.count(kernel);
        counted.add(Counted { seconds: (process_time()? - before).as_secs_f64(), work: count.work as f64 });
        if began.elapsed() > TURN {
            break;
        }
    }
    Ok(counted)
}

/// Counts consecutive subproblems of half boards, from a random one on. Parts with more work are drawn more often, and
/// the number of subproblems gives about the same expected work each time. So all runs stand for as much of the board.
fn halves(plan: &Plan, kernel: Kernel, random: &mut SplitMix) -> Result<Counted, Box<dyn Error>> {
    let mut left = board_work(plan) * random.below(1 << 30) as f64 / f64::from(1 << 30);
    let mut chosen = plan.parts().iter().filter(|part| {
        left -= part.choice().work as f64;
        left < 0.0
    });
    let part = chosen.next().or(plan.parts().last()).ok_or("no parts")?;
    let (work, n_subproblems) = (part.choice().work, part.choice().n_subproblems);
    let n_expected = u64::try_from(u128::from(n_subproblems) * WORK / work.max(1))?;
    let len = n_expected.clamp(1, n_subproblems);
    let from = random.below(usize::try_from(n_subproblems)?) as u64;
    let mut subproblems = part.subproblems();
    let before = process_time()?;
    let mut nodes = 0.0;
    for numbers in [from..n_subproblems.min(from + len), 0..(from + len).saturating_sub(n_subproblems)] {
        nodes += subproblems.count(numbers, kernel, &NEVER).ok_or("stopped by nobody")?.work as f64;
    }
    // A part with less work than a turn's stands for more.
    let stands_for = WORK as f64 / (work as f64 * len as f64 / n_subproblems as f64);
    let seconds = (process_time()? - before).as_secs_f64();
    Ok(Counted { seconds: seconds * stands_for, work: nodes * stands_for })
}

/// Returns the estimated work of a board.
fn board_work(plan: &Plan) -> f64 {
    plan.parts().iter().map(|part| part.choice().work as f64).sum()
}

/// Returns this thread's processor time.
fn process_time() -> io::Result<Duration> {
    let stat = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = stat.split_whitespace().next().and_then(|first| first.parse().ok());
    nanoseconds.map(Duration::from_nanos).ok_or_else(|| io::Error::other("no times of threads"))
}

/// Runs the same count on several threads at once, and sums up the results.
fn on_threads(
    n_threads: usize,
    count: impl Fn(usize) -> Result<Counted, Box<dyn Error>> + Sync,
) -> Result<Counted, Box<dyn Error>> {
    let counted = thread::scope(|scope| {
        let count = &count;
        let one = |i| scope.spawn(move || count(i).map_err(|error| error.to_string()));
        let threads: Vec<_> = (0..n_threads).map(one).collect();
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect::<Vec<_>>()
    });
    let mut sum = Counted::default();
    for counted in counted {
        sum.add(counted?);
    }
    Ok(sum)
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let kernel = if args.iter().any(|arg| arg == "avx2") { Kernel::Avx2 } else { Kernel::best() };
    let n_threads = if args.iter().any(|arg| arg == "two") { 2 } else { 1 };
    let boards = args.iter().filter_map(|arg| arg.parse().ok()).collect::<Vec<u8>>();
    for n in if boards.is_empty() { vec![20, 22, 24] } else { boards } {
        let n = BoardSize::new(n)?;
        let sampler = Sampler::new(n, Method::Search);
        let plan = Plan::new(n, Method::Halves, NonZeroUsize::MIN, &NEVER).ok_or("nobody stops it")?;
        let mut of_methods = [Counted::default(); 2];
        for turn in 0..TURNS {
            let step = TURNS * n_threads;
            of_methods[0].add(on_threads(n_threads, |thread| {
                Ok(search(&sampler, kernel, turn * n_threads + thread, step)?)
            })?);
            of_methods[1].add(on_threads(n_threads, |thread| {
                halves(&plan, kernel, &mut SplitMix::new((turn * n_threads + thread) as u64))
            })?);
        }
        let [by_search, by_halves] = of_methods.map(|counted| counted.seconds / counted.work);
        let search_work = (0..sampler.n_samples()).map(|number| sampler.work(number, N_DESCENTS));
        let (search, halves) = (by_search * search_work.sum::<f64>(), by_halves * board_work(&plan));
        println!(
            "n = {n}, {kernel}, threads: {n_threads}: search {search:.3e} s, halves {halves:.3e} s, ratio {:.3}",
            halves / search
        );
    }
    Ok(())
}
