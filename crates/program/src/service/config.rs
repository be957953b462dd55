//! Configuration files of services, whose arguments add to those of the command line: TOML whose keys are the names of
//! the options.
//!
//! Precedence: an option on the command line beats its environment variable, which beats the file, which beats the
//! default. A file that others than its owner may change is refused: it says where the token goes. An option in the
//! file counts as given, so requirements and conflicts between options apply to it.

use std::env;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, ArgAction, Args, Command};
use queens_platform::{Exposure, changeable, open_regular_file};
use toml::{Table, Value};

use crate::arguments::arguments_with;
use crate::credentials::CONNECTION;
use crate::help::Program;

/// The largest accepted file, in bytes.
const LONGEST: u64 = 1 << 20;

/// The answer for valid options.
pub const CONFIG_OK: &str = "options, environment and configuration file are right";

/// Options that a file can't have.
const NOT_IN_FILES: [&str; 2] = ["config", "check-config"];

/// Command-line options for a service's configuration file.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Logs and configuration")]
pub struct ConfigArgs {
    /// Configuration file (TOML): its keys are the names of these options, which beat it, as do their environment
    /// variables [default: none]
    #[arg(long, env = "QUEENS_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,

    /// Check options, environment and configuration file, and exit
    #[arg(long)]
    pub check_config: bool,
}

impl ConfigArgs {
    /// Returns the configuration file that the command line or the environment names.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }
}

/// Parses the arguments of this process like [`arguments`](crate::arguments()), with those of its configuration
/// file. [`ConfigArgs`] must be among its options. Subcommands have no file.
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
        let of_file = arguments_of(&path, command, is_given)?;
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

/// Returns the arguments in a configuration file, except those that `is_given` reports as given elsewhere.
///
/// # Errors
/// If the file can't be read, or has keys or values that no option has.
fn arguments_of(
    path: &Path,
    command: &Command,
    is_given: impl Fn(&Arg) -> bool,
) -> Result<Vec<OsString>, String> {
    let of_file = |reason: String| format!("configuration file '{}': {reason}", path.display());
    let text = read(path).map_err(of_file)?;
    let table: Table = text.parse().map_err(|error: toml::de::Error| of_file(at_line(&text, &error)))?;
    let mut all = Vec::new();
    for (key, value) in &table {
        let arg = option(command, key).ok_or_else(|| of_file(unknown(command, key, value)))?;
        let arguments = arguments(arg, key, value).map_err(of_file)?;
        if !is_given(arg) {
            all.extend(arguments);
        }
    }
    Ok(all)
}

fn read(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let file = open_regular_file(path).map_err(|error| error.to_string())?;
    if let Some(Exposure { cause, remedy }) = changeable(path).map_err(|error| error.to_string())? {
        return Err(format!(
            "others may change it, and so who gets the token and who is trusted: {cause}; this mends that: {remedy}"
        ));
    }
    file.take(LONGEST + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > LONGEST {
        return Err(format!("it is longer than {} KiB", LONGEST / 1024));
    }
    Ok(text)
}

/// Describes an error in a text, with its line.
fn at_line(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map(|before| format!("line {}: ", before.matches('\n').count() + 1));
    format!("{}{}", line.unwrap_or_default(), error.message())
}

fn options(command: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    let all = command.get_arguments().filter_map(|arg| Some((arg.get_long()?, arg)));
    all.filter(|(long, _)| !NOT_IN_FILES.contains(long))
}

fn option<'a>(command: &'a Command, key: &str) -> Option<&'a Arg> {
    options(command).find(|(long, _)| *long == key).map(|(_, arg)| arg)
}

fn unknown(command: &Command, key: &str, value: &Value) -> String {
    // An unquoted dot makes a table.
    let dotted = value.as_table().and_then(|table| table.keys().next()).map(|rest| format!("{key}.{rest}"));
    if let Some(dotted) = dotted.filter(|dotted| option(command, dotted).is_some()) {
        return format!("there is no option '{key}': write \"{dotted}\", with quotes");
    }
    let as_option = key.replace('_', "-").to_ascii_lowercase();
    if option(command, &as_option).is_some() {
        return format!("there is no option '{key}': did you mean '{as_option}'?");
    }
    let all: Vec<&str> = options(command).map(|(long, _)| long).collect();
    format!("there is no option '{key}': there are {}", all.join(", "))
}

/// Returns the arguments for a key and its value; none for a flag that is not set.
fn arguments(arg: &Arg, key: &str, value: &Value) -> Result<Vec<OsString>, String> {
    let takes_values = arg.get_action().takes_values();
    let takes_lists = matches!(arg.get_action(), ArgAction::Append);
    let texts = match value {
        Value::Boolean(true) if !takes_values => return Ok(vec![OsString::from(format!("--{key}"))]),
        Value::Boolean(false) if !takes_values => return Ok(vec![]),
        _ if !takes_values => return Err(format!("'{key}' is true or false, not {value}")),
        Value::Array(list) if takes_lists && !list.is_empty() => list.iter().map(text).collect(),
        _ => text(value).map(|text| vec![text]),
    };
    let texts = texts.ok_or_else(|| {
        let or_list = if takes_lists { ", or a list of such" } else { "" };
        format!("'{key}' takes a text or a whole number{or_list}, not {value}")
    })?;
    Ok(texts.into_iter().map(|text| OsString::from(format!("--{key}={text}"))).collect())
}

/// Returns a value as a command-line argument.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
    }
}
