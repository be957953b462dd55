//! `queens animate`: shows the backtracking search as an animation.

use std::io::{self, ErrorKind, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::ValueEnum;
use console::{Term, style};
use queens_model::plural;
use queens_platform::is_screen;
use queens_program::{say, stdout, stop_on_signal};
use queens_solver::boards::Queen;
use queens_solver::boards::animation::{self, Frame, Frames, MOST_FRAMES, Timing};
use queens_solver::boards::picture::{Look, Scale, is_dark};
use ratatui::crossterm::event::{Event, KeyCode};
use ratatui::crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::confirm::confirm_file;
use crate::flags::{BoardArgs, LargeFileArgs, format_of, tile_px};
use crate::keys::keys;
use crate::present::file::Target;
use crate::present::gif::gif;
use crate::present::raster;

/// The number of pictures that predict the size of the whole GIF.
const SAMPLE: usize = 100;

/// Show the backtracking search step by step
///
/// The square being tried is green if it is safe, red if not. The animation goes to the terminal, where 'q' ends it, or
/// to a file. It has at most 20000 pictures; a message says so if the search goes on.
#[derive(Debug, clap::Args)]
pub(crate) struct AnimateArgs {
    #[command(flatten)]
    board: BoardArgs,

    /// Continue after the first solution, to all of them
    #[arg(long)]
    all: bool,

    /// File to draw into; its name selects GIF or SVG. '-' is stdout [default: show in the terminal]
    #[arg(short = 'o', long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Format of the animation [default: by the name of FILE; svg for '-']
    #[arg(long, requires = "file")]
    format: Option<Animation>,

    /// Width of a square in pixels, 4 to 400
    #[arg(long, value_name = "P", default_value = "48", value_parser = tile_px, requires = "file",
          allow_negative_numbers = true)]
    tile_size: u32,

    /// Milliseconds per picture, 20 to 10000; a solution stays ten times as long. GIF rounds up to tens
    #[arg(long, value_name = "MS", default_value = "100", value_parser = delay, allow_negative_numbers = true)]
    delay: u32,

    #[command(flatten)]
    large: LargeFileArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Animation {
    Gif,
    Svg,
}

fn delay(text: &str) -> Result<u32, String> {
    let delay = text.parse().ok().filter(|delay| (20..=10_000).contains(delay));
    delay.ok_or_else(|| "expected a number of milliseconds from 20 to 10000".to_owned())
}

/// Runs the command and returns its exit status.
pub(crate) async fn run(args: &AnimateArgs) -> anyhow::Result<ExitCode> {
    let n = u32::from(args.board.n.get());
    let timing = Timing { delay_ms: args.delay, rest_ms: 10 * args.delay };
    let mut frames = Frames::new(n, args.all);
    let Some(path) = &args.file else {
        let seen = show(n, frames.by_ref().take(MOST_FRAMES), timing).await?;
        tell_cut(seen && frames.next().is_some());
        return Ok(ExitCode::SUCCESS);
    };
    let format = format_of(path, args.format, ".gif or .svg")?;
    let target = Target::new(path)?;
    let scale = Scale { tile: args.tile_size };
    let shown: Vec<Frame> = frames.by_ref().take(MOST_FRAMES).collect();
    let bytes = match format {
        Animation::Svg => {
            let svg = animation::svg(n, &shown, scale, timing);
            if !confirm_file(svg.len(), args.large.yes)? {
                return Ok(ExitCode::FAILURE);
            }
            svg.into_bytes()
        }
        Animation::Gif => {
            raster::check_size((scale.board(n), scale.board(n)))?;
            let first = &shown[..shown.len().min(SAMPLE)];
            let estimate = gif(n, first, scale, timing)?.len() * shown.len() / first.len().max(1);
            if !confirm_file(estimate, args.large.yes)? {
                return Ok(ExitCode::FAILURE);
            }
            gif(n, &shown, scale, timing)?
        }
    };
    target.write(&bytes)?;
    tell_cut(frames.next().is_some());
    Ok(ExitCode::SUCCESS)
}

/// Warns if the search goes on after the last picture.
fn tell_cut(is_cut: bool) {
    if is_cut {
        say(&format!("the search goes on: only its first {MOST_FRAMES} pictures are shown"));
    }
}

const LINES_BELOW: usize = 1;

