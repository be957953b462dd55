//! Shows progress of a count on stderr: as a bar, or as occasional lines.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use queens_model::{JobState, JobStatus, percent, plain};
use queens_platform::{is_screen, is_utf8};
use queens_program::say;
use tracing_subscriber::fmt::MakeWriter;

use crate::present::job::ends;
use crate::present::work;

/// The width of a bar, in columns.
const BAR: usize = 20;

/// The steps of a bar: it shows the share of the work to a tenth of a percent.
const PARTS: u64 = 1000;

/// The bar on the screen. Log lines are written above it.
static SHOWN: OnceLock<ProgressBar> = OnceLock::new();

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Showing {
    /// A line after 10 seconds, after a minute, and then every 10 minutes
    Plain,
    /// A bar that is always up to date, if stderr is a terminal
    Bar,
    /// No progress
    None,
}

impl Showing {
    /// Returns what suits stderr.
    pub(crate) fn automatic() -> Self {
        if is_screen(&io::stderr()) { Self::Bar } else { Self::Plain }
    }
}

/// Returns when the next line is due after this elapsed time.
fn next_line(elapsed: Duration) -> Duration {
    const EVERY: u64 = 600;
    match elapsed.as_secs() {
        ..10 => Duration::from_secs(10),
        10..60 => Duration::from_secs(60),
        seconds => Duration::from_secs((seconds / EVERY + 1) * EVERY),
    }
}

/// Shows the progress of a count on stderr.
pub(crate) struct Progress {
    bar: ProgressBar,
    began: Instant,
    work_before: Option<u128>,
    /// When the next line is due, if progress is shown in lines.
    next_line: Option<Duration>,
}

impl Progress {
    /// Creates progress that is shown in this way.
    pub(crate) fn new(showing: Showing) -> Self {
        let visible = showing == Showing::Bar && is_screen(&io::stderr());
        let target = if visible { terminal() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(PARTS), target);
        let style = ProgressStyle::with_template(&format!("{{bar:{BAR}}} {{wide_msg}}"));
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(if is_utf8() { style } else { style.progress_chars("#>-") });
        let bar = SHOWN.get_or_init(|| bar).clone();
        let next_line = (showing == Showing::Plain).then(|| next_line(Duration::ZERO));
        Self { bar, began: Instant::now(), work_before: None, next_line }
    }

    /// Shows the progress of the job.
    pub(crate) fn show(&mut self, job: &JobStatus, store_error: Option<&str>) {
        let work = job.progress.work;
        let counted = work - *self.work_before.get_or_insert(work);
        let elapsed = self.began.elapsed();
        let speed = counted as f64 / elapsed.as_secs_f64();
        if self.next_line.is_some_and(|due| elapsed >= due) && !job.state.is_over() {
            self.next_line = Some(next_line(elapsed));
            match store_error {
                Some(error) => say(&format!("waiting: {error}")),
                None => {
                    let ends = ends(job).map(|ends| format!("  {ends}")).unwrap_or_default();
                    say(&(describe(job, speed, usize::MAX) + &ends));
                }
            }
        }
        let parts =
            job.progress.estimated_work_recorded * u128::from(PARTS) / job.progress.estimated_work.max(1);
        self.bar.set_position(u64::try_from(parts).unwrap_or(PARTS));
        let message = match store_error {
            Some(error) => format!("waiting: {}", plain::line(error)),
            None => describe(job, speed, message_width()),
        };
        self.bar.set_message(message);
    }

