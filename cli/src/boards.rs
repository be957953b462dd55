//! The commands about boards: one solution, all solutions, pictures, the search itself, methods side by side.

mod animate;
mod file;
mod gif;
mod given;
mod list;
mod raster;
mod render;
mod solve;
mod table;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use queens_boards::Notation;

use crate::args::Args;

pub(crate) use animate::{AnimateArgs, animate};
pub(crate) use given::{GivenArgs, count_completions};
pub(crate) use list::{ListArgs, list};
pub(crate) use render::{RenderArgs, render};
pub(crate) use solve::{SolveArgs, solve};
pub(crate) use table::{TableArgs, table};

/// How to write a solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// [1 3 0 2]: the column of the queen of each row, both counted from 0
    Vector,
    /// A line for each row, Q for a queen, . for an empty square
    Board,
    /// 0:1,1:3,2:0,3:2: row and column of each queen, as --given reads them
    Coordinates,
    /// The vector as a JSON array
    Json,
}

impl From<Format> for Notation {
    fn from(format: Format) -> Self {
        match format {
            Format::Vector => Self::Vector,
            Format::Board => Self::Board,
            Format::Coordinates => Self::Coordinates,
            Format::Json => Self::Json,
        }
    }
}

/// Says what is wrong with the arguments taken together, which is wrong usage like that of a single one.
fn wrong_usage(what: &str) -> ExitCode {
    queens_process::wrong_usage::<Args>(what)
}

/// Reads a time limit in seconds.
fn time_limit(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
    let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    limit.ok_or_else(|| "expected a number of seconds, more than 0".to_owned())
}

/// Does `work`, whose flag is set when the time is over.
fn within<T>(limit: Duration, work: impl FnOnce(&AtomicBool) -> T) -> T {
    let stop = &AtomicBool::new(false);
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if is_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                stop.store(true, Ordering::Relaxed);
            }
        });
        let result = work(stop);
        drop(done);
        result
    })
}

/// The width of a square in pixels.
const TILE_PX: std::ops::RangeInclusive<u32> = 4..=400;

fn tile_px(text: &str) -> Result<u32, String> {
    let (least, most) = TILE_PX.into_inner();
    let size = text.parse().ok().filter(|size| TILE_PX.contains(size));
    size.ok_or_else(|| format!("expected a number of pixels from {least} to {most}"))
}
