//! Reads the fields of a line, which tabs separate. A number has one canonical form.

use std::str::{FromStr, Split};

use queens_model::hex::from_hex;
use queens_model::{Name, plain};

/// The fields of a line, in order. Errors are texts; the caller adds the place.
pub(crate) struct Fields<'a>(Split<'a, char>);

impl<'a> Fields<'a> {
    /// Returns the kind of a line, and the fields after it.
    pub(crate) fn of(line: &'a str) -> (&'a str, Self) {
        let mut fields = line.split('\t');
        (fields.next().unwrap_or_default(), Self(fields))
    }

    /// Returns the next field.
    pub(crate) fn text(&mut self, what: &str) -> Result<&'a str, String> {
        self.0.next().ok_or_else(|| format!("{what} is missing"))
    }

    /// Reads a whole number: digits, without leading zeros.
    pub(crate) fn number<T: FromStr>(&mut self, what: &str) -> Result<T, String> {
        let text = self.text(what)?;
        let is_canonical = text.bytes().all(|byte| byte.is_ascii_digit())
            && (text == "0" || !text.starts_with('0'))
            && !text.is_empty();
        let number = is_canonical.then(|| text.parse().ok()).flatten();
        number.ok_or_else(|| format!("{what} '{}' is no number that can stand here", shown(text)))
    }

    /// Reads a whole number below 2^63.
    pub(crate) fn count(&mut self, what: &str) -> Result<u64, String> {
        let count: u64 = self.number(what)?;
        if i64::try_from(count).is_err() {
            return Err(format!("{what} {count} is over 2^63 - 1"));
        }
        Ok(count)
    }

    /// Reads a name of visible characters.
    pub(crate) fn name(&mut self, what: &str) -> Result<Name, String> {
        let text = self.text(what)?;
        text.parse().map_err(|error| format!("{what} '{}' is no name: {error}", shown(text)))
    }

    /// Reads bytes, written as lower-case hexadecimal digits.
    pub(crate) fn hex<const N: usize>(&mut self, what: &str) -> Result<[u8; N], String> {
        let text = self.text(what)?;
        from_hex(text).ok_or_else(|| format!("{what} '{}' is not {} hexadecimal digits", shown(text), 2 * N))
    }

    /// Checks that no field follows.
    pub(crate) fn end(&mut self) -> Result<(), String> {
        match self.0.next() {
            None => Ok(()),
            Some(more) => Err(format!("there is a field too many: '{}'", shown(more))),
        }
    }
}

/// Returns the beginning of an untrusted text, fit for display.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let start: String = text.chars().take(MOST).collect();
    let more = if start.len() < text.len() { "…" } else { "" };
    plain::line(&start).into_owned() + more
}
