//! `queens estimate`: estimates how long a count would take.

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::{Duration, Instant};

use queens_counting::{default_threads, threads_of};
use queens_gpu::CardId;
use queens_program::{OutputArgs, threads};
use queens_solver::{BoardSize, Kernel, Method, Sampler, published};
use serde::Serialize;

use crate::flags::{BoardArgs, GpuArgs, KernelArgs};
use crate::method::MethodArgs;
use crate::present::progress::Spinner;
use crate::present::work::{method_name, work_text};
use crate::sampling::{Measured, Piece, Probing, Sample, probe, probe_card, samples_of};
use queens_model::{TimeUnit, grouped, plural};

/// The duration of sampling.
const PROBING: Probing = Probing { time: Duration::from_secs(3), fewest: 16 };

/// The relative error that a sample can't reveal: the bookkeeping around the kernel, and changes in a core's speed. On
/// a shared machine, runs seconds apart differ by this much.
const UNSEEN: f64 = 0.1;

/// Estimate how long counting N queens would take
///
/// Counts samples of the board with this machine's kernel, or on its graphics cards with --gpu, for seconds to two
/// minutes. The true value lies in the range 19 times out of 20, for cores or cards like these under the same load.
#[derive(Debug, clap::Args)]
pub(crate) struct EstimateArgs {
    #[command(flatten)]
    board: BoardArgs,

    /// Number of counting cores, or of cards with --gpu; by default those of this machine
    #[arg(long, value_name = "C", value_parser = cores, allow_negative_numbers = true)]
    cores: Option<NonZeroU64>,

    /// Threads that count samples; by default one for each processor
    #[arg(long, env = "QUEENS_THREADS", value_name = "T", value_parser = threads,
          default_value_t = default_threads(), allow_negative_numbers = true)]
    threads: NonZeroUsize,

    #[command(flatten)]
    method: MethodArgs,

    #[command(flatten)]
    kernel: KernelArgs,

    #[command(flatten)]
    gpu: GpuArgs,

    #[command(flatten)]
    output: OutputArgs,
}

fn cores(text: &str) -> Result<NonZeroU64, String> {
    text.parse().map_err(|_| "expected a number of cores, from 1".to_owned())
}

/// The estimates in JSON. Scripts rely on its fields. Ranges are 95 % confidence intervals.
#[derive(Debug, Serialize)]
struct EstimateAnswer {
    n: u8,
    #[serde(serialize_with = "method_name")]
    method: Method,
    /// The kernel's name, or the names of the cards.
    kernel: String,
    /// Cores or cards.
    cores: u64,
    core_seconds: f64,
    core_seconds_range: [f64; 2],
    wall_seconds: f64,
    wall_seconds_range: [f64; 2],
    expected_work: f64,
    work_per_core_second: f64,
    /// The maximum size of a thread's lists; absent without a bound, and on cards.
    bytes_per_thread: Option<usize>,
    expected_solutions: f64,
    expected_solutions_range: [f64; 2],
    published: Option<String>,
    parts: usize,
    sample: usize,
    threads: usize,
    seconds: f64,
    #[serde(skip)]
    is_by_cards: bool,
}

/// Runs the command.
pub(crate) fn run(args: &EstimateArgs) -> anyhow::Result<()> {
    let began = Instant::now();
    let (n, kernel) = (args.board.n, args.kernel.kernel());
    let cards = args.gpu.cards(n, args.method.choice())?;
    let is_by_cards = !cards.is_empty();
    let (sampler, sample) = if is_by_cards {
        (Sampler::new(n, Method::Halves), probe_cards(&cards, kernel, n)?)
    } else {
        let _busy = Spinner::new("counting samples", None);
        probe(n, args.method.choice().method(n, kernel), kernel, args.threads, PROBING)?
    };
    let busy = Spinner::new("estimating the work", None);
    let work = sample.board_work(&sampler, args.threads)?;
    drop(busy);
    let (time, solutions) = (sample.board_seconds(work), sample.board_solutions(work));
    let names: Vec<String> = cards.iter().map(ToString::to_string).collect();
    let n_here = if is_by_cards { cards.len() } else { default_threads().get() };
    let cores = args.cores.map_or(n_here as u64, NonZeroU64::get);
    let of_cards = cards.iter().map(|card| threads_of(*card)).sum();
    let core_seconds_range = range(time, UNSEEN);
    let answer = EstimateAnswer {
        n: n.get(),
        method: sampler.method(),
        kernel: if is_by_cards { names.join(",") } else { kernel.to_string() },
        cores,
        core_seconds: time.value,
        core_seconds_range,
        wall_seconds: time.value / cores as f64,
        wall_seconds_range: core_seconds_range.map(|seconds| seconds / cores as f64),
        expected_work: work.value,
        work_per_core_second: if time.value > 0.0 { work.value / time.value } else { 0.0 },
        bytes_per_thread: sampler.method().most_memory(n).filter(|_| !is_by_cards),
        expected_solutions: solutions.value,
        expected_solutions_range: range(solutions, 0.0),
        published: published(n).map(|counts| counts.solutions.to_string()),
        parts: sampler.n_samples(),
        sample: sample.pieces.len(),
        threads: if is_by_cards { of_cards } else { args.threads.get() },
        seconds: began.elapsed().as_secs_f64(),
        is_by_cards,
    };
    args.output.output.print(&answer, || text(&answer))
}