/// Shows the pictures one after the other in the same place of the terminal. Without a terminal, as in a pipe, it
/// writes them all at once, one below the other. Returns whether all were shown: without an interrupt or a closed pipe.
async fn show(n: u32, frames: impl Iterator<Item = Frame>, timing: Timing) -> anyhow::Result<bool> {
    let is_screen = is_screen(&stdout()?);
    let terminal = Term::buffered_stdout();
    let height = n as usize + LINES_BELOW;
    if is_screen {
        let (rows, columns) = terminal.size();
        let (rows, columns) = (usize::from(rows), usize::from(columns));
        ensure!(
            rows > height && columns >= 2 * n as usize,
            "a board of {n} rows needs a terminal of {} lines and {} columns: this one has {rows} and {columns}",
            height + 1,
            2 * n
        );
    }
    let stop = stop_on_signal()?;
    let shown = async {
        if !is_screen {
            return play(&terminal, None, n, frames, timing).await;
        }
        let has_keys = io::stdin().is_terminal();
        if has_keys {
            enable_raw_mode()?;
        }
        terminal.hide_cursor()?;
        let end = UserEnd { stop, keys: has_keys.then(keys) };
        let result = play(&terminal, Some(end), n, frames, timing).await;
        terminal.show_cursor()?;
        terminal.flush()?;
        if has_keys {
            disable_raw_mode()?;
        }
        result
    };
    match shown.await {
        // The reader has closed the pipe.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        shown => shown.context("failed to write to the terminal"),
    }
}

/// How a user ends an animation on a terminal.
struct UserEnd {
    stop: CancellationToken,
    /// `None` if keys come from elsewhere than a terminal.
    keys: Option<mpsc::Receiver<Event>>,
}

impl UserEnd {
    /// Waits for a signal, Ctrl-C or `q`.
    async fn wait(&mut self) {
        let Some(keys) = &mut self.keys else { return self.stop.cancelled().await };
        let quit = async {
            while let Some(event) = keys.recv().await
                && event.as_key_press_event().is_none_or(|key| key.code != KeyCode::Char('q'))
            {}
        };
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = quit => {}
        }
    }
}

/// Plays the pictures, on a terminal until the user ends them.
async fn play(
    terminal: &Term,
    mut end: Option<UserEnd>,
    n: u32,
    frames: impl Iterator<Item = Frame>,
    timing: Timing,
) -> io::Result<bool> {
    let mut looks = vec![Look::Empty; (n * n) as usize];
    let (mut n_tried, mut n_solutions) = (0_u64, 0_u64);
    for (i, frame) in frames.enumerate() {
        for &(queen, look) in &frame.changes {
            looks[(queen.row * n + queen.column) as usize] = look;
        }
        n_solutions += u64::from(frame.solved);
        let is_try = |&(_, look): &(Queen, Look)| matches!(look, Look::Safe | Look::Attacked);
        n_tried += u64::from(!frame.solved && frame.changes.iter().any(is_try));
        if i > 0 && end.is_some() {
            terminal.clear_last_lines(n as usize + LINES_BELOW)?;
        }
        let picture = picture(n, &looks);
        let shown = format!("{picture}{n_tried} squares tried, {}\n", plural(n_solutions, "solution"));
        let Some(end) = &mut end else {
            terminal.write_line(&shown)?;
            terminal.flush()?;
            continue;
        };
        // In raw mode, a line ends with both.
        terminal.write_str(&shown.replace('\n', "\r\n"))?;
        terminal.flush()?;
        let shown_for = Duration::from_millis(timing.of(&frame, false).into());
        tokio::select! {
            () = tokio::time::sleep(shown_for) => {}
            () = end.wait() => return Ok(false),
        }
    }
    Ok(true)
}

/// Draws a board for the terminal. Without colours, x marks a square where a queen is attacked.
fn picture(n: u32, looks: &[Look]) -> String {
    let mut picture = String::new();
    for row in 0..n {
        let mut line = String::new();
        for column in 0..n {
            let dark = usize::from(is_dark(Queen { row, column }));
            let look = looks[(row * n + column) as usize];
            let (letter, background) = match look {
                Look::Empty => (". ", [223, 180][dark]),
                Look::Queen => ("Q ", [223, 180][dark]),
                Look::Safe => ("Q ", 113),
                Look::Attacked => ("x ", 203),
            };
            let ink = if look == Look::Empty { background } else { 16 };
            line.push_str(&style(letter).color256(ink).on_color256(background).to_string());
        }
        picture.push_str(line.trim_end());
        picture.push('\n');
    }
    picture
}
