//! Measures the subproblems of half boards, and whether work predicts their time:
//! `cargo bench -p queens-solver --bench subproblems -- 20 24`; without numbers for n = 20 to 28.
//!
//! For the mean, it counts subproblems spread evenly over each board, each twice: first without lists, then with the
//! lists of its columns, which neighbours share. Then it counts those whose columns are farthest apart, which take
//! longest. Up to n = 24 it also counts some in each of several parts, for their time per unit of work. Times are
//! processor times of one thread.

#![expect(clippy::print_stdout, reason = "the report")]

use std::error::Error;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::{fs, io};

use queens_solver::{BoardSize, Count, Kernel, Method, Part, Plan, PlannedPart, SplitMix};

/// The time to count for the mean, for the longest, and for the parts.
const TIME: Duration = Duration::from_secs(10);

/// Sets of columns with counted subproblems, to find the longest.
const N_SETS: u32 = 6;

/// The most sets whose spread is computed: all of even boards, up to n = 24.
const MOST_SETS: u64 = 3_000_000;

/// Parts whose time per unit is compared.
const N_PARTS: usize = 30;

static NEVER: AtomicBool = AtomicBool::new(false);

/// Returns this thread's processor time, in seconds.
fn process_time() -> io::Result<f64> {
    let stat = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = stat.split_whitespace().next().and_then(|first| first.parse::<f64>().ok());
    nanoseconds.map(|nanoseconds| nanoseconds / 1e9).ok_or_else(|| io::Error::other("no times of threads"))
}

/// Counts a subproblem, and returns its seconds without lists and with lists.
fn timed(part: &PlannedPart, number: u64) -> io::Result<(Count, [f64; 2])> {
    let mut subproblems = part.subproblems();
    let mut count = || subproblems.count(number..number + 1, Kernel::best(), &NEVER).unwrap_or_default();
    let before = process_time()?;
    let first = count();
    let between = process_time()?;
    assert_eq!(first, count());
    Ok((first, [between - before, process_time()? - between]))
}

/// Returns the subproblem numbers of a set of columns.
fn n_numbers_of_set(part: &PlannedPart, n: BoardSize) -> Result<u64, Box<dyn Error>> {
    let Part::Halves(halves) = part.part() else { return Err("not of halves".into()) };
    let powers = (0..=3).map(|n_digits| u64::from(n.get() / 2).pow(n_digits));
    let of_first = powers.filter(|power| halves.columns_of(0) == halves.columns_of(power - 1));
    of_first.max().ok_or_else(|| "a set has a number".into())
}

/// Returns the spread of both half boards' columns. It is the logarithm of the probability that no two queens in random
/// rows attack each other, if all pairs were independent.
fn spread(n: BoardSize, halves: [u32; 2]) -> f64 {
    let m = f64::from(n.get() / 2);
    let mut spread = 0.0;
    for columns in halves {
        for distance in 1..n.get() / 2 {
            let n_pairs = (columns & columns >> distance).count_ones();
            spread += f64::from(n_pairs) * (1.0 - 2.0 * (m - f64::from(distance)) / (m * (m - 1.0))).ln();
        }
    }
    spread
}

/// A set of columns: a part's numbers from the first on.
struct Set<'a> {
    part: &'a PlannedPart,
    first: u64,
    spread: f64,
}

/// Returns the sets of columns with the greatest spread, among those computed.
fn farthest_apart(plan: &Plan) -> Result<Vec<Set<'_>>, Box<dyn Error>> {
    let mut sets = Vec::new();
    let n_all: u64 = plan.parts().iter().map(|part| part.choice().n_subproblems).sum();
    for part in plan.parts() {
        let n_numbers = n_numbers_of_set(part, plan.n())?;
        let step = n_numbers * (n_all / n_numbers).div_ceil(MOST_SETS);
        let Part::Halves(halves) = part.part() else { continue };
        for first in (0..part.choice().n_subproblems).step_by(usize::try_from(step)?) {
            let columns = halves.columns_of(first).ok_or("it has this number")?;
            sets.push(Set { part, first, spread: spread(plan.n(), columns) });
        }
        sets.sort_by(|a: &Set<'_>, b| b.spread.total_cmp(&a.spread));
        // Sets that are not canonical hold nothing, so some extra are kept.
        sets.truncate(8 * N_SETS as usize);
    }
    Ok(sets)
}