/// Probes cards one after another, as if each counted an equal part of the board.
fn probe_cards(cards: &[CardId], kernel: Kernel, n: BoardSize) -> anyhow::Result<Sample> {
    let busy = Spinner::new("counting on cards", Some(cards.len()));
    let mut sample = Sample { pieces: Vec::new(), is_whole: false };
    for card in cards {
        sample.pieces.extend(probe_card(*card, kernel, n)?.chunks.into_iter().map(Piece::from));
        busy.step();
    }
    Ok(sample)
}

/// Returns two standard errors to either side, widened by `unseen`.
fn range(measured: Measured, unseen: f64) -> [f64; 2] {
    let factor = (1.0 + 2.0 * measured.error) * (1.0 + unseen);
    [measured.value / factor, measured.value * factor]
}

fn text(answer: &EstimateAnswer) -> String {
    let EstimateAnswer { n, method, kernel, parts, sample, is_by_cards, .. } = answer;
    let core = if *is_by_cards { "card" } else { "core" };
    let core_time = time(answer.core_seconds, answer.core_seconds_range, &format!("{core}-"));
    let wall_time = time(answer.wall_seconds, answer.wall_seconds_range, "");
    let cores = plural(grouped(answer.cores as f64), core);
    let [fewest, most] = answer.expected_solutions_range;
    let solutions = match &answer.published {
        Some(published) => format!("published: {published}"),
        None => format!("{fewest:.2e} to {most:.2e}, none published"),
    };
    let memory = match answer.bytes_per_thread {
        Some(0) => String::new(),
        Some(bytes) => format!("\nmemory: at most {} MiB for each thread", bytes >> 20),
        None if *is_by_cards => String::new(),
        None => "\nmemory: unknown for each thread".to_owned(),
    };
    let by = if *is_by_cards {
        format!("on {kernel} of this machine")
    } else {
        format!("with the {kernel} kernel of this machine")
    };
    let from = if *is_by_cards {
        plural(*sample, "chunk")
    } else {
        format!("{sample} of {parts} {}", samples_of(*method))
    };
    format!(
        "Q({n}): {core_time} by {method} {by}\n\
         {cores}: {wall_time}{memory}\n\
         {}, {} each {core}-second; {} ({solutions})\n\
         from {from}, probed for {:.1} s on {}",
        work_text(*method, &about(answer.expected_work)),
        about(answer.work_per_core_second),
        plural(about(answer.expected_solutions), "solution"),
        answer.seconds,
        plural(answer.threads, "thread")
    )
}

/// Formats a number to its significant digits.
fn about(number: f64) -> String {
    if number < 1e6 { grouped(number) } else { format!("{number:.2e}") }
}

/// Formats a time with its range: "23 core-years (18 to 29)".
fn time(seconds: f64, [least, most]: [f64; 2], prefix: &str) -> String {
    if most < 0.001 {
        return format!("under 0.001 {prefix}seconds");
    }
    let unit = TimeUnit::of(seconds);
    let [expected, least, most] = [seconds, least, most].map(|seconds| unit.rounded(seconds));
    format!("{expected} {prefix}{} ({least} to {most})", unit.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(seconds: f64, error: f64, expected: &str) {
        let range = range(Measured { value: seconds, error }, UNSEEN);
        assert_eq!(time(seconds, range, "core-"), expected);
    }

    #[test]
    fn times_have_one_unit_and_a_range() {
        check(0.0, 0.0, "under 0.001 core-seconds");
        check(0.000_9, 0.0, "under 0.001 core-seconds");
        check(0.004, 0.0, "0.0040 core-seconds (0.0036 to 0.0044)");
        check(2.83, 0.01, "2.8 core-seconds (2.5 to 3.2)");
        check(23.4 * 365.25 * 86400.0, 0.05, "23 core-years (19 to 28)");
        check(1e12, 0.05, "32,000 core-years (26,000 to 38,000)");
    }
}
