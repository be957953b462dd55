//! `queens check`: verifies a certificate.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use queens_certificate::{Extent, Options, PublicKey, Refusal, Sample, check, random_seed};
use queens_counting::default_threads;
use queens_platform::open_regular_file;
use queens_program::{OutputArgs, threads};

use crate::flags::KernelArgs;
use crate::present::certificate::{describe, json, stage};
use crate::present::progress::Spinner;

/// Verify a certificate, offline and without trusting it
///
/// The plan is computed again from n. Each subproblem must be counted exactly once in each pass. Weights, sums, passes,
/// further counts, verdicts, tree, signature, published counts and symmetric solutions must agree. Some records are
/// recounted. Exit status: 0 if all of it holds, 1 if anything does not, which is named, 2 wrong usage.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// The certificate
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Public key that may sign it, as 'queens-coordinator key' prints it; can be repeated [default: any key, which is
    /// shown]
    #[arg(long, value_name = "KEY")]
    key: Vec<PublicKey>,

    /// Recount records for this many seconds, drawn at random; each record begun is completed
    #[arg(long, value_name = "S", default_value = "10", value_parser = seconds, allow_negative_numbers = true,
          conflicts_with = "share")]
    seconds: Duration,

    /// Recount this percentage of the records, however long it takes: at least one, unless it is 0
    #[arg(long, value_name = "PERCENT", value_parser = share, allow_negative_numbers = true)]
    share: Option<f64>,

    /// Seed that draws the records: the author of the file must not know it before [default: a random number]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,

    /// Threads that recount; by default one for each processor
    #[arg(long, env = "QUEENS_THREADS", value_name = "T", value_parser = threads,
          default_value_t = default_threads(), allow_negative_numbers = true)]
    threads: NonZeroUsize,

    /// Also check boards of n = 30 and more, which takes core-minutes to core-hours before any recount
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    kernel: KernelArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<()> {
    let name = args.file.display();
    let file = open_regular_file(&args.file).with_context(|| format!("failed to open '{name}'"))?;
    let seed = match args.seed {
        Some(seed) => seed,
        None => random_seed().context("failed to draw a random number")?,
    };
    let extent = match args.share {
        Some(share) => Extent::Share(share),
        None => Extent::Time(args.seconds),
    };
    let wants_sample = !matches!(extent, Extent::Time(Duration::ZERO));
    let busy = Spinner::new("checking", None);
    let told = |now| {
        busy.say(stage(now));
    };
    let stop = AtomicBool::new(false);
    let options = Options {
        keys: &args.key,
        sample: wants_sample.then_some(Sample { extent, seed }),
        kernel: args.kernel.kernel(),
        long: args.yes,
        n_threads: args.threads,
        stop: &stop,
    };
    let checked = check(&file, &options, &told);
    drop(busy);
    let is_long = matches!(checked, Err(Refusal::Long { .. }));
    let no_answer = if is_long { "was not checked" } else { "proves nothing" };
    let report = checked.with_context(|| format!("'{name}' {no_answer}"))?;
    args.output.output.print(&json(&report), || describe(&report))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "expected a number of seconds, 0 for no sample".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share: &f64| (0.0..=100.0).contains(share));
    share.map(|share| share / 100.0).ok_or_else(|| "expected a share in per cent, from 0 to 100".to_owned())
}
