//! Identifies who counted a record: a worker's name and the salted digest of its party.

use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};

use queens_model::hex::to_hex;
use queens_model::{Name, Party};
use sha2::{Digest, Sha256};

/// The prefix of a party's hash input.
const PREFIX: &[u8] = b"queens party in a certificate\0";

/// Represents a party in one certificate: 64 bits of its salted SHA-256 hash.
///
/// The salt is the seed of the first pass. So a reader of two certificates can't find their common parties: a party is
/// 128 random bits, which no certificate contains. Two of 2^18 parties have the same digest with a probability below
/// 2^-29. They then count as one, so a confirmed record looks unconfirmed, and never the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartyDigest([u8; 8]);

impl PartyDigest {
    /// Digests a party for a certificate whose first pass has this seed.
    #[must_use]
    pub fn of(party: Party, seed: u128) -> Self {
        let hash = Sha256::new().chain_update(PREFIX).chain_update(seed.to_be_bytes());
        let hash: [u8; 32] = hash.chain_update(party.to_bytes()).finalize().into();
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&hash[..8]);
        Self(bytes)
    }

    pub(crate) const fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }
}

impl Display for PartyDigest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

/// A worker's name with its party. Workers of one party are equal, whatever their names.
#[derive(Clone, Debug)]
pub(crate) struct Who {
    pub(crate) name: Name,
    pub(crate) party: PartyDigest,
}

impl Ord for Who {
    fn cmp(&self, other: &Self) -> Ordering {
        self.party.cmp(&other.party)
    }
}

impl PartialOrd for Who {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Who {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Who {}

impl Display for Who {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other programs must compute the same digest.
    #[test]
    fn a_digest_is_of_the_party_and_the_seed() {
        let party = |byte| Party::from_bytes([byte; 16]);
        assert_eq!(PartyDigest::of(party(1), 12345).to_string(), "27d8e5ff20c746e6");
        assert_ne!(PartyDigest::of(party(1), 12345), PartyDigest::of(party(2), 12345));
        assert_ne!(PartyDigest::of(party(1), 12345), PartyDigest::of(party(1), 12346));
    }

    #[test]
    fn names_of_one_party_are_one() {
        let who = |name: &str, party: u8| Who {
            name: name.parse().expect("a name"),
            party: PartyDigest::from_bytes([party; 8]),
        };
        assert_eq!(who("anna", 1), who("bert", 1));
        assert_ne!(who("anna", 1), who("anna", 2));
    }
}
