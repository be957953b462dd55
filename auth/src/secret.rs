//! Secrets that are made and compared here, and kept as hashes.

use std::fmt;
use std::io;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::hex::{from_hex, to_hex};

/// 256 random bits, which one browser holds and nobody else.
pub struct Secret([u8; 32]);

/// A text that is no secret of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidSecret;

impl Secret {
    /// A new one.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn random() -> io::Result<Self> {
        let mut bits = [0; 32];
        getrandom::fill(&mut bits).map_err(io::Error::other)?;
        Ok(Self(bits))
    }

    /// What it is known by. Of 256 random bits, nobody finds it from that, and to look it up by its hash says nothing
    /// of how much of it is right.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0).into()
    }

    /// The secret itself, for whoever is to hold it.
    #[must_use]
    pub fn reveal(&self) -> String {
        to_hex(&self.0)
    }
}

impl FromStr for Secret {
    type Err = InvalidSecret;

    fn from_str(text: &str) -> Result<Self, InvalidSecret> {
        from_hex(text).map(Self).ok_or(InvalidSecret)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
