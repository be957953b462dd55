//! The name of an OCI image, which a volunteer types into a shell.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The name of an OCI image. Nothing in it means anything to a shell or in HTML.
#[derive(Clone, Debug)]
pub(crate) struct ImageName(String);

/// The error for a text that is no image's name.
#[derive(Debug, Error)]
#[error("expected the name of an image, such as ghcr.io/example/queens:0.3.0")]
pub(crate) struct InvalidImageName;

impl FromStr for ImageName {
    type Err = InvalidImageName;

    fn from_str(text: &str) -> Result<Self, InvalidImageName> {
        let is_fine = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
        let fits = (1..=255).contains(&text.len()) && text.chars().all(is_fine);
        let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if fits && begins { Ok(Self(text.to_owned())) } else { Err(InvalidImageName) }
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_harmless() {
        for text in ["queens", "ghcr.io/example/queens:0.3.0", "localhost:5000/q@sha256:0a"] {
            assert_eq!(text.parse::<ImageName>().expect("a name").to_string(), text);
        }
        for text in ["", "-v", "a b", "a;b", "a$b", "<b>", "é", &"a".repeat(256)] {
            assert!(text.parse::<ImageName>().is_err(), "{text:?}");
        }
    }
}
