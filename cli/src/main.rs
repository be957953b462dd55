//! `queens`: counts n-queens placements.

mod args;
mod count;
mod progress;
mod signals;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use tracing_subscriber::EnvFilter;

use args::{Args, Command};

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    log_to_stderr();
    let result = match args.command {
        Command::Count(args) => count::run(&args),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Help goes to stdout as it is. A mistake becomes one line that says what is wrong and where to look.
fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            _ = io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            _ = io::stderr().write_all(text.as_bytes());
            ExitCode::from(2)
        }
        _ => {
            let first: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
            let first = first.join(" ");
            let what = first.strip_prefix("error: ").unwrap_or(&first);
            complain(&format!("{what} (see 'queens --help' and 'queens count --help')"));
            ExitCode::from(2)
        }
    }
}

fn complain(what: &str) {
    _ = writeln!(io::stderr(), "error: {what}");
}

/// Warnings and errors by default; `QUEENS_LOG=info` or `debug` says more.
fn log_to_stderr() {
    let filter = EnvFilter::try_from_env("QUEENS_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(progress::AboveBar).init();
}
