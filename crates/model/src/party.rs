//! Parties: people, as far as a coordinator can distinguish them.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::hex::{from_hex, to_hex};
use crate::name::Name;

/// The prefix that is hashed with a name that is a party of its own.
const NAME_PREFIX: &[u8] = b"queens party of a name\0";

/// Identifies a party: all workers that use one invitation, whatever their names.
///
/// Each invitation draws 128 random bits when it is made. Without authentication, each name is a party of its own,
/// because nothing else is known of a worker. Shown as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Party([u8; 16]);

/// The error for a text that is not a party.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected 32 hexadecimal digits")]
pub struct InvalidParty;

impl Party {
    /// The coordinator itself, which counts a span if two parties contradict each other about it.
    pub const COORDINATOR: Self = Self([0; 16]);

    /// Creates a party from bytes, which are random for an invitation.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the party of a name when the coordinator does not authenticate: half of a SHA-256 hash of the name.
    #[must_use]
    pub fn of_name(name: &Name) -> Self {
        let hash: [u8; 32] =
            Sha256::new().chain_update(NAME_PREFIX).chain_update(name.as_str()).finalize().into();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash[..16]);
        Self(bytes)
    }

    /// Returns the party's bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

impl Serialize for Party {
    /// Serializes what [`Display`](fmt::Display) writes.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Debug for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Party({self})")
    }
}

impl FromStr for Party {
    type Err = InvalidParty;

    /// Parses what [`Display`](fmt::Display) writes and nothing else.
    fn from_str(text: &str) -> Result<Self, InvalidParty> {
        from_hex(text).map(Self).ok_or(InvalidParty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_party_is_written_in_one_way() {
        for text in
            ["0".repeat(32), format!("{}0", "f".repeat(31)), "0123456789abcdef0123456789abcdef".to_owned()]
        {
            assert_eq!(text.parse::<Party>().map(|party| party.to_string()), Ok(text));
        }
        for text in
            ["", "0", &"0".repeat(33), &"A".repeat(32), &format!("+{}", "0".repeat(31)), &"é".repeat(16)]
        {
            assert_eq!(text.parse::<Party>(), Err(InvalidParty), "{text:?}");
        }
    }

    #[test]
    fn each_name_is_a_party_of_its_own() {
        let party = |name: &str| Party::of_name(&name.parse().expect("a name"));
        assert_eq!(party("anna"), party("anna"));
        assert_ne!(party("anna"), party("bert"));
        assert_eq!(party("anna").to_string(), "c9dfab3e9e3c831c8d9083f5c9657950", "it is stored");
    }
}
