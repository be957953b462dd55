//! `queens bench`: measures how fast a kernel counts a fixed sample of a board.

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use queens_counting::{CardProbe, threads_of};
use queens_gpu::CardId;
use queens_platform::with_instructions;
use queens_program::{OutputArgs, threads};
use queens_solver::{
    BoardSize, InvalidKernel, Kernel, KernelChoice, Method, SampledPart, Sampler, classic, parallel,
    published,
};

use crate::flags::GpuArgs;
use crate::method::MethodChoice;
use crate::present::bench_answer::{BenchAnswer, StageTime, comparison, text};
use crate::present::progress::Spinner;
use crate::sampling::{Measured, Piece, Sample, probe_card};
use queens_model::plural;

/// The textbook method recounts one of this many parts, because it takes several times as long as a kernel.
const TEXTBOOK_EVERY: usize = 64;

/// The maximum time of counting before the measurement.
const WARMING_UP: Duration = Duration::from_millis(200);

/// Measure how fast a kernel counts a sample, and check its counts
///
/// The sample of a board is always the same, except on graphics cards. By search, from n = 19 on, it has a piece of
/// about a million nodes of each cross. By halves, from n = 20 on, it has some of their columns. Solutions are
/// weighted: a solution of a cross that stands for eight counts eight times. JSON is an array. The exit status is 1
/// if the counts are wrong.
#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// Size of the board, 0 to 32
    #[arg(value_name = "N", default_value = "18", allow_negative_numbers = true)]
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
    /// each that it can run, with a line for the list in docs/KERNEL.md
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
    let answers: Vec<BenchAnswer> = match args.kernel {
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
    args.output.output.print(&answers, || match args.kernel {
        MeasuredKernels::One(_) => answers.iter().map(text).collect::<Vec<_>>().join("\n\n"),
        MeasuredKernels::All => comparison(&answers),
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
    let (pieces, instructions, seconds) = time(&parts, kernel, args.threads)?;
    let sample = Sample::of(&sampler, pieces);
    let busy = Spinner::new("checking the counts", None);
    let check = check(kernel, &sampler, &parts, &sample, args.threads)?;
    let board_work = sample.board_work(&sampler, args.threads)?;
    drop(busy);
    let work = sample.work();
    let instructions_per_node =
        instructions.filter(|_| work > 0).map(|instructions| instructions as f64 / work as f64);
    let (kernel, threads) = (kernel.to_string(), args.threads.get());
    let answer = answer(&sampler, kernel, threads, &sample, seconds, board_work, check);
    Ok(BenchAnswer { instructions_per_node, ..answer })
}

/// Measures a card by chunks of the board. It has no fixed sample, as a chunk is as large as the card is fast.
fn measure_card(args: &BenchArgs, card: CardId) -> anyhow::Result<BenchAnswer> {
    let began = Instant::now();
    let kernel = Kernel::best();
    let busy = Spinner::new("counting on the card", None);
    let CardProbe { chunks, n_checked, stages } = probe_card(card, kernel, args.n)?;
    drop(busy);
    let seconds = began.elapsed().as_secs_f64();
    let busy = Spinner::new("estimating the work", None);
    let sampler = Sampler::new(args.n, Method::Halves);
    let sample = Sample { pieces: chunks.into_iter().map(Piece::from).collect(), is_whole: false };
    let board_work = sample.board_work(&sampler, args.threads)?;
    drop(busy);
    let against = format!("the {kernel} kernel on {}", plural(n_checked, "random subproblem"));
    let check = Check { against, agrees: true };
    let answer = answer(&sampler, card.to_string(), threads_of(card), &sample, seconds, board_work, check);
    let stages = stages.into_iter().map(|(stage, seconds)| StageTime { stage, seconds }).collect();
    Ok(BenchAnswer { stages, is_by_card: true, ..answer })
}

/// Counts all parts; returns also the instructions, if the system counts them, and the elapsed seconds.
fn time(
    parts: &[SampledPart],
    kernel: Kernel,
    n_threads: NonZeroUsize,
) -> anyhow::Result<(Vec<Piece>, Option<u64>, f64)> {
    // Counts without measuring first: a sleeping processor takes a while to wake up.
    let began = Instant::now();
    for part in parts.iter().take(16).take_while(|_| began.elapsed() < WARMING_UP) {
        _ = part.count(kernel);
    }
    let began = Instant::now();
    let busy = Spinner::new("counting parts", Some(parts.len()));
    let time = |i: usize| {
        let counted = with_instructions(|| Piece::count(&parts[i], kernel));
        busy.step();
        counted
    };
    let (pieces, instructions): (Vec<Piece>, Vec<Option<u64>>) =
        parallel(n_threads, parts.len(), |_| true, time)?.into_iter().unzip();
    Ok((pieces, instructions.into_iter().sum(), began.elapsed().as_secs_f64()))
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
    parts: &[SampledPart],
    sample: &Sample,
    n_threads: NonZeroUsize,
) -> anyhow::Result<Check> {
    if sample.is_whole
        && let Some(published) = published(sampler.n())
    {
        let against = format!("the published count {}", published.solutions);
        return Ok(Check { against, agrees: sample.solutions() == published.solutions });
    }
    let is_same = |one: Kernel| sampler.method().is_same_code(one, timed_with);
    let other = Kernel::ALL.into_iter().find(|&kernel| kernel.is_available() && !is_same(kernel));
    let agrees = parallel(
        n_threads,
        parts.len(),
        |_| true,
        |i| {
            let (part, count) = (&parts[i], sample.pieces[i].count);
            let textbook = i % TEXTBOOK_EVERY == 0;
            other.is_none_or(|kernel| part.count(kernel) == count)
                && part.queens.as_deref().filter(|_| textbook).is_none_or(|queens| {
                    classic::Method::Bitmask.count(sampler.n(), queens) == Ok(count.solutions)
                })
        },
    )?;
    let (n_parts, n_textbook) = (parts.len(), parts.len().div_ceil(TEXTBOOK_EVERY));
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

/// Returns what a sample tells of its counter, by name and number of threads.
fn answer(
    sampler: &Sampler,
    kernel: String,
    threads: usize,
    sample: &Sample,
    seconds: f64,
    board_work: Measured,
    check: Check,
) -> BenchAnswer {
    let (solutions, work, core_seconds) = (sample.solutions(), sample.work(), sample.seconds());
    let projected = sample.board_seconds(board_work);
    let ns_per = |count: u128| (count > 0).then(|| core_seconds * 1e9 / count as f64);
    BenchAnswer {
        n: sampler.n().get(),
        method: sampler.method(),
        kernel,
        threads,
        sample: sample.pieces.len(),
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
    fn checked(n: u8, n_parts: usize, kernel: Kernel, tamper: impl Fn(&mut [Piece])) -> Check {
        let sampler = Sampler::new(BoardSize::new(n).expect("a board size"), Method::Search);
        let parts: Vec<SampledPart> =
            (0..n_parts.min(sampler.n_samples())).map(|i| sampler.part(i)).collect();
        let pieces = parts.iter().map(|part| Piece::count(part, kernel)).collect();
        let mut sample = Sample::of(&sampler, pieces);
        tamper(&mut sample.pieces);
        check(kernel, &sampler, &parts, &sample, NonZeroUsize::MIN).expect("no thread is started")
    }

    #[test]
    fn wrong_counts_are_noticed() {
        let kernel = Kernel::best();
        assert!(checked(12, 1000, kernel, |_| ()).agrees);
        assert!(!checked(12, 1000, kernel, |sample| sample[7].count.solutions += 1).agrees);
        assert!(checked(14, 70, kernel, |_| ()).agrees);
        for i in [0, 64] {
            assert!(!checked(14, 70, kernel, |sample| sample[i].count.solutions += 1).agrees, "part {i}");
        }
        // Another kernel, if there is one, detects errors in parts that the textbook method skips.
        if kernel != Kernel::Portable {
            assert!(!checked(14, 70, kernel, |sample| sample[7].count.solutions -= 1).agrees);
            assert!(!checked(14, 70, kernel, |sample| sample[7].count.work += 1).agrees);
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
