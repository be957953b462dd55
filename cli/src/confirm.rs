//! Asks for confirmation before expensive commands.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use queens_program::say;

use crate::flags::WrongUsage;

/// The size in bytes above which a file needs confirmation.
const LARGE: usize = 20_000_000;

/// Returns whether a count may begin: it has no price, because it takes less than a year of core time, or the user
/// confirms it.
///
/// # Errors
/// If confirmation is needed and stdin is no terminal.
pub(crate) fn confirm_price(price: Option<String>, yes: bool) -> Result<bool, WrongUsage> {
    price.map_or(Ok(true), |price| confirm(&price, yes))
}

/// Returns whether a file of about this size may be written: it is not large, or the user confirms it.
///
/// # Errors
/// If confirmation is needed and stdin is no terminal.
pub(crate) fn confirm_file(n_bytes: usize, yes: bool) -> Result<bool, WrongUsage> {
    if n_bytes <= LARGE {
        return Ok(true);
    }
    confirm(&format!("the file would have some {} MB", n_bytes / 1_000_000), yes)
}

/// Asks on a terminal; elsewhere requires `--yes`.
///
/// # Errors
/// If it is missing there.
pub(crate) fn confirm(what: &str, yes: bool) -> Result<bool, WrongUsage> {
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(WrongUsage(format!("{what}; if you mean it, add --yes")));
    }
    Ok(is_confirmed(what))
}

/// Asks on a terminal. Elsewhere nobody can answer, and a script that gives a cheap command means it.
pub(crate) fn confirm_on_terminal(what: &str, yes: bool) -> bool {
    yes || !io::stdin().is_terminal() || !io::stderr().is_terminal() || is_confirmed(what)
}

fn is_confirmed(what: &str) -> bool {
    _ = write!(io::stderr(), "{what}. Go on? [y/N] ");
    const LONGEST: u64 = 100;
    let mut answer = String::new();
    _ = io::stdin().lock().take(LONGEST).read_line(&mut answer);
    if ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
        return true;
    }
    say("not done");
    false
}
