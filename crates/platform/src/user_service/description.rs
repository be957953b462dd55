//! What the file of a service is made of.

use std::path::PathBuf;

/// A program that runs for a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserService {
    /// Its name, of letters and hyphens: also that of its file.
    pub name: &'static str,
    /// Its label on macOS, as a name of a domain in reverse.
    pub label: &'static str,
    /// What it is, in a few words.
    pub description: &'static str,
    /// The sentence by which its file is known as ours.
    pub mark: &'static str,
    /// The path of its program, absolute.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// Escapes a text for XML.
pub(super) fn xml(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut escaped, c| {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            _ => escaped.push(c),
        }
        escaped
    })
}
