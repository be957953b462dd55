//! `queens bench`: measures how fast a kernel counts a fixed sample of a board.

use std::num::NonZeroUsize;
use std::ops::Add;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use queens_counting::threads_of;
use queens_gpu::CardId;
use queens_platform::with_instructions;
use queens_program::{print, threads};
use queens_solver::{
    BoardSize, InvalidKernel, Kernel, KernelChoice, Method, SampledPart, Sampler, classic, parallel,
    published,
};

use crate::flags::{GpuArgs, OutputArgs};
use crate::method::MethodChoice;
use crate::present::bench_answer::{BenchAnswer, StageTime, comparison, text};
use crate::present::output::Output;
use crate::present::progress::Spinner;
use crate::sampling::cards::{TimedProbe, probe_card, sums, time_of_cards};
use crate::sampling::{Measured, Timed, board_nodes, board_time, is_whole_board};
use queens_model::plural;

/// The textbook method recounts one of this many parts, because it takes several times as long as a kernel.
const TEXTBOOK_EVERY: usize = 64;

/// The maximum time of counting before the measurement.
const WARMING_UP: Duration = Duration::from_millis(200);

/// Measure how fast a kernel counts a sample, and check its counts
///
/// The sample of a board is always the same, except on graphics cards. By search, from n = 19 on, it has a piece of about a million nodes of each
/// cross. By halves, from n = 20 on, it has some of their columns. Solutions are weighted: a solution of a cross that
/// stands for eight counts eight times. The exit status is 1 if the counts are wrong.
#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// Size of the board, 0 to 32
    #[arg(long, value_name = "N", default_value = "18", allow_negative_numbers = true)]
    n: BoardSize,

    /// Number of crosses, or samples of halves, to count; all of them if there are fewer [default: 512, and 32 of
    /// halves from n = 21 on]
    #[arg(long, value_name = "S", value_parser = sample, allow_negative_numbers = true)]
    sample: Option<NonZeroUsize>,

    /// Counting threads
    #[arg(long, env = "QUEENS_THREADS", value_name = "T", value_parser = threads,
          default_value = "1", allow_negative_numbers = true)]
    threads: NonZeroUsize,

    /// Method to measure: 'search' below crosses, the join of 'halves', or 'auto' for the faster one for this board
    /// [default: search, and halves with --gpu]
    #[arg(long, env = "QUEENS_METHOD", value_name = "METHOD")]
    method: Option<MethodChoice>,

    /// Kernel to measure: 'auto' for the fastest on this processor, a name (avx512, avx2, v128, portable), or 'all' for
    /// each that it can run, with a line for the list in docs/KERNEL.md; in JSON, an array of answers
    #[arg(long, env = "QUEENS_KERNEL", value_name = "KERNEL", default_value = "auto", value_parser = measured_kernels)]
    kernel: MeasuredKernels,

    #[command(flatten)]
    gpu: GpuArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// The kernels to measure.
#[derive(Clone, Copy, Debug)]
enum MeasuredKernels {
    One(KernelChoice),
    All,
}

fn measured_kernels(text: &str) -> Result<MeasuredKernels, String> {
    match text {
        "all" => Ok(MeasuredKernels::All),
        _ => text.parse().map(MeasuredKernels::One).map_err(|error: InvalidKernel| match error {
            InvalidKernel::Unknown => "expected all, auto, avx512, avx2, v128 or portable".to_owned(),
            unavailable @ InvalidKernel::Unavailable(_) => unavailable.to_string(),
        }),
    }
}

fn sample(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "expected a number of samples, from 1".to_owned())
}

/// Returns the number of parts that take some seconds.
const fn default_sample(n: BoardSize, method: Method) -> usize {
    match (method, n.get()) {
        (Method::Search, _) | (Method::Halves, 0..=20) => 512,
        (Method::Halves, _) => 32,
    }
}

