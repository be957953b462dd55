//! Random secrets that are stored and compared as hashes.

use std::fmt;
use std::io;

use queens_model::hex::{from_hex, to_hex};
use sha2::{Digest, Sha256};

/// Draws random bytes.
///
/// # Errors
/// If the system provides no random numbers.
pub(crate) fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

/// 256 random bits that only one browser holds.
pub struct Secret([u8; 32]);

impl Secret {
    /// Draws a new secret.
    ///
    /// # Errors
    /// If the system provides no random numbers.
    pub fn random() -> io::Result<Self> {
        random_bytes().map(Self)
    }

    /// Parses what [`reveal`](Self::reveal) writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        from_hex(text).map(Self)
    }

    /// Returns the hash that identifies this secret. Nobody can invert it, because the secret has 256 random bits. A
    /// lookup by hash does not leak by its timing how much of a guess is right.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0).into()
    }

    /// Returns the secret itself, for its holder.
    #[must_use]
    pub fn reveal(&self) -> String {
        to_hex(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
