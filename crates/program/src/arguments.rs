//! Parses command lines, and reports a mistake in one line with its remedy.

use std::env;
use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::process::ExitCode;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use queens_model::MOST_THREADS;

use crate::documents;
use crate::help::{Program, command, short};
use crate::output::{complain, print_styled, say_styled};

/// Parses the arguments of this process. An environment variable that is empty counts as not given, as `VARIABLE:
/// ${VARIABLE:-}` in a Compose file intends. A variable also counts as not given if a flag without a value conflicts
/// with its argument: `--local` beats QUEENS_COORDINATOR.
///
/// # Errors
/// Returns the exit status if the process must end: it printed the requested help to stdout, or named a mistake in one
/// line on stderr.
pub fn arguments<A: Program>() -> Result<A, ExitCode> {
    parsed(Vec::new(), "")
}

/// Parses further arguments before those of the command line, as if they were typed there. `others` returns them with a
/// phrase that names their source, or an error message. It receives the command, the given arguments, and a predicate:
/// whether an argument is given on the command line or in the environment.
///
/// # Errors
/// Returns the exit status if the process must end.
#[cfg(feature = "service")]
pub(crate) fn arguments_with<A: Program>(
    others: impl FnOnce(&Command, &[OsString], &dyn Fn(&Arg) -> bool) -> Result<(Vec<OsString>, String), String>,
) -> Result<A, ExitCode> {
    let given = given();
    let is_given = |arg: &Arg| is_given(arg, &given) || variable(arg).is_some();
    let (others, of_which) = others(&command::<A>(), &given, &is_given).map_err(|reason| {
        complain(&reason);
        ExitCode::from(2)
    })?;
    parsed(others, &of_which)
}

/// Parses further arguments, then those of this process; `of_which` names the source of the former.
fn parsed<A: Program>(others: Vec<OsString>, of_which: &str) -> Result<A, ExitCode> {
    if let Some(written) = documents::asked(&command::<A>(), &given()) {
        return Err(match written {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                complain(&format!("failed to write the documents: {error}"));
                ExitCode::FAILURE
            }
        });
    }
    let all = env::args_os().take(1).chain(others).chain(env::args_os().skip(1));
    let command = without_beaten_variables(without_empty_variables(command::<A>()), &given());
    let matches = command.try_get_matches_from(all);
    let args = matches.and_then(|matches| A::from_arg_matches(&matches));
    args.map_err(|error| usage::<A>(&error, of_which))
}

/// Returns the value of an argument's environment variable.
fn variable(arg: &Arg) -> Option<OsString> {
    arg.get_env().and_then(env::var_os).filter(|value| !value.is_empty())
}

/// Reports arguments that do not go together as wrong usage, like a mistake in a single one.
pub fn wrong_usage<A: Program>(what: &str) -> ExitCode {
    let (path, _) = chosen(command::<A>(), &given());
    complain(&format!("{what} (see '{path} --help')"));
    ExitCode::from(2)
}

fn given() -> Vec<OsString> {
    env::args_os().skip(1).take_while(|arg| arg != "--").collect()
}

fn without_empty_variables(command: Command) -> Command {
    let is_empty = |arg: &Arg| arg.get_env().and_then(env::var_os).is_some_and(|value| value.is_empty());
    let command = command.mut_args(|arg| if is_empty(&arg) { arg.env(Resettable::Reset) } else { arg });
    command.mut_subcommands(without_empty_variables)
}

fn without_beaten_variables(command: Command, given: &[OsString]) -> Command {
    let beaten: Vec<_> = command
        .get_arguments()
        .filter(|arg| arg.get_env().is_some())
        .filter(|arg| flags_instead(&command, arg).any(|flag| is_given(flag, given)))
        .map(|arg| arg.get_id().clone())
        .collect();
    let reset = |arg: Arg| if beaten.contains(arg.get_id()) { arg.env(Resettable::Reset) } else { arg };
    let command = command.mut_args(reset);
    command.mut_subcommands(|command| without_beaten_variables(command, given))
}

/// Returns the flags without a value that conflict with an argument.
fn flags_instead<'a>(command: &'a Command, arg: &'a Arg) -> impl Iterator<Item = &'a Arg> {
    let flags = command.get_arguments().filter(|flag| !flag.get_action().takes_values());
    flags.filter(|flag| {
        let conflicts = command.get_arg_conflicts_with(flag);
        conflicts.iter().any(|other| other.get_id() == arg.get_id())
    })
}

