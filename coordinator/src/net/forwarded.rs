//! The addresses of visitors, as trusted proxies name them in `Forwarded` (RFC 7239) and `X-Forwarded-For`.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use axum::http::HeaderMap;
use axum::http::header::{FORWARDED, HeaderName};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// A range of addresses with a common prefix. IPv4 addresses are those of `::ffff:0:0/96`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Network {
    prefix: u128,
    length: u32,
}

impl Network {
    /// Returns the network of an address, by the length of its prefix in bits.
    pub(crate) fn around(address: IpAddr, length: u32) -> Self {
        let length = if address.is_ipv4() { length + 96 } else { length };
        let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
        Self { prefix: bits(address) & mask, length }
    }

    pub(super) fn contains(self, address: IpAddr) -> bool {
        (bits(address) ^ self.prefix).leading_zeros() >= self.length
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, length) = text.split_once('/').map_or((text, None), |(address, l)| (address, Some(l)));
        let parsed = address.parse().ok().and_then(|address: IpAddr| {
            let most = if address.is_ipv4() { 32 } else { 128 };
            let length = length.map_or(Some(most), |length| length.parse().ok());
            length.filter(|length| *length <= most).map(|length| Self::around(address, length))
        });
        parsed.ok_or_else(|| {
            format!("expected an address or a network, such as 192.0.2.7 or 2001:db8::/32, not '{text}'")
        })
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Returns the address for which trusted proxies forward a request: the last one that is not their own. `None` if they
/// name none, or something else.
pub(super) fn forwarded_for(proxies: &[Network], headers: &HeaderMap) -> Option<IpAddr> {
    let joined = |name: HeaderName| {
        let values = headers.get_all(name).into_iter().map(|value| value.to_str().unwrap_or("?"));
        values.collect::<Vec<_>>().join(",")
    };
    let is_proxy = |address| proxies.iter().any(|network| network.contains(address));
    let last = |nodes: &[&str]| {
        let mut addresses = nodes.iter().rev().map(|node| address(node));
        addresses.find(|address| !address.is_some_and(is_proxy)).flatten()
    };
    let (forwarded, of_others) = (joined(FORWARDED), joined(X_FORWARDED_FOR));
    let of_others = (!of_others.is_empty()).then(|| last(&of_others.split(',').collect::<Vec<_>>()));
    let forwarded = (!forwarded.is_empty()).then(|| nodes(&forwarded).and_then(|nodes| last(&nodes)));
    match (forwarded, of_others) {
        // A proxy writes one of the headers, and may pass on the other one as a visitor forged it.
        (Some(one), Some(other)) => one.filter(|_| one == other),
        (one, other) => one.or(other).flatten(),
    }
}

/// Returns the node of each element of `Forwarded`; an empty text if the element has none. `None` if the syntax is not
/// simple: an address needs no escapes, and a quote that a visitor opens must not hide what a proxy appends.
fn nodes(text: &str) -> Option<Vec<&str>> {
    let node = |element| {
        let mut node = "";
        for pair in split(element, ';')? {
            let (name, value) = pair.trim().split_once('=')?;
            let value = value.strip_prefix('"').map_or(Some(value), |value| value.strip_suffix('"'))?;
            if [name, value].iter().any(|text| text.contains(['"', '\\'])) {
                return None;
            }
            if name.eq_ignore_ascii_case("for") {
                node = value;
            }
        }
        Some(node)
    };
    split(text, ',')?.into_iter().map(node).collect()
}

/// Splits a text outside quotes; `None` if a quote does not end.
fn split(text: &str, separator: char) -> Option<Vec<&str>> {
    let mut is_quoted = false;
    let parts = text.split(|c| {
        is_quoted ^= c == '"';
        c == separator && !is_quoted
    });
    let parts = parts.collect();
    (!is_quoted).then_some(parts)
}

/// Parses an address with or without a port. Proxies may write `unknown` or an identifier of their own instead.
fn address(node: &str) -> Option<IpAddr> {
    let node = node.trim();
    let bare = node.strip_prefix('[').and_then(|node| node.strip_suffix(']')).unwrap_or(node);
    let address = bare.parse().ok().or_else(|| Some(node.parse::<SocketAddr>().ok()?.ip()));
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(headers: &[(HeaderName, &str)], expected: Option<&str>) {
        let proxies = ["10.0.0.0/8", "2001:db8:ffff::/48", "::1"];
        let proxies = proxies.map(|network| network.parse().expect("a network"));
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_str(value).expect("a value"));
        }
        let expected = expected.map(|address| address.parse().expect("an address"));
        assert_eq!(forwarded_for(&proxies, &map), expected, "{headers:?}");
    }

    #[test]
    fn the_last_address_that_is_no_proxy_is_the_visitor() {
        for (value, expected) in [
            ("192.0.2.1", Some("192.0.2.1")),
            ("192.0.2.1:1234", Some("192.0.2.1")),
            ("6.6.6.6, 192.0.2.1", Some("192.0.2.1")),
            ("6.6.6.6,192.0.2.1 , 10.1.2.3,::ffff:10.0.0.1", Some("192.0.2.1")),
            ("nonsense, 192.0.2.1", Some("192.0.2.1")),
            ("2001:db8::1", Some("2001:db8::1")),
            ("[2001:db8::1]:80, 2001:db8:ffff:1::1", Some("2001:db8::1")),
            ("::ffff:192.0.2.1", Some("192.0.2.1")),
            ("6.6.6.6, unknown", None),
            ("6.6.6.6, _hidden, 10.0.0.1", None),
            ("6.6.6.6,", None),
            ("10.0.0.1", None),
            ("", None),
        ] {
            check(&[(X_FORWARDED_FOR, value)], expected);
        }
        check(&[(X_FORWARDED_FOR, "6.6.6.6"), (X_FORWARDED_FOR, "192.0.2.1")], Some("192.0.2.1"));
        check(&[], None);
    }

    #[test]
    fn a_standard_header_is_read_as_strictly_as_it_is_written() {
        for (value, expected) in [
            ("for=192.0.2.1", Some("192.0.2.1")),
            ("For=\"192.0.2.1:99\";proto=https;by=10.0.0.1", Some("192.0.2.1")),
            (
                "for=6.6.6.6, for=\"[2001:db8::1]:4711\";host=\"a,for=6.6.6.6\", for=10.0.0.1",
                Some("2001:db8::1"),
            ),
            ("for=unknown", None),
            ("for=\"_hidden:_port\"", None),
            ("proto=https", None),
            ("192.0.2.1", None),
            // A visitor opens a quote, or a proxy quotes the host that a visitor wrote.
            ("for=6.6.6.6;x=\", for=192.0.2.1", None),
            ("for=6.6.6.6;x=\", for=\"[2001:db8::1]\"", None),
            ("for=192.0.2.1;host=\"a\\\",for=6.6.6.6;x=\\\"\"", None),
            ("for=192.0.2.1;host=a\",for=6.6.6.6;x=\"", None),
        ] {
            check(&[(FORWARDED, value)], expected);
        }
    }

    #[test]
    fn headers_that_disagree_say_nothing() {
        check(&[(FORWARDED, "for=192.0.2.1"), (X_FORWARDED_FOR, "192.0.2.1")], Some("192.0.2.1"));
        check(&[(FORWARDED, "for=6.6.6.6"), (X_FORWARDED_FOR, "192.0.2.1")], None);
        check(&[(FORWARDED, "nonsense"), (X_FORWARDED_FOR, "192.0.2.1")], None);
    }

    #[test]
    fn a_network_has_an_address_and_a_length() {
        for (network, address, expected) in [
            ("192.0.2.0/24", "192.0.2.255", true),
            ("192.0.2.7/24", "::ffff:192.0.2.255", true),
            ("192.0.2.0/24", "192.0.3.0", false),
            ("0.0.0.0/0", "10.0.0.1", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "::1", true),
            ("127.0.0.1", "127.0.0.2", false),
        ] {
            let network: Network = network.parse().expect("a network");
            assert_eq!(
                network.contains(address.parse().expect("an address")),
                expected,
                "{network:?} {address}"
            );
        }
        for text in
            ["", "/8", "10.0.0.1/33", "::/129", "10.0.0/8", "host", "10.0.0.1/", "10.0.0.1:80", "::1/-1"]
        {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
