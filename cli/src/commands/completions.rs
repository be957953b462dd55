//! `queens completions`: what shells complete.

use std::process::ExitCode;

use clap::Command;
use queens_runtime::documents::{Shell, completions};

use crate::present::output::print;

/// Print completions for a shell, for its file of them
///
/// For bash, such as: queens completions bash > ~/.local/share/bash-completion/completions/queens
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Runs the command to its exit status; `program` is all of which there are completions.
pub(crate) fn run(args: &CompletionsArgs, program: Command) -> anyhow::Result<ExitCode> {
    let mut bytes = Vec::new();
    completions(program, args.shell, &mut bytes)?;
    print(str::from_utf8(&bytes)?.trim_end())?;
    Ok(ExitCode::SUCCESS)
}
