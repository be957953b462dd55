//! `queens-coordinator`.

use std::process::ExitCode;

fn main() -> ExitCode {
    queens_coordinator::main()
}
