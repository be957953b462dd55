//! `queens merge`: merges several certificates into one.

use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use queens_certificate::{Options, Part, merge};
use queens_counting::default_threads;
use queens_platform::{NewFile, open_regular_file};
use queens_program::OutputArgs;
use queens_solver::Kernel;
use serde_json::json;

use crate::present::certificate::stage;
use crate::present::progress::Spinner;

/// Merge certificates of parts of one board into one
///
/// Different sites may count the parts. Each part keeps its site's signature. All parts are checked as by 'queens check
/// --seconds 0' before anything is written. Gaps between them and overlaps are errors.
#[derive(Debug, clap::Args)]
pub(crate) struct MergeArgs {
    /// The certificates, in any order
    #[arg(value_name = "FILE", num_args = 2.., required = true)]
    files: Vec<PathBuf>,

    /// File to write; nothing is overwritten
    #[arg(short, long, value_name = "FILE", required = true)]
    out: PathBuf,

    /// Also check boards of n = 30 and more, which takes core-minutes to core-hours before any recount
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<()> {
    let open = |path: &PathBuf| -> anyhow::Result<Part<File>> {
        let name = path.display().to_string();
        let file = open_regular_file(path).with_context(|| format!("failed to open '{name}'"))?;
        Ok(Part { name, file })
    };
    let parts = args.files.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
    let mut out = NewFile::begin(&args.out)?;
    let busy = Spinner::new("checking", None);
    let stop = AtomicBool::new(false);
    let options = Options {
        keys: &[],
        sample: None,
        kernel: Kernel::best(),
        long: args.yes,
        n_threads: default_threads(),
        stop: &stop,
    };
    let merged = merge(parts, out.file(), &options, &|now| busy.say(stage(now)));
    drop(busy);
    let reports = merged.context("nothing is merged")?;
    out.keep()?;
    let signers: BTreeSet<String> =
        reports.iter().flat_map(|report| &report.parts).map(|part| part.header.signer.to_string()).collect();
    let (first, last) = (reports.first(), reports.last());
    let crosses = first.zip(last).map_or(0..0, |(first, last)| first.crosses.start..last.crosses.end);
    let n_crosses = first.map_or(0, |first| first.n_crosses);
    let Range { start, end } = crosses;
    let answer =
        json!({ "crosses_from": start, "crosses_until": end, "crosses": n_crosses, "signers": signers });
    args.output.output.print(&answer, || {
        let signers: Vec<&str> = signers.iter().map(String::as_str).collect();
        let (out, signers) = (args.out.display(), signers.join(", "));
        format!("crosses {start}..{end} of {n_crosses} are in '{out}', signed by {signers}")
    })
}
