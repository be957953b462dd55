//! What people type to find something in a list.

use super::refusal::RequestRefusal;

/// The longest text that is looked for, in characters: each word costs a look at all that is listed.
const LONGEST: usize = 100;

/// The words of a text, in small letters.
#[derive(Debug)]
pub(super) struct Words(Vec<String>);

impl Words {
    /// Those of a text; none if there is no text.
    pub(super) fn of(text: Option<&str>) -> Result<Self, RequestRefusal> {
        let text = text.unwrap_or_default();
        if text.chars().count() > LONGEST {
            let reason = format!("the text to search for has more than {LONGEST} characters");
            return Err(RequestRefusal::bad_request(reason));
        }
        Ok(Self(text.split_whitespace().map(str::to_lowercase).collect()))
    }

    /// Whether all of them fit.
    pub(super) fn all(&self, fits: impl FnMut(&String) -> bool) -> bool {
        self.0.iter().all(fits)
    }
}

/// Whether a text names somebody: has the name in it, and not as a part of a longer word. A full stop is a part of one
/// if the word goes on behind it, as in the name of a host.
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
