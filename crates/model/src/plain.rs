//! Escapes texts from outside, so that a terminal or a page can show them safely.
//!
//! A terminal obeys the text it shows. ESC and the C1 characters move its cursor and rename its window, and a carriage
//! return overwrites the line. Characters that change the writing direction or have no width make one text look like
//! another. All of these are escaped, as in `\u{1b}`; line feeds and tabs become spaces within a line.

use std::borrow::Cow;
use std::ops::RangeInclusive;

/// Characters that Unicode counts as letters, marks or signs, but that are invisible.
const UNSEEN: [RangeInclusive<char>; 9] = [
    '\u{34f}'..='\u{34f}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{2800}'..='\u{2800}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{e0100}'..='\u{e01ef}',
];

/// Returns whether a character is visible, and only in its own place: letters, their marks, digits, signs and the
/// space.
#[must_use]
pub fn is_plain(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    // After a letter, the standard library escapes all but Unicode's letters, marks, digits and signs.
    let behind_letter = String::from_iter(['a', c]);
    behind_letter.escape_debug().eq(behind_letter.chars()) && !UNSEEN.iter().any(|range| range.contains(&c))
}

/// Escapes a text for one line.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_plain)
}

/// Escapes a text of several lines.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n' || is_plain(c))
}

fn escaped(text: &str, is_fine: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().all(&is_fine) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(2 * text.len());
    for c in text.chars() {
        match c {
            _ if is_fine(c) => shown.push(c),
            '\n' | '\t' => shown.push(' '),
            _ => shown.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(line(text), expected);
        assert_eq!(line(&line(text)), expected, "escaped once");
    }

    #[test]
    fn what_a_terminal_obeys_is_escaped() {
        check("\u{1b}]0;owned\u{7}\u{1b}[2J", r"\u{1b}]0;owned\u{7}\u{1b}[2J");
        check("a\u{9b}31mb\u{9d}c", r"a\u{9b}31mb\u{9d}c");
        check("50 %\r100 %\n\0\u{7f}\t", r"50 %\u{d}100 % \u{0}\u{7f} ");
        assert_eq!(lines("one\ntwo\u{1b}\r\n"), "one\ntwo\\u{1b}\\u{d}\n");
    }

    #[test]
    fn what_is_not_seen_or_turns_others_round_is_escaped() {
        for c in
            "\u{61c}\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2060}\u{2066}\
                  \u{2069}\u{feff}\u{ad}\u{34f}\u{3164}\u{2800}\u{fe0f}\u{e0001}\u{e0101}\u{a0}\u{fff9}\u{e000}"
                .chars()
        {
            check(&format!("a{c}b"), &format!(r"a\u{{{:x}}}b", u32::from(c)));
        }
    }

    #[test]
    fn what_people_write_stays() {
        for text in [
            "rack-3.example_org",
            "a \"b\" 'c' \\d",
            "Müller",
            "mu\u{308}ller",
            "東京",
            "मशीन",
            "♛ █░ ↑↓ …",
            "",
        ] {
            check(text, text);
        }
    }
}
