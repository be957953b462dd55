//! Output on stdout and stderr. Control sequences never reach the terminal: see [`plain`].

use std::env;
use std::io::{self, ErrorKind, IsTerminal, StdoutLock, Write};

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use queens_model::plain;
use queens_platform::{is_screen, was_stdout_closed};
use serde::Serialize;

/// What an error of stdout says first.
const FAILED: &str = "failed to write the answer";

/// Returns stdout for an answer.
///
/// # Errors
/// If the process started with a closed stdout.
pub fn stdout() -> anyhow::Result<io::Stdout> {
    if was_stdout_closed() {
        return Err(anyhow!("stdout is closed").context(FAILED));
    }
    Ok(io::stdout())
}

/// Writes an answer to stdout as it is. Returns whether the reader is still there: a closed pipe is no error, because
/// its reader has seen enough.
///
/// # Errors
/// If it can't be written.
pub fn write_answer(write: impl FnOnce(&mut StdoutLock<'_>) -> io::Result<()>) -> anyhow::Result<bool> {
    let mut out = stdout()?.lock();
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        written => written.context(FAILED).map(|()| true),
    }
}

/// Prints lines to stdout, without control characters.
///
/// # Errors
/// If they can't be written. A closed pipe is no error.
pub fn print(lines: &str) -> anyhow::Result<()> {
    print_some(lines).map(drop)
}

/// Prints one of several answers to stdout. Returns whether the reader is still there for the next.
///
/// # Errors
/// If it can't be written.
pub fn print_some(lines: &str) -> anyhow::Result<bool> {
    write_answer(|out| writeln!(out, "{}", plain::lines(lines)))
}

/// Prints styled lines to stdout; without styles where colours are unwanted.
///
/// # Errors
/// If they can't be written.
pub fn print_styled(lines: &str) -> anyhow::Result<()> {
    write_answer(|out| writeln!(out, "{}", styled(lines, is_colourful(out)))).map(drop)
}

/// Prints styled lines to stderr.
pub(crate) fn say_styled(lines: &str) {
    let mut err = io::stderr();
    _ = writeln!(err, "{}", styled(lines, is_colourful(&err)));
}

/// Returns a text with or without its colours, and without any other control sequence.
fn styled(text: &str, with_colours: bool) -> String {
    let mut pieces = text.split('\u{1b}');
    let mut shown = plain::lines(pieces.next().unwrap_or_default()).into_owned();
    for piece in pieces {
        let code = piece.strip_prefix('[').and_then(|rest| rest.split_once('m'));
        let code = code.filter(|(code, _)| code.chars().all(|c| c.is_ascii_digit() || c == ';'));
        match code {
            Some((code, rest)) => {
                if with_colours {
                    shown += &format!("\u{1b}[{code}m");
                }
                shown += &plain::lines(rest);
            }
            None => shown += &plain::lines(&format!("\u{1b}{piece}")),
        }
    }
    shown
}

/// Prints a line to stderr.
pub fn say(what: &str) {
    _ = writeln!(io::stderr(), "{}", plain::line(what));
}

/// Prints an error message in one line to stderr.
pub fn complain(what: &str) {
    say(&format!("error: {what}"));
}

/// Returns whether a stream wants colours; <https://no-color.org> defines a variable for that.
pub fn is_colourful(stream: &impl IsTerminal) -> bool {
    is_screen(stream) && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The format of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    Text,
    /// JSON; numbers that may exceed 2^53 are strings
    Json,
}

/// The option for the format of an answer.
#[derive(Clone, Copy, Debug, Args)]
pub struct OutputArgs {
    /// Format of the answer
    #[arg(long, env = "QUEENS_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub output: Output,
}

impl Output {
    /// Prints an answer: the value as JSON in one line, or the text.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn print(self, value: &impl Serialize, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        print(&match self {
            Self::Text => text(),
            Self::Json => serde_json::to_string(value)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_shown_where_they_are_wanted_and_nothing_else_commands_a_terminal() {
        let check = |text: &str, with: &str, without: &str| {
            assert_eq!((styled(text, true).as_str(), styled(text, false).as_str()), (with, without));
        };
        check("plain\nlines", "plain\nlines", "plain\nlines");
        check("\u{1b}[1;33mbold\u{1b}[0m", "\u{1b}[1;33mbold\u{1b}[0m", "bold");
        for wrong in ["\u{1b}]0;title\u{7}", "\u{1b}[2J and m", "\u{1b}", "\u{1b}\u{1b}[", "\u{9b}31m"] {
            let shown = styled(wrong, true);
            assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{7}']), "{shown:?}");
        }
    }
}
