//! Counts the kernels' instructions for each node: `cargo bench -p queens-solver --bench instructions`.
//!
//! Unlike times, they are nearly the same each time on any machine, so that a change of a hundredth shows. This program
//! runs itself under valgrind's callgrind, which supports AVX2 but not AVX-512, and asserts the counts. It subtracts
//! the instructions of an empty run, for the start of the program.

#![expect(clippy::print_stdout, reason = "the report")]

use std::env;
use std::error::Error;
use std::process::{Command, ExitCode};

use queens_solver::{BoardSize, Count, Kernel, Method, Sampler, published};

/// A board that takes seconds under valgrind, which slows a program down fifty times.
const BOARD: u8 = 14;

/// The nodes of that board: the same for all kernels.
const NODES: u64 = 1_038_875;

/// The exit status if a kernel is not available.
const NOT_AVAILABLE: u8 = 3;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    if let [task, kernel, n_crosses] = &args[..]
        && task == "count"
    {
        return Ok(count(kernel, n_crosses.parse()?));
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: there is no valgrind to count instructions with");
        return Ok(ExitCode::SUCCESS);
    }
    for kernel in Kernel::ALL {
        match (instructions(kernel, 0)?, instructions(kernel, usize::MAX)?) {
            (Some(empty), Some(whole)) => {
                let count = whole - empty;
                println!("{kernel}: {count} instructions, {:.2} for a node", count as f64 / NODES as f64);
            }
            _ => println!("{kernel}: skipped, not available under valgrind"),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Counts the first crosses of the board, in valgrind's child process.
fn count(kernel: &str, n_crosses: usize) -> ExitCode {
    let kernel =
        Kernel::ALL.into_iter().find(|candidate| candidate.name() == kernel).expect("a kernel's name");
    if !kernel.is_available() {
        return NOT_AVAILABLE.into();
    }
    let n = BoardSize::new(BOARD).expect("a board size");
    let sampler = Sampler::new(n, Method::Search);
    let (mut solutions, mut sum) = (0, Count::default());
    for i in 0..n_crosses.min(sampler.n_samples()) {
        let part = sampler.part(i);
        let count = part.count(kernel);
        solutions += u128::from(part.weight) * u128::from(count.solutions);
        sum = sum.checked_add(count).expect("far below 2^64");
    }
    if n_crosses >= sampler.n_samples() {
        assert_eq!((Some(solutions), sum.work), (published(n).map(|counts| counts.solutions), NODES));
    }
    ExitCode::SUCCESS
}

/// Returns the instructions of a process that counts `n_crosses` crosses, or `None` if the kernel is not available.
fn instructions(kernel: Kernel, n_crosses: usize) -> Result<Option<u64>, Box<dyn Error>> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env::current_exe()?)
        .args(["count", kernel.name(), &n_crosses.to_string()])
        .output()?;
    let messages = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(NOT_AVAILABLE.into()) {
        return Ok(None);
    }
    let collected = messages.lines().find_map(|line| line.split_once("Collected : "));
    let (true, Some((_, collected))) = (output.status.success(), collected) else {
        return Err(format!("failed to count {n_crosses} crosses under valgrind: {messages}").into());
    };
    Ok(Some(collected.trim().parse()?))
}
