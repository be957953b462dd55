//! What a coordinator tells the person who runs a worker.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::plain;

/// The longest URL of a page, in bytes.
const LONGEST_URL: usize = 500;

/// A text for the person who runs a worker, with a page about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The text, in one line.
    pub text: String,
    /// A page with more about it.
    pub url: Option<PageUrl>,
    /// Whether it says why the worker has nothing to count.
    pub is_reason_to_wait: bool,
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&plain::line(&self.text))?;
        self.url.iter().try_for_each(|url| write!(formatter, " (see {url})"))
    }
}

/// The URL of a page for people, by HTTP or HTTPS. It has visible ASCII characters only, none of which quotes or
/// brackets a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageUrl(String);

/// A text is no URL of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected the URL of a page, such as https://HOST/PATH, of at most {LONGEST_URL} characters")]
pub struct InvalidPageUrl;

impl FromStr for PageUrl {
    type Err = InvalidPageUrl;

    fn from_str(text: &str) -> Result<Self, InvalidPageUrl> {
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let is_host =
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '['));
        let is_fine = |c: char| c.is_ascii_graphic() && !"\"'`<>(){}\\^|".contains(c);
        if is_host && text.len() <= LONGEST_URL && text.chars().all(is_fine) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidPageUrl)
        }
    }
}

impl fmt::Display for PageUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_a_page_can_be_shown_anywhere() {
        for text in ["https://queens.example.org/a?b=c&d#e", "http://127.0.0.1:8080", "https://[::1]/"] {
            assert_eq!(text.parse::<PageUrl>().map(|url| url.to_string()), Ok(text.to_owned()));
        }
        let long = format!("https://a/{}", "b".repeat(LONGEST_URL));
        for text in [
            "",
            "https://",
            "https:///a",
            "ftp://a",
            "javascript:alert(1)",
            "a.example.org",
            "https://a b",
            "https://a/\u{1b}[2J",
            "https://a/\u{202e}",
            "https://a/'",
            "https://a/<b>",
            "https://a/)",
            "https://ä",
            &long,
        ] {
            assert_eq!(text.parse::<PageUrl>(), Err(InvalidPageUrl), "{text}");
        }
    }

    #[test]
    fn a_notice_is_one_line_with_its_page() {
        let url = "https://a/b".parse().ok();
        let notice = Notice { text: "a\u{1b}[2J\nb".to_owned(), url, is_reason_to_wait: false };
        assert_eq!(notice.to_string(), r"a\u{1b}[2J b (see https://a/b)");
    }
}