/// Runs the command and returns its exit status.
pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<ExitCode> {
    let method = args.method.unwrap_or(Method::Search.into());
    let cards = args.gpu.cards(args.n, args.method.unwrap_or(Method::Halves.into()))?;
    let answers = match args.kernel {
        _ if !cards.is_empty() => {
            cards.iter().map(|card| measure_card(args, *card)).collect::<anyhow::Result<_>>()?
        }
        MeasuredKernels::One(choice) => {
            let kernel = choice.kernel();
            vec![measure(args, method.method(args.n, kernel), kernel)?]
        }
        MeasuredKernels::All => {
            let here = Kernel::ALL.into_iter().filter(|kernel| kernel.is_available());
            let method = method.method(args.n, Kernel::best());
            here.map(|kernel| measure(args, method, kernel)).collect::<anyhow::Result<_>>()?
        }
    };
    print(&match (args.output.output, args.kernel, &answers[..]) {
        (Output::Json, MeasuredKernels::One(_), [answer]) => serde_json::to_string(answer)?,
        (Output::Json, ..) => serde_json::to_string(&answers)?,
        (Output::Text, MeasuredKernels::One(_), _) => {
            answers.iter().map(text).collect::<Vec<_>>().join("\n\n")
        }
        (Output::Text, ..) => comparison(&answers),
    })?;
    let agrees = answers.iter().all(|answer| answer.agrees);
    Ok(if agrees { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures a kernel.
fn measure(args: &BenchArgs, method: Method, kernel: Kernel) -> anyhow::Result<BenchAnswer> {
    let sampler = Sampler::new(args.n, method);
    let n_parts =
        args.sample.map_or(default_sample(args.n, method), NonZeroUsize::get).min(sampler.n_samples());
    let busy = Spinner::new("choosing parts", None);
    let parts = parallel(args.threads, n_parts, |_| true, |i| sampler.part(i))?;
    drop(busy);
    let (timed, instructions, seconds) = time(&parts, kernel, args.threads)?;
    let sample: Vec<(SampledPart, Timed)> = parts.into_iter().zip(timed).collect();
    let busy = Spinner::new("checking the counts", None);
    let check = check(kernel, &sampler, &sample, args.threads)?;
    let work = board_nodes(&sampler, &sample, args.threads)?;
    drop(busy);
    let mut answer = answer(args, kernel, &sampler, &sample, seconds, work, check);
    let nodes: u128 = sample.iter().map(|(_, timed)| u128::from(timed.count.work)).sum();
    answer.instructions_per_node =
        instructions.filter(|_| nodes > 0).map(|instructions| instructions as f64 / nodes as f64);
    Ok(answer)
}

/// Measures a card by chunks of the board. It has no fixed sample, as a chunk is as large as the card is fast.
fn measure_card(args: &BenchArgs, card: CardId) -> anyhow::Result<BenchAnswer> {
    let began = Instant::now();
    let kernel = Kernel::best();
    let busy = Spinner::new("counting on the card", None);
    let TimedProbe { chunks, n_checked, stages } = probe_card(card, kernel, args.n)?;
    drop(busy);
    let seconds = began.elapsed().as_secs_f64();
    let busy = Spinner::new("estimating the work", None);
    let sampler = Sampler::new(args.n, Method::Halves);
    let board_work = board_nodes(&sampler, &[], args.threads)?;
    drop(busy);
    let (solutions, work, card_seconds) = sums(&chunks);
    let projected = time_of_cards(&chunks, board_work);
    let ns_per = |count: u128| (count > 0).then(|| card_seconds * 1e9 / count as f64);
    Ok(BenchAnswer {
        n: args.n.get(),
        method: Method::Halves,
        kernel: card.to_string(),
        threads: threads_of(card),
        sample: chunks.len(),
        parts: sampler.n_samples(),
        solutions: solutions.to_string(),
        work: work.to_string(),
        seconds,
        core_seconds: card_seconds,
        ns_per_solution: ns_per(solutions),
        ns_per_node: ns_per(work),
        instructions_per_node: None,
        projected_core_seconds: projected.value,
        projected_error: 2.0 * projected.error,
        checked_against: format!("the {kernel} kernel on {}", plural(n_checked, "random subproblem")),
        agrees: true,
        stages: stages.into_iter().map(|(stage, seconds)| StageTime { stage, seconds }).collect(),
        is_by_card: true,
    })
}

/// Counts all parts; returns also the instructions, if the system counts them, and the elapsed seconds.
fn time(
    parts: &[SampledPart],
    kernel: Kernel,
    n_threads: NonZeroUsize,
) -> anyhow::Result<(Vec<Timed>, Option<u64>, f64)> {
    // Counts without measuring first: a sleeping processor takes a while to wake up.
    let began = Instant::now();
    for part in parts.iter().take(16).take_while(|_| began.elapsed() < WARMING_UP) {
        _ = part.count(kernel);
    }
    let began = Instant::now();
    let busy = Spinner::new("counting parts", Some(parts.len()));
    let time = |i: usize| {
        let timed = with_instructions(|| Timed::new(&parts[i], kernel));
        busy.step();
        timed
    };
    let (timed, instructions): (Vec<Timed>, Vec<Option<u64>>) =
        parallel(n_threads, parts.len(), |_| true, time)?.into_iter().unzip();
    Ok((timed, instructions.into_iter().sum(), began.elapsed().as_secs_f64()))
}

/// The reference of the counts, and whether they agree with it.
#[derive(Debug)]
struct Check {
    against: String,
    agrees: bool,
}

/// Compares a whole board with its published count, a sample with another kernel and a textbook method.
fn check(
    timed_with: Kernel,
    sampler: &Sampler,
    sample: &[(SampledPart, Timed)],
    n_threads: NonZeroUsize,
) -> anyhow::Result<Check> {
    if is_whole_board(sampler, sample.len())
        && let Some(published) = published(sampler.n())
    {
        let against = format!("the published count {}", published.solutions);
        return Ok(Check { against, agrees: solutions(sample) == published.solutions });
    }
    let is_same = |one: Kernel| sampler.method().is_same_code(one, timed_with);
    let other = Kernel::ALL.into_iter().find(|&kernel| kernel.is_available() && !is_same(kernel));
    let agrees = parallel(
        n_threads,
        sample.len(),
        |_| true,
        |i| {
            let (part, timed) = &sample[i];
            let textbook = i % TEXTBOOK_EVERY == 0;
            other.is_none_or(|kernel| part.count(kernel) == timed.count)
                && part.queens().filter(|_| textbook).is_none_or(|queens| {
                    classic::Method::Bitmask.count(sampler.n(), queens) == Ok(timed.count.solutions)
                })
        },
    )?;
    let (n_parts, n_textbook) = (sample.len(), sample.len().div_ceil(TEXTBOOK_EVERY));
    let against = match other {
        // Textbook methods complete given queens, and halves are no given queens.
        Some(kernel) if sampler.method() == Method::Halves => {
            format!("the {kernel} kernel on all {n_parts} parts")
        }
        None if sampler.method() == Method::Halves => "nothing: there is no other kernel here".to_owned(),
        Some(kernel) => {
            format!(
                "the {kernel} kernel on all {n_parts} parts and a textbook method on {n_textbook} of them"
            )
        }
        None => format!("a textbook method on {n_textbook} of {n_parts} parts"),
    };
    Ok(Check { against, agrees: agrees.into_iter().all(|agrees| agrees) })
}

fn solutions(sample: &[(SampledPart, Timed)]) -> u128 {
    sample.iter().map(|(part, timed)| u128::from(part.weight()) * u128::from(timed.count.solutions)).sum()
}

fn answer(
    args: &BenchArgs,
    kernel: Kernel,
    sampler: &Sampler,
    sample: &[(SampledPart, Timed)],
    seconds: f64,
    board_nodes: Measured,
    check: Check,
) -> BenchAnswer {
    let solutions = solutions(sample);
    let work: u128 = sample.iter().map(|(_, timed)| u128::from(timed.count.work)).sum();
    let core_seconds: f64 = sample.iter().map(|(_, timed)| timed.core_seconds).fold(0.0, f64::add);
    let projected = board_time(sampler, sample, board_nodes);
    let ns_per = |count: u128| (count > 0).then(|| core_seconds * 1e9 / count as f64);
    BenchAnswer {
        n: args.n.get(),
        method: sampler.method(),
        kernel: kernel.to_string(),
        threads: args.threads.get(),
        sample: sample.len(),
        parts: sampler.n_samples(),
        solutions: solutions.to_string(),
        work: work.to_string(),
        seconds,
        core_seconds,
        ns_per_solution: ns_per(solutions),
        ns_per_node: ns_per(work),
        instructions_per_node: None,
        projected_core_seconds: projected.value,
        projected_error: 2.0 * projected.error,
        checked_against: check.against,
        agrees: check.agrees,
        stages: Vec::new(),
        is_by_card: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts a sample, lets `tamper` change the counts, and returns the result of the check.
    fn checked(n: u8, n_parts: usize, kernel: Kernel, tamper: impl Fn(&mut [(SampledPart, Timed)])) -> Check {
        let sampler = Sampler::new(BoardSize::new(n).expect("a board size"), Method::Search);
        let parts = (0..n_parts.min(sampler.n_samples())).map(|i| sampler.part(i));
        let mut sample: Vec<_> = parts.map(|part| (part.clone(), Timed::new(&part, kernel))).collect();
        tamper(&mut sample);
        check(kernel, &sampler, &sample, NonZeroUsize::MIN).expect("no thread is started")
    }

    #[test]
    fn wrong_counts_are_noticed() {
        let kernel = Kernel::best();
        assert!(checked(12, 1000, kernel, |_| ()).agrees);
        assert!(!checked(12, 1000, kernel, |sample| sample[7].1.count.solutions += 1).agrees);
        assert!(checked(14, 70, kernel, |_| ()).agrees);
        for i in [0, 64] {
            assert!(!checked(14, 70, kernel, |sample| sample[i].1.count.solutions += 1).agrees, "part {i}");
        }
        // Another kernel, if there is one, detects errors in parts that the textbook method skips.
        if kernel != Kernel::Portable {
            assert!(!checked(14, 70, kernel, |sample| sample[7].1.count.solutions -= 1).agrees);
            assert!(!checked(14, 70, kernel, |sample| sample[7].1.count.work += 1).agrees);
        }
    }

    #[test]
    fn what_is_checked_is_said() {
        let kernel = Kernel::best();
        assert_eq!(checked(8, 512, kernel, |_| ()).against, "the published count 92");
        let against = checked(14, 70, kernel, |_| ()).against;
        assert!(against.contains("textbook method on 2 of"), "{against}");
        let against = checked(22, 1, kernel, |_| ()).against;
        assert!(against.contains("textbook method on 1 of"), "{against}");
    }
}
