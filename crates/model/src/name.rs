//! Names that can be shown, typed and compared by eye.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;
use unicode_normalization::is_nfkc;

use crate::plain::{self, is_plain};

/// The longest name, in characters.
const LONGEST: usize = 100;

/// The most marks on a letter of a new name. Thai, Hindi and Hebrew need three.
const MOST_MARKS: usize = 3;

/// The name of a worker, a program version or a kernel: 1 to 100 visible characters, with spaces only between others.
/// Cheap to clone.
///
/// ```
/// use queens_model::Name;
/// assert!("rack 3".parse::<Name>().is_ok());
/// assert!("rack\u{200b}3".parse::<Name>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

/// The error for a text that is not a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidName {
    /// The text can't be shown in a line, or is too long.
    #[error("expected 1 to {LONGEST} visible characters, with spaces only between them")]
    NotShown,
    /// The text may be new, and looks like another or disturbs those beside it.
    #[error(
        "expected a name that can't be taken for another: single spaces, no characters that only look different (Unicode's \
         form NFKC), at most {MOST_MARKS} different marks on a letter, and no word with letters of several alphabets"
    )]
    Misleading,
}

impl Name {
    /// Parses a name that somebody chooses. It is also one that can't easily be taken for another, which names of
    /// earlier versions may be.
    ///
    /// ```
    /// use queens_model::Name;
    /// assert!(Name::new("rack 3").is_ok());
    /// assert!(Name::new("r\u{430}ck 3").is_err(), "a Cyrillic letter");
    /// ```
    ///
    /// # Errors
    /// If the text is no such name.
    pub fn new(text: &str) -> Result<Self, InvalidName> {
        let name: Self = text.parse()?;
        let is_clear = is_nfkc(text)
            && !text.contains("  ")
            && has_few_marks(text)
            && text.split(|c: char| !c.is_alphabetic()).all(has_one_alphabet);
        if is_clear { Ok(name) } else { Err(InvalidName::Misleading) }
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Makes a name of any text by escaping and cutting it, so that one odd name does not spoil a whole list.
    #[must_use]
    pub fn of_any(text: &str) -> Self {
        if let Ok(name) = text.parse() {
            return name;
        }
        // Escaping never shortens, so characters cut off here would also be cut off below.
        let start: String = text.chars().take(LONGEST + 1).collect();
        let mut shown: String = plain::line(&start).trim().chars().take(LONGEST + 1).collect();
        if shown.chars().count() > LONGEST {
            shown = shown.chars().take(LONGEST - 1).collect::<String>() + "…";
        }
        shown.parse().unwrap_or_else(|_| Self("?".into()))
    }
}

impl FromStr for Name {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let length = text.chars().take(LONGEST + 1).count();
        // A combining mark at the beginning would merge with the text shown before the name.
        let begins_well = text.chars().next().is_some_and(|first| !is_mark(first));
        let fits = (1..=LONGEST).contains(&length) && begins_well && text.trim() == text;
        if fits && text.chars().all(is_plain) { Ok(Self(text.into())) } else { Err(InvalidName::NotShown) }
    }
}

/// Whether a visible character is shown on the one before it. The standard library escapes these.
fn is_mark(c: char) -> bool {
    !c.is_ascii() && c.escape_debug().len() > 1
}

fn has_few_marks(text: &str) -> bool {
    let mut marks = Vec::new();
    text.chars().all(|c| {
        if !is_mark(c) {
            marks.clear();
            return true;
        }
        let is_new = !marks.contains(&c);
        marks.push(c);
        is_new && marks.len() <= MOST_MARKS
    })
}

/// Whether the letters of a word are of one alphabet. Many Latin, Greek and Cyrillic letters look the same. Chinese,
/// Japanese and Korean words have Latin letters.
fn has_one_alphabet(word: &str) -> bool {
    let mut alphabets = word.chars().filter_map(|c| match c {
        ..='\u{2af}' | '\u{1e00}'..='\u{1eff}' => Some(0),
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Some(1),
        '\u{400}'..='\u{52f}' => Some(2),
        '\u{530}'..='\u{2e7f}' | '\u{a4d0}'..='\u{abff}' => Some(3),
        _ => None,
    });
    let first = alphabets.next();
    alphabets.all(|alphabet| Some(alphabet) == first)
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: bool) {
        assert_eq!(text.parse::<Name>().is_ok(), expected, "{text:?}");
    }

    #[test]
    fn names_can_be_seen_and_told_apart() {
        for name in ["a", "rack-3", "Anna's machine", "東京", "mu\u{308}ller", "\\u{1b}", &"x".repeat(100)]
        {
            check(name, true);
        }
        for name in ["", " ", " a", "a ", "\u{308}a", &"x".repeat(101), &"x".repeat(1 << 14)] {
            check(name, false);
        }
        for c in "\0\u{1b}\n\r\t\u{7f}\u{85}\u{9b}\u{a0}\u{ad}\u{61c}\u{200b}\u{200d}\u{200e}\u{202e}\u{2028}\u{2029}\
                  \u{2066}\u{2069}\u{feff}\u{fe0f}\u{2800}"
            .chars()
        {
            check(&format!("a{c}b"), false);
        }
    }

    #[test]
    fn new_names_are_not_taken_for_others() {
        for name in
            ["a", "rack-3", "Anna's machine", "東京a", "müller", "Việt", "пётр 2", "मशीन", "पड़\u{947}\u{902}"]
        {
            assert_eq!(Name::new(name).map(|new| new.to_string()), Ok(name.to_owned()));
        }
        for name in [
            "a\u{336}\u{337}\u{338}\u{334}\u{335}\u{32a}\u{32b}\u{32c}",
            "q\u{336}\u{336}",
            "mu\u{308}ller",
            "a  b",
            "ａｎｎａ",
            "𝐚nna",
            "r\u{430}ck",
            "ΑNNA",
            "р\u{3bf}ст",
            "ᎪNNA",
        ] {
            assert_eq!(Name::new(name), Err(InvalidName::Misleading), "{name:?}");
            assert_eq!(
                name.parse::<Name>().map(|old| old.to_string()),
                Ok(name.to_owned()),
                "it may be stored"
            );
        }
        assert_eq!(Name::new("a\u{202e}b"), Err(InvalidName::NotShown));
    }

    #[test]
    fn whatever_is_no_name_is_shown_as_one() {
        for (text, shown) in [
            ("", "?"),
            ("\u{202e}", r"\u{202e}"),
            ("a\u{1b}b\nc", r"a\u{1b}b c"),
            (" a ", "a"),
            ("\u{308}", "?"),
            ("rack 3", "rack 3"),
        ] {
            assert_eq!(Name::of_any(text).as_str(), shown);
        }
        for text in ["x".repeat(1 << 14), "\u{1b}".repeat(100)] {
            let shown = Name::of_any(&text);
            assert!(shown.as_str().chars().count() == 100 && shown.as_str().ends_with('…'), "{shown}");
        }
    }
}
