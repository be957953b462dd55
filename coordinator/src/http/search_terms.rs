//! Parses the search box of a list into words, and finds names in texts.

use super::refusal::RequestRefusal;

/// The longest search text in characters. Each word costs a pass over the whole list.
const LONGEST: usize = 100;

/// The words of a search text, in lower case.
#[derive(Debug)]
pub(super) struct Words(Vec<String>);

impl Words {
    /// Splits a text into words; no text gives no words.
    pub(super) fn of(text: Option<&str>) -> Result<Self, RequestRefusal> {
        let text = text.unwrap_or_default();
        if text.chars().count() > LONGEST {
            let reason = format!("the text to search for has more than {LONGEST} characters");
            return Err(RequestRefusal::bad_request(reason));
        }
        Ok(Self(text.split_whitespace().map(str::to_lowercase).collect()))
    }

    pub(super) fn all(&self, fits: impl FnMut(&String) -> bool) -> bool {
        self.0.iter().all(fits)
    }
}

/// Returns whether a text contains a name, not as part of a longer word. A full stop belongs to a word that continues
/// after it, as in a host name.
pub(super) fn names(text: &str, name: &str) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let goes_on = after.strip_prefix('.').unwrap_or(after).starts_with(is_of_word);
        !goes_on && !before.ends_with(|c| is_of_word(c) || c == '.')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, name: &str, expected: bool) {
        assert_eq!(names(text, name), expected, "{name} in '{text}'");
    }

    #[test]
    fn a_name_is_found_as_a_word_and_in_no_longer_one() {
        check("w1 joined", "w1", true);
        check("all named w1 were blocked", "w1", true);
        check("5 are recorded of w1: one of the two is wrong", "w1", true);
        check("by w1.", "w1", true);
        check("w10 joined", "w1", false);
        check("rack-w1 joined", "w1", false);
        check("w1-b joined", "w1", false);
        check("w1.example.org joined", "w1", false);
        check("w10 was given up by w1", "w1", true);
        check("bär joined", "är", false);
        check("bär joined", "bär", true);
    }

    #[test]
    fn texts_have_an_end() {
        assert!(Words::of(Some(&"ж".repeat(100))).is_ok());
        assert!(Words::of(Some(&"ж".repeat(101))).is_err());
    }
}
