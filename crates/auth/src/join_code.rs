//! Join codes: secrets in links, by which strangers make themselves workers of a campaign.

use std::fmt;
use std::io;
use std::str::FromStr;

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::secret::random_bytes;

/// The letters of a code (Crockford's base 32): without those that look like another one.
const LETTERS: [u8; 32] = *b"0123456789abcdefghjkmnpqrstvwxyz";

/// The length of a code.
const N_LETTERS: usize = 26;

/// A secret of 130 random bits in 26 letters and digits. Only [`secret`](Self::secret) reveals it.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinCode(String);

/// A text that is no join code. The error omits the text, which may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "expected a join code as 'queens-coordinator campaign open' prints it: {N_LETTERS} letters and digits"
)]
pub struct InvalidJoinCode;

impl JoinCode {
    /// Draws a new code.
    ///
    /// # Errors
    /// If the system provides no random numbers.
    pub fn random() -> io::Result<Self> {
        let bytes = random_bytes::<N_LETTERS>()?;
        Ok(Self(bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect()))
    }

    /// Returns the hash that identifies this code. Nobody can invert it, because a code has 130 random bits. A lookup
    /// by hash does not leak by its timing how much of a guess is right.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(&self.0).into()
    }

    /// Returns the code itself, for its holders.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl FromStr for JoinCode {
    type Err = InvalidJoinCode;

    fn from_str(text: &str) -> Result<Self, InvalidJoinCode> {
        if text.len() != N_LETTERS {
            return Err(InvalidJoinCode);
        }
        let text = text.to_ascii_lowercase();
        if text.bytes().all(|byte| LETTERS.contains(&byte)) { Ok(Self(text)) } else { Err(InvalidJoinCode) }
    }
}

impl fmt::Debug for JoinCode {
    /// Omits the secret, because debug output may be logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JoinCode")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_known_by_its_hash_and_shown_by_nothing_else() {
        let [code, other] = [(); 2].map(|()| JoinCode::random().expect("random"));
        assert_ne!(code, other);
        let typed: JoinCode = code.secret().to_uppercase().parse().expect("a code");
        assert_eq!((typed.secret(), typed.hash()), (code.secret(), code.hash()));
        assert_ne!(code.hash(), other.hash());
        assert!(!format!("{code:?}").contains(code.secret()));
    }

    #[test]
    fn what_is_no_code_is_refused() {
        let code = JoinCode::random().expect("random");
        let short = &code.secret()[1..];
        for text in [
            "",
            short,
            &format!("{short}i"),
            &format!("{short}é"),
            &format!("{short}-"),
            &"0".repeat(1 << 20),
        ] {
            assert_eq!(text.parse::<JoinCode>(), Err(InvalidJoinCode));
        }
    }
}
