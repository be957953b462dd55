//! Documents generated from a program's options: man pages, and completions for shells.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use clap::builder::Resettable;
use clap::{Arg, Command, ValueEnum};
pub use clap_complete::Shell;
use clap_mangen::Man;

/// Writes the completions of a program for a shell.
///
/// # Errors
/// If they can't be written.
pub fn completions(mut command: Command, shell: Shell, out: &mut impl io::Write) -> io::Result<()> {
    let name = command.get_name().to_owned();
    let mut all = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut all);
    out.write_all(&all)
}

/// Runs the hidden option `--documents DIR`, which packaging uses: writes a man page for the program and each
/// subcommand, and completions for each shell. Returns `None` if the option is not given.
pub(crate) fn asked(command: &Command, given: &[OsString]) -> Option<io::Result<()>> {
    match given {
        [option, dir] if option == "--documents" => Some(write(command, Path::new(dir))),
        _ => None,
    }
}

fn write(command: &Command, dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    for shell in Shell::value_variants() {
        let mut file = fs::File::create(dir.join(format!("{}.{shell}", command.get_name())))?;
        completions(command.clone(), *shell, &mut file)?;
    }
    let command = command.clone().disable_help_subcommand(true).long_version(Resettable::Reset);
    let mut command = everywhere(command);
    command.build();
    man(&command, command.get_name(), dir)
}

/// Removes the defaults that depend on this machine.
fn everywhere(command: Command) -> Command {
    let is_of_machine = |arg: &Arg| arg.get_long() == Some("threads");
    let command =
        command.mut_args(|arg| if is_of_machine(&arg) { arg.hide_default_value(true) } else { arg });
    command.mut_subcommands(everywhere)
}

/// Writes the man page of a command and those of its subcommands: `queens-workers-drain.1`.
fn man(command: &Command, name: &str, dir: &Path) -> io::Result<()> {
    // A date would change the page every day.
    let named = command.clone().name(name.to_owned()).after_help(Resettable::Reset);
    let page = Man::new(named).title(name.to_uppercase()).date("");
    let mut bytes = Vec::new();
    page.render(&mut bytes)?;
    if let Some(examples) = command.get_after_help() {
        bytes.extend(section_of_examples(&examples.to_string()).as_bytes());
    }
    fs::write(dir.join(format!("{name}.1")), bytes)?;
    let below = command.get_subcommands().filter(|command| !command.is_hide_set());
    below.into_iter().try_for_each(|command| man(command, &format!("{name}-{}", command.get_name()), dir))
}

/// Formats the examples of a help text as a section of a man page, line by line.
fn section_of_examples(help: &str) -> String {
    let lines = help.lines().skip(1).map(|line| line.replace('\\', "\\\\").replace('-', "\\-"));
    format!(".SH EXAMPLES\n.nf\n{}\n.fi\n", lines.collect::<Vec<_>>().join("\n"))
}