/// Measures subproblems spread evenly over all: their mean time without lists and with lists.
fn mean(plan: &Plan) -> io::Result<()> {
    let n_all: u64 = plan.parts().iter().map(|part| part.choice().n_subproblems).sum();
    let (began, mut random) = (Instant::now(), SplitMix::new(plan.n().get().into()));
    let (mut n_counted, mut n_with_work) = (0_u32, 0_u32);
    let (mut sums, mut squares, mut longest) = ([0.0; 2], 0.0, 0.0);
    while began.elapsed() < TIME {
        let mut place = random.next() % n_all;
        let part = plan.parts().iter().find(|part| {
            let is_here = place < part.choice().n_subproblems;
            place -= if is_here { 0 } else { part.choice().n_subproblems };
            is_here
        });
        let Some(part) = part else { continue };
        let (count, seconds) = timed(part, place)?;
        n_counted += 1;
        n_with_work += u32::from(count.work > 0);
        sums = [sums[0] + seconds[0], sums[1] + seconds[1]];
        squares += seconds[1] * seconds[1];
        longest = f64::max(longest, seconds[0]);
    }
    let n = f64::from(n_counted);
    let error = (squares - sums[1] * sums[1] / n).max(0.0).sqrt();
    println!(
        "  {n_all} subproblems, {n_counted} counted, {n_with_work} of them with work: mean of all {:.4} s alone, \
         {:.4} ± {:.4} s with lists at hand; of those with work {:.4} s and {:.4} s; longest {longest:.2} s",
        sums[0] / n,
        sums[1] / n,
        error / n,
        sums[0] / f64::from(n_with_work),
        sums[1] / f64::from(n_with_work),
    );
    Ok(())
}

/// Measures the longest subproblem of the sets with the columns farthest apart.
fn longest(plan: &Plan) -> Result<(), Box<dyn Error>> {
    let (mut random, mut n_counted, mut n_sets, mut longest) = (SplitMix::new(1), 0, 0, [0.0_f64; 2]);
    for Set { part, first, .. } in farthest_apart(plan)? {
        let n_numbers = n_numbers_of_set(part, plan.n())?;
        let began = Instant::now();
        let mut n_with_work = 0;
        for _ in 0..n_numbers {
            let (count, seconds) = timed(part, first + random.next() % n_numbers)?;
            n_with_work += u32::from(count.work > 0);
            longest = [longest[0].max(seconds[0]), longest[1].max(seconds[1])];
            if began.elapsed() > TIME / N_SETS {
                break;
            }
        }
        n_counted += n_with_work;
        n_sets += u32::from(n_with_work > 0);
        if n_sets == N_SETS {
            break;
        }
    }
    println!(
        "  longest of {n_counted} in the {n_sets} sets farthest apart: {:.2} s alone, {:.2} s with lists",
        longest[0], longest[1],
    );
    Ok(())
}

/// Measures the seconds for 10^9 units of work, in parts spread evenly over all. Each part counts some sets of columns,
/// with all their numbers in order, as a job does.
fn seconds_a_unit(plan: &Plan) -> Result<(), Box<dyn Error>> {
    let mut random = SplitMix::new(2);
    let mut all = Vec::new();
    for part in plan.parts().iter().step_by(plan.parts().len().div_ceil(N_PARTS)) {
        let n_numbers = n_numbers_of_set(part, plan.n())?;
        let n_sets = part.choice().n_subproblems / n_numbers;
        let (mut nodes, mut seconds) = (0, 0.0);
        let began = Instant::now();
        while began.elapsed() < TIME * 2 / u32::try_from(N_PARTS)? {
            let from = random.next() % n_sets * n_numbers;
            let before = process_time()?;
            let counted = part.subproblems().count(from..from + n_numbers, Kernel::best(), &NEVER);
            seconds += process_time()? - before;
            nodes += counted.unwrap_or_default().work;
        }
        if nodes > 0 {
            all.push((seconds / nodes as f64 * 1e9, part.choice().work as f64));
        }
    }
    // Weights each part by its work: with hardly any work, the lists take the time.
    let sum: f64 = all.iter().map(|(_, work)| work).sum();
    let mean = all.iter().map(|(one, work)| one * work).sum::<f64>() / sum;
    let variance = all.iter().map(|(one, work)| (one - mean).powi(2) * work).sum::<f64>() / sum;
    println!(
        "  {mean:.3} s for 10^9 units, relative standard deviation {:.3} over {} parts, by their work",
        variance.sqrt() / mean,
        all.len(),
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let boards = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect::<Vec<u8>>();
    for n in if boards.is_empty() { (20..=28).collect() } else { boards } {
        let plan =
            Plan::new(BoardSize::new(n)?, Method::Halves, NonZeroUsize::MIN, &NEVER).ok_or("stopped")?;
        println!("n = {n}, {}", Kernel::best());
        mean(&plan)?;
        longest(&plan)?;
        // Larger boards take too long for a set.
        if n <= 24 {
            seconds_a_unit(&plan)?;
        }
    }
    Ok(())
}
