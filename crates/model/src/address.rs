//! Network addresses: the URL of a coordinator, and the address that a program listens on.

use std::fmt;
use std::net::SocketAddrV6;
use std::str::FromStr;

use thiserror::Error;

/// A host and a port to listen on, such as `127.0.0.1:8000`. Parsing does not resolve the host; listening does.
///
/// ```
/// use queens_model::ListenAddress;
/// assert!("localhost:0".parse::<ListenAddress>().is_ok());
/// assert!("http://localhost:80".parse::<ListenAddress>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress(String);

/// The error for a text that is not an address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected an address and a port and nothing else, such as 127.0.0.1:8000")]
pub struct InvalidListenAddress;

impl ListenAddress {
    /// Returns the address as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the host alone.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.rsplit_once(':').map_or(&self.0, |(host, _)| host)
    }
}

impl FromStr for ListenAddress {
    type Err = InvalidListenAddress;

    fn from_str(text: &str) -> Result<Self, InvalidListenAddress> {
        let (host, port) = text.rsplit_once(':').ok_or(InvalidListenAddress)?;
        // Link-local addresses have a zone, which no URL can have: [fe80::1%2].
        let fits = (is_host(host) && is_port(port)) || text.parse::<SocketAddrV6>().is_ok();
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidListenAddress) }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The URL of a coordinator: `http://host:port` or `https://host:port`, with an optional slash at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoordinatorUrl(String);

/// The error for a text that is not the URL of a coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("expected a URL such as http://127.0.0.1:50051, not '{0}'")]
pub struct InvalidCoordinatorUrl(String);

impl CoordinatorUrl {
    /// Returns the URL as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the host's name or address; an IPv6 address keeps its brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        let after = self.0.split_once("://").map_or(self.0.as_str(), |(_, after)| after);
        after.rsplit_once(':').map_or(after, |(host, _)| host)
    }
}

impl From<CoordinatorUrl> for InvalidCoordinatorUrl {
    /// Converts a URL that parses, but that a client can't use.
    fn from(url: CoordinatorUrl) -> Self {
        Self(url.0)
    }
}

impl FromStr for CoordinatorUrl {
    type Err = InvalidCoordinatorUrl;

    fn from_str(text: &str) -> Result<Self, InvalidCoordinatorUrl> {
        let after = ["http://", "https://"].into_iter().find_map(|scheme| {
            let begins = text.get(..scheme.len()).filter(|begins| begins.eq_ignore_ascii_case(scheme));
            begins.map(|_| &text[scheme.len()..])
        });
        let parts =
            after.map(|after| after.strip_suffix('/').unwrap_or(after)).and_then(|at| at.rsplit_once(':'));
        let fits = parts.is_some_and(|(host, port)| is_host(host) && is_port(port) && port != "0");
        if fits {
            return Ok(Self(text.to_owned()));
        }
        // The text before an @ may be a password.
        Err(InvalidCoordinatorUrl(text.rfind('@').map_or(text.to_owned(), |at| format!("…{}", &text[at..]))))
    }
}

/// Returns whether a text may be a host's name or address. Rejects characters with a meaning elsewhere in a URL, and
/// invisible ones.
fn is_host(text: &str) -> bool {
    let is_fine = |c: char| c.is_ascii_graphic() && !"/\\?#@<>\"`{}|^%".contains(c);
    (1..=255).contains(&text.len()) && text.chars().all(is_fine)
}

fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, listens: bool, is_url: bool) {
        let found = (text.parse::<ListenAddress>().is_ok(), text.parse::<CoordinatorUrl>().is_ok());
        assert_eq!(found, (listens, is_url), "{text:?}");
    }

    #[test]
    fn addresses_have_a_host_and_a_port_and_nothing_else() {
        for text in [
            "127.0.0.1:8000",
            "0.0.0.0:0",
            "[::1]:80",
            "[fe80::1%2]:80",
            "rack-3.example.org:65535",
            "my_host:1",
        ] {
            check(text, true, false);
        }
        for text in [
            "http://127.0.0.1:50051",
            "http://coordinator:1/",
            "HTTP://[::1]:50051",
            "https://queens.example.org:443",
            "HTTPS://a:80/",
        ] {
            check(text, false, true);
        }
        for text in [
            "",
            ":",
            "a",
            "a:",
            ":80",
            "a:65536",
            "a:+80",
            "a:-1",
            "a b:80",
            "a\u{202e}:80",
            "a/b:80",
            "a%2:80",
            "http://[fe80::1%2]:80",
            "user@a:80",
            "https:/a:80",
            "https://a",
            "https://user:secret@a:80",
            "ftp://a:80",
            "http://a",
            "http://a:0",
            "http://:80",
            "http://a:80/b",
            "http://a:80//",
            "http://a:80?b",
            "http://a:80#b",
            "http://user:secret@a:80",
            "http://http://a:80",
        ] {
            check(text, false, false);
        }
    }
}
