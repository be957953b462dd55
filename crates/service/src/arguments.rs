//! Parses a service's arguments, including those in a configuration file.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, Command};
use queens_runtime::help::Program;
use queens_runtime::{CONNECTION, arguments_with};

use crate::config;

/// Parses the arguments of this process like [`arguments`](queens_runtime::arguments), with those of its configuration
/// file. [`ConfigArgs`](crate::ConfigArgs) must be among its options. Subcommands have no file.
///
/// The user's own file is read if it exists and no other is named. It is for one coordinator: it is not read if any
/// option for the connection or a token is given otherwise, so that no token goes to another coordinator.
///
/// # Errors
/// Returns the exit status if the process must end.
pub fn arguments_of_service<A: Program>(user_file: Option<PathBuf>) -> Result<A, ExitCode> {
    arguments_with(|command, given, is_given| {
        let is_subcommand = |arg: &OsString| command.find_subcommand(arg).is_some();
        let is_elsewhere = || has_connection(command, is_given) || env::var_os("QUEENS_TOKEN").is_some();
        // Only the first argument: it conflicts with options, and one of their values may be called like it.
        let path = if given.first().is_some_and(is_subcommand) {
            None
        } else {
            config_file(given)
                .or_else(|| user_file.filter(|path| path.symlink_metadata().is_ok() && !is_elsewhere()))
        };
        let Some(path) = path else { return Ok((Vec::new(), String::new())) };
        let of_file = config::arguments_of(&path, command, is_given)?;
        Ok((of_file, format!(" (with configuration file '{}')", path.display())))
    })
}

/// Returns whether an option for the connection to a coordinator is given.
fn has_connection(command: &Command, is_given: &dyn Fn(&Arg) -> bool) -> bool {
    command.get_arguments().any(|arg| arg.get_help_heading() == Some(CONNECTION) && is_given(arg))
}

/// Returns the configuration file that the arguments or the environment name.
fn config_file(given: &[OsString]) -> Option<PathBuf> {
    let mut rest = given.iter();
    while let Some(arg) = rest.next() {
        let after = arg.to_str().and_then(|arg| arg.strip_prefix("--config"));
        match after {
            Some("") => return rest.next().map(PathBuf::from),
            Some(value) if value.starts_with('=') => return Some(PathBuf::from(&value[1..])),
            _ => {}
        }
    }
    env::var_os("QUEENS_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from)
}