    /// Removes the bar from the screen.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Shows the current activity and its duration on a terminal, until it is dropped.
pub(crate) struct Spinner(ProgressBar);

impl Spinner {
    /// Starts an activity of `n_parts`, if that is known.
    pub(crate) fn new(what: &'static str, n_parts: Option<usize>) -> Self {
        const TICK: Duration = Duration::from_millis(200);
        let target = if is_screen(&io::stderr()) { terminal() } else { ProgressDrawTarget::hidden() };
        let length = n_parts.and_then(|n_parts| u64::try_from(n_parts).ok());
        let bar = ProgressBar::with_draw_target(length, target).with_message(what);
        let parts = if length.is_some() { "{pos} of {len}, " } else { "" };
        let style = ProgressStyle::with_template(&format!("{{spinner}} {{msg}}: {parts}{{elapsed}}"));
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        bar.set_style(if is_utf8() { style } else { style.tick_chars("-\\|/ ") });
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// Changes the activity's name.
    pub(crate) fn say(&self, what: String) {
        self.0.set_message(what);
    }

    /// Records a completed part.
    pub(crate) fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn terminal() -> ProgressDrawTarget {
    const DRAWN_PER_SECOND: u8 = 20;
    ProgressDrawTarget::term_like_with_hz(Box::new(Narrowed(Term::buffered_stderr())), DRAWN_PER_SECOND)
}

/// A terminal that claims to be a little narrower. A bar fills its whole line, and the echo of Ctrl-C must fit behind
/// it, or the bar could not be removed from the screen.
#[derive(Debug)]
struct Narrowed(Term);

impl TermLike for Narrowed {
    fn width(&self) -> u16 {
        const ECHO: u16 = 3;
        self.0.size().1.saturating_sub(ECHO)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.0.write_line(line)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.write_str(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Describes the job in at most `width` columns. Fields that don't fit are omitted as a whole, because a truncated
/// number would look like another number.
fn describe(job: &JobStatus, speed: f64, width: usize) -> String {
    let n = format!("n = {}", job.n);
    let share = percent(job.fraction());
    let state = job.state_text();
    let left = match (job.range_left(), &job.waits_for) {
        (Some(range), _) => format!("{range} left"),
        (None, Some(whom)) => format!("{state}, waits for {whom}"),
        (None, None) => state.clone(),
    };
    let speed = work::speed(job.method, speed);
    let found = format!("{} found", job.progress.solutions);
    let is_running = job.state == JobState::Running;
    let all: &[&str] =
        if is_running { &[&n, &share, &left, &speed, &found] } else { &[&n, &share, &left, &found] };
    let choices =
        [all, &[&n, &share, &left, &found], &[&n, &share, &left], &[&n, &share, &state], &[&n, &share]];
    let texts = choices.map(|parts| parts.join("  "));
    texts.iter().find(|text| text.len() <= width).unwrap_or(&share).clone()
}

/// Returns the columns for the message: the terminal's, without the bar and the space behind it.
fn message_width() -> usize {
    usize::from(Narrowed(Term::stderr()).width()).saturating_sub(BAR + 1)
}

/// Whether another view owns the whole screen.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Suppresses log lines on a terminal until it is dropped, because they would tear the screen.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use queens_model::{Fraction, JobId, Progress, TimeLeft};
    use queens_solver::{BoardSize, Method};

    use super::*;

    #[test]
    fn lines_come_after_10_seconds_a_minute_and_every_10_minutes() {
        let (mut seconds, mut due) = (0, Vec::new());
        while seconds < 2000 {
            seconds = next_line(Duration::from_secs(seconds)).as_secs();
            due.push(seconds);
        }
        assert_eq!(due, [10, 60, 600, 1200, 1800, 2400]);
    }

    #[test]
    fn no_number_loses_digits_for_want_of_room() {
        let progress = Progress {
            solutions: 1_285_677_152,
            estimated_work: 4,
            estimated_work_recorded: 1,
            ..Progress::default()
        };
        let mut job = JobStatus {
            progress,
            time_left: TimeLeft::new(60.0, 120.0, 240.0).ok(),
            n_workers: 1,
            ..JobStatus::new(
                JobId(1),
                BoardSize::new(19).expect("a board size"),
                Method::Search,
                JobState::Running,
            )
        };
        let all = "n = 19  25.0 %  1 to 4 min left  67 M nodes/s  1285677152 found";
        for (width, expected) in [
            (all.len(), all),
            (all.len() - 1, "n = 19  25.0 %  1 to 4 min left  1285677152 found"),
            (48, "n = 19  25.0 %  1 to 4 min left"),
            (30, "n = 19  25.0 %  running"),
            (20, "n = 19  25.0 %"),
            (0, "25.0 %"),
        ] {
            assert_eq!(describe(&job, 67e6, width), expected);
        }
        job.method = Method::Halves;
        let all = "n = 19  25.0 %  1 to 4 min left  1,067 M units/s  1285677152 found";
        assert_eq!(describe(&job, 1067e6, 100), all);
        (job.state, job.time_left) = (JobState::Paused, None);
        assert_eq!(describe(&job, 67e6, 100), "n = 19  25.0 %  paused  1285677152 found");
        (job.state, job.waits_for) = (JobState::Queued, Some("its turn".to_owned()));
        let waiting = "n = 19  25.0 %  queued, waits for its turn";
        assert_eq!(describe(&job, 67e6, waiting.len()), waiting);
        assert_eq!(describe(&job, 67e6, waiting.len() - 1), "n = 19  25.0 %  queued");
        job.waits_for = None;
        (job.state, job.progress, job.plan_fraction) =
            (JobState::Planning, Progress::default(), Fraction::try_from(0.416).ok());
        assert_eq!(describe(&job, 0.0, 100), "n = 19  0 %  planning 41.6 %  0 found");
    }
}
