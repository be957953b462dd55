//! `queens completions`: prints shell completions.

use clap::Command;
use queens_program::documents::{Shell, completions};
use queens_program::print;

/// Print completions for a shell
///
/// For bash, for example: queens completions bash > ~/.local/share/bash-completion/completions/queens
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Runs the command for `program`.
pub(crate) fn run(args: &CompletionsArgs, program: Command) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    completions(program, args.shell, &mut bytes)?;
    print(str::from_utf8(&bytes)?.trim_end())
}
