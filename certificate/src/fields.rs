//! The fields of a line, which tabs part. A number has one way to be written.

use std::str::{FromStr, Split};

use queens_model::{Name, plain};

/// The fields of a line, one after the other. What is wrong with one is said in words; the caller knows the place.
pub(crate) struct Fields<'a>(Split<'a, char>);

impl<'a> Fields<'a> {
    /// The kind of a line, and the fields behind it.
    pub(crate) fn of(line: &'a str) -> (&'a str, Self) {
        let mut fields = line.split('\t');
        (fields.next().unwrap_or_default(), Self(fields))
    }

    /// The next field.
    pub(crate) fn text(&mut self, what: &str) -> Result<&'a str, String> {
        self.0.next().ok_or_else(|| format!("{what} is missing"))
    }

    /// A whole number: digits, of which the first is 0 only if it is the only one.
    pub(crate) fn number<T: FromStr>(&mut self, what: &str) -> Result<T, String> {
        let text = self.text(what)?;
        let is_canonical = text.bytes().all(|byte| byte.is_ascii_digit())
            && (text == "0" || !text.starts_with('0'))
            && !text.is_empty();
        let number = is_canonical.then(|| text.parse().ok()).flatten();
        number.ok_or_else(|| format!("{what} '{}' is no number that can stand here", shown(text)))
    }

    /// A whole number below 2^63.
    pub(crate) fn count(&mut self, what: &str) -> Result<u64, String> {
        let count: u64 = self.number(what)?;
        if i64::try_from(count).is_err() {
            return Err(format!("{what} {count} is over 2^63 - 1"));
        }
        Ok(count)
    }

    /// A name that can be seen.
    pub(crate) fn name(&mut self, what: &str) -> Result<Name, String> {
        let text = self.text(what)?;
        text.parse().map_err(|error| format!("{what} '{}' is no name: {error}", shown(text)))
    }

    /// Bytes as lower-case hexadecimal digits.
    pub(crate) fn hex<const N: usize>(&mut self, what: &str) -> Result<[u8; N], String> {
        let text = self.text(what)?;
        from_hex(text).ok_or_else(|| format!("{what} '{}' is not {} hexadecimal digits", shown(text), 2 * N))
    }

    /// Whether another field follows.
    pub(crate) fn more(&self) -> bool {
        self.0.clone().next().is_some()
    }

    /// Nothing follows.
    pub(crate) fn end(&mut self) -> Result<(), String> {
        match self.0.next() {
            None => Ok(()),
            Some(more) => Err(format!("there is a field too many: '{}'", shown(more))),
        }
    }
}

/// The beginning of a text from outside, fit to be shown.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let start: String = text.chars().take(MOST).collect();
    let more = if start.len() < text.len() { "…" } else { "" };
    plain::line(&start).into_owned() + more
}

/// Bytes as hexadecimal digits.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that are written like this.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}