fn is_given(arg: &Arg, given: &[OsString]) -> bool {
    let Some(long) = arg.get_long() else { return false };
    given
        .iter()
        .filter_map(|given| given.to_str()?.strip_prefix("--"))
        .any(|given| given.strip_prefix(long).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
}

/// Returns the chosen subcommand and its full name, such as "queens workers drain".
fn chosen(command: Command, given: &[OsString]) -> (String, Command) {
    let (mut path, mut command) = (command.get_name().to_owned(), command);
    for arg in given {
        if let Some(subcommand) = command.find_subcommand(arg) {
            path = format!("{path} {}", subcommand.get_name());
            command = subcommand.clone();
        }
    }
    (path, command)
}

fn usage<A: Program>(error: &clap::Error, of_which: &str) -> ExitCode {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = error.render().ansi().to_string();
            if let Err(error) = print_styled(text.trim_end()) {
                complain(&format!("{error:#}"));
                return ExitCode::FAILURE;
            }
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let is_program = chosen(command::<A>(), &given()).0 == command::<A>().get_name();
            let text = if is_program { short::<A>() } else { error.render().ansi().to_string() };
            say_styled(text.trim_end());
            ExitCode::from(2)
        }
        kind => {
            let first: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
            let first = first.join(" ");
            if let Some(unexpected) = no_subcommand(&command::<A>(), error) {
                return wrong_usage::<A>(&format!("unexpected argument '{unexpected}'{of_which}"));
            }
            let what = first.strip_prefix("error: ").unwrap_or(&first);
            let (_, command) = chosen(command::<A>(), &given());
            let hint = match kind {
                ErrorKind::ArgumentConflict => clash(&command, what, &given()),
                ErrorKind::UnknownArgument => {
                    joined(&command, error, &given()).unwrap_or_else(|| suggestion(error))
                }
                _ => suggestion(error),
            };
            wrong_usage::<A>(&format!("{what}{hint}{of_which}"))
        }
    }
}

/// Returns an argument that clap takes for a subcommand, although there is none of that name: `--nice 19`.
fn no_subcommand(command: &Command, error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let is_conflict = error.kind() == ErrorKind::ArgumentConflict;
    (is_conflict && command.find_subcommand(name).is_none()).then(|| name.clone())
}

/// Returns a hint with the most similar valid input.
fn suggestion(error: &clap::Error) -> String {
    let kinds = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let likest = kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(one) => Some(one.clone()),
        // clap puts the most similar one last.
        ContextValue::Strings(all) => all.last().cloned(),
        _ => None,
    });
    likest.map(|meant| format!(": did you mean '{meant}'?")).unwrap_or_default()
}

/// Returns a hint if the unexpected argument should be joined by '=' to the option before it.
fn joined(command: &Command, error: &clap::Error, given: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(unexpected)) = error.get(ContextKind::InvalidArg) else { return None };
    let is_joined = |option: &OsString| {
        let long = option.to_str().and_then(|option| option.strip_prefix("--"));
        command
            .get_arguments()
            .any(|arg| arg.get_long() == long && long.is_some() && arg.is_require_equals_set())
    };
    let two = given.windows(2).find(|two| two[1] == unexpected.as_str() && is_joined(&two[0]))?;
    Some(format!(": did you mean '{}={unexpected}'?", two[0].display()))
}

/// Names the conflicting arguments that come from the environment, which nobody typed.
fn clash(command: &Command, what: &str, given: &[OsString]) -> String {
    let words: Vec<&str> = what.split([' ', '\'']).collect();
    let clashes = |arg: &Arg| -> Option<String> {
        let long = format!("--{}", arg.get_long()?);
        let name = arg.get_env()?;
        let value = variable(arg)?;
        if is_given(arg, given) || !words.contains(&long.as_str()) {
            return None;
        }
        let instead: String = flags_instead(command, arg)
            .filter_map(|flag| Some(format!(" or use --{}", flag.get_long()?)))
            .collect();
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        Some(format!("; {name} is set to '{value}', which stands for {long}: unset it{instead}"))
    };
    command.get_arguments().filter_map(clashes).collect()
}

/// Parses a number of counting threads.
///
/// # Errors
/// If the text is no number from 1 to 4096.
pub fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let threads: Option<NonZeroU32> = text.parse().ok();
    let threads = threads.filter(|threads| threads.get() <= MOST_THREADS);
    let threads = threads.and_then(|threads| threads.try_into().ok());
    threads.ok_or_else(|| format!("expected a number of threads from 1 to {MOST_THREADS}"))
}

/// Parses a number of counting threads beside graphics cards, which may count alone.
///
/// # Errors
/// If the text is no number from 0 to 4096.
pub fn threads_beside_cards(text: &str) -> Result<usize, String> {
    match text.trim_start_matches('0') {
        "" if !text.is_empty() => Ok(0),
        _ => threads(text).map(NonZeroUsize::get).map_err(|reason| reason.replace("from 1", "from 0")),
    }
}
