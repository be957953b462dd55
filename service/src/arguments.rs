//! Parses a service's arguments, including those in a configuration file.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use queens_runtime::arguments_with;
use queens_runtime::help::Program;

use crate::config;

/// Parses the arguments of this process like [`arguments`](queens_runtime::arguments), with those of its configuration
/// file. [`ConfigArgs`](crate::ConfigArgs) must be among its options. Subcommands have no file.
///
/// # Errors
/// Returns the exit status if the process must end.
pub fn arguments_of_service<A: Program>() -> Result<A, ExitCode> {
    arguments_with(|command, given, is_given| {
        let is_subcommand = |arg: &OsString| command.find_subcommand(arg).is_some();
        // Only the first argument: it conflicts with options, and one of their values may be called like it.
        let path = if given.first().is_some_and(is_subcommand) { None } else { config_file(given) };
        let Some(path) = path else { return Ok((Vec::new(), String::new())) };
        let of_file = config::arguments_of(&path, command, is_given)?;
        Ok((of_file, format!(" (with configuration file '{}')", path.display())))
    })
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
