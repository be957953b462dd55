//! The progress bar of a count.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use queens_proto::JobStatus;
use ratatui::crossterm::terminal;
use tracing_subscriber::fmt::MakeWriter;

use crate::describe::range_left;

/// Parts of a bar: the share of the work is shown to a tenth of a percent.
const PARTS: u64 = 1000;

/// The bar that is on the screen, so that log lines can be written above it.
static SHOWN: OnceLock<ProgressBar> = OnceLock::new();

/// Shows how far a count is, on stderr.
pub(crate) struct Progress {
    bar: ProgressBar,
    began: Instant,
    nodes_before: Option<u128>,
}

impl Progress {
    /// A bar if stderr is a terminal and one is `wanted`, nothing otherwise.
    pub(crate) fn new(wanted: bool) -> Self {
        let visible = wanted && io::stderr().is_terminal();
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(PARTS), target);
        let style = ProgressStyle::with_template("{bar:20} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let bar = SHOWN.get_or_init(|| bar).clone();
        Self { bar, began: Instant::now(), nodes_before: None }
    }

    /// Shows where the job stands.
    pub(crate) fn show(&mut self, job: &JobStatus, store_error: Option<&str>) {
        let nodes = job.progress.nodes;
        let counted = nodes - *self.nodes_before.get_or_insert(nodes);
        let rate = counted as f64 / self.began.elapsed().as_secs_f64();
        let parts = job.progress.work_recorded * u128::from(PARTS) / job.progress.work.max(1);
        self.bar.set_position(u64::try_from(parts).unwrap_or(PARTS));
        let message = match store_error {
            Some(error) => format!("waiting: {error}"),
            None => describe(job, rate),
        };
        self.bar.set_message(cut_to_terminal(message));
    }

    /// Takes the bar off the screen.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// As much of a message as fits beside the bar. What a terminal echoes for Ctrl-C fits behind it, so that the bar can
/// still be taken off the screen.
fn cut_to_terminal(mut message: String) -> String {
    /// Of the bar, a space and "^C ".
    const BESIDES: u16 = 20 + 1 + 3;
    let width = terminal::size().map_or(80, |(columns, _)| columns.saturating_sub(BESIDES));
    if let Some((end, _)) = message.char_indices().nth(width.into()) {
        message.truncate(end);
    }
    message
}

fn describe(job: &JobStatus, rate: f64) -> String {
    let share = job.fraction() * 100.0;
    let left = match range_left(job) {
        Some(range) => format!("{range} left"),
        None => job.state.name().to_owned(),
    };
    let rate = rate / 1e6;
    format!("n = {}  {share:.1} %  {left}  {rate:.0} M nodes/s  {} found", job.n, job.progress.solutions)
}

/// Whether something else has the whole screen.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// As long as it lives, no log lines go to a terminal: they would tear what is on it.
pub(crate) struct TakenScreen(());

impl TakenScreen {
    pub(crate) fn take() -> Self {
        TAKEN.store(true, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for TakenScreen {
    fn drop(&mut self) {
        TAKEN.store(false, Ordering::Relaxed);
    }
}

/// Writes log lines to stderr without tearing the bar.
pub(crate) struct AboveBar;

impl Write for AboveBar {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if TAKEN.load(Ordering::Relaxed) && io::stderr().is_terminal() {
            return Ok(text.len());
        }
        let write = || io::stderr().write(text);
        SHOWN.get().map_or_else(write, |bar| bar.suspend(write))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

impl MakeWriter<'_> for AboveBar {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        Self
    }
}
