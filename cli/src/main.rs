//! `queens`: counts n-queens placements.

mod args;
mod count;
mod progress;

use std::process::ExitCode;

use queens_process::{arguments, complain, log};

use args::{Args, Command};

fn main() -> ExitCode {
    let args = match arguments::<Args>() {
        Ok(args) => args,
        Err(code) => return code,
    };
    log("warn", progress::AboveBar);
    let result = match args.command {
        Command::Count(args) => count::run(&args),
    };
    result.unwrap_or_else(|error| {
        complain(&format!("{error:#}"));
        ExitCode::FAILURE
    })
}
