//! What joining halves takes in proportion to searching: `cargo bench -p queens-solver --bench halves -- 20 22 24`.
//!
//! Of each board some samples are counted by either method in turn, on one thread, and the whole board's time is
//! estimated from them as time a unit of work times the board's estimated work. A second number `avx2` counts with that
//! kernel. What is counted does not depend on the kernel, which is asserted by tests, not here.

#![expect(clippy::print_stdout, reason = "the report")]

use std::error::Error;
use std::time::{Duration, Instant};
use std::{fs, io};

use queens_solver::{BoardSize, Kernel, Method, Sampler};

/// Turns of each method.
const TURNS: usize = 12;

/// How long a turn goes on.
const TURN: Duration = Duration::from_millis(1500);

/// Descents that estimate the work of a sample's part.
const N_DESCENTS: u32 = 256;

/// One method's samples of a board.
struct Counted {
    sampler: Sampler,
    next: usize,
    /// Of the samples that were counted, each as often as it stands for others.
    seconds: f64,
    nodes: f64,
}

impl Counted {
    fn new(n: BoardSize, method: Method) -> Self {
        Self { sampler: Sampler::new(n, method), next: 0, seconds: 0.0, nodes: 0.0 }
    }

    /// Counts samples for a while.
    fn turn(&mut self, kernel: Kernel) -> io::Result<()> {
        let began = Instant::now();
        while began.elapsed() < TURN {
            let part = self.sampler.part(self.next % self.sampler.n_samples());
            self.next += 1;
            let before = process_time()?;
            let count = part.count(kernel);
            self.seconds += (process_time()? - before).as_secs_f64() * part.stands_for();
            self.nodes += count.nodes as f64 * part.stands_for();
        }
        Ok(())
    }

    /// Estimates what the whole board takes, in seconds.
    fn board_time(&self) -> f64 {
        let works = (0..self.sampler.n_samples()).map(|number| self.sampler.nodes(number, N_DESCENTS));
        self.seconds / self.nodes * works.sum::<f64>()
    }
}

/// The time this thread was on a processor.
fn process_time() -> io::Result<Duration> {
    let stat = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = stat.split_whitespace().next().and_then(|first| first.parse().ok());
    nanoseconds.map(Duration::from_nanos).ok_or_else(|| io::Error::other("no times of threads"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let kernel = if args.iter().any(|arg| arg == "avx2") { Kernel::Avx2 } else { Kernel::best() };
    let boards = args.iter().filter_map(|arg| arg.parse().ok()).collect::<Vec<u8>>();
    for n in if boards.is_empty() { vec![20, 22, 24] } else { boards } {
        let n = BoardSize::new(n)?;
        let mut methods = [Method::Search, Method::Halves].map(|method| Counted::new(n, method));
        for _ in 0..TURNS {
            for method in &mut methods {
                method.turn(kernel)?;
            }
        }
        let [search, halves] = methods.map(|method| method.board_time());
        println!(
            "n = {n}, {kernel}: search {search:.3e} s, halves {halves:.3e} s, ratio {:.3}",
            halves / search
        );
    }
    Ok(())
}
