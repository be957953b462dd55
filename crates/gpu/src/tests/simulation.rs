//! Counts on a simulated card: the kernels' CUDA C, compiled for the processor, every lane a fiber.
//!
//! `crates/gpu/simulation` has the simulation. It shows what PoCL can't, as a group there has one warp and lists are
//! made by single threads: votes, shuffles, and blocks of several warps. Only the loads by PTX are replaced.

use std::env;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio, id};

use crate::Card;
use crate::device::{CardError, Device, Stage, all_stages};
use crate::shape::{Shape, WARPS};
use crate::tests::{check_board_on, check_spans_on};

/// Enough for the tails of n = 22.
const MEMORY: u64 = 2 << 30;

/// Blocks of each kernel. They run at the same time, their warps in random order.
const BLOCKS: u32 = 3;

/// A process that simulates a card.
struct Simulated {
    process: Child,
    commands: ChildStdin,
    bytes: ChildStdout,
    program: PathBuf,
}

impl Simulated {
    fn open(shape: Shape) -> Self {
        let Shape { m, head, leaf } = shape;
        let program = env::temp_dir().join(format!("queens-simulated-card-{m}-{}", id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("simulation/card.cpp");
        let compiled = Command::new("c++")
            .args(["-std=c++17", "-O2", "-Wall", "-Wno-unknown-pragmas", "-Wno-unused-variable"])
            .args([
                format!("-DM={m}"),
                format!("-DHEAD={head}"),
                format!("-DLEAF={leaf}"),
                format!("-DWARPS={WARPS}"),
            ])
            .args([source.as_os_str(), "-o".as_ref(), program.as_os_str()])
            .status();
        assert!(compiled.expect("a C++ compiler is installed").success());
        let mut process = Command::new(&program)
            .args([MEMORY.to_string(), shape.shared_bytes(WARPS).to_string(), BLOCKS.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let commands = process.stdin.take().expect("a pipe");
        let bytes = process.stdout.take().expect("a pipe");
        Self { process, commands, bytes, program }
    }

    fn command(&mut self, what: u64, at: u64, n: usize) {
        let command = [what, at, n as u64].map(u64::to_le_bytes);
        self.commands.write_all(command.as_flattened()).expect("the simulation runs");
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        self.process.kill().and_then(|()| self.process.wait()).expect("ends");
        fs::remove_file(&self.program).expect("was compiled");
    }
}

impl Device for Simulated {
    fn memory(&self) -> u64 {
        MEMORY
    }

    fn n_blocks(&self) -> u32 {
        BLOCKS
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), CardError> {
        self.command(0, at, bytes.len());
        self.commands.write_all(bytes).expect("the simulation runs");
        Ok(())
    }

    fn start(&mut self, stage: Stage) -> Result<(), CardError> {
        let number = all_stages().position(|of_all| of_all == stage).expect("one of all");
        self.command(2, number as u64, 0);
        Ok(())
    }

    fn read(&mut self, at: u64, bytes: &mut [u8]) -> Result<(), CardError> {
        self.command(1, at, bytes.len());
        self.bytes.read_exact(bytes).expect("the simulation runs");
        Ok(())
    }
}

fn card(n: u8) -> Card {
    let shape = Shape::of(n).expect("cards count it");
    Card::new(Box::new(Simulated::open(shape)), shape)
}

#[test]
#[ignore = "takes a C++ compiler and minutes"]
fn simulated_cards_count_whole_boards_as_the_cpu_does() {
    check_board_on(&mut card(12), 12, 14_200);
    check_board_on(&mut card(13), 13, 73_712);
}

#[test]
#[ignore = "takes a C++ compiler and minutes"]
fn simulated_cards_count_subproblems_of_larger_boards_as_the_cpu_does() {
    for (n, lengths) in
        [(14, &[1, 1, 1][..]), (16, &[1, 1, 1]), (18, &[1, 1]), (20, &[1]), (22, &[1]), (26, &[1])]
    {
        check_spans_on(&mut card(n), n, lengths);
    }
}
