//! Tokens of invitations, and their salted hashes.

use std::fmt;
use std::io;
use std::str::FromStr;

use queens_model::hex::{from_hex, to_hex};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use thiserror::Error;

use crate::secret::random_bytes;

/// The prefix of every token, by which people and secret scanners recognise it.
const PREFIX: &str = "queens_";

/// The longest possible token.
const LONGEST: usize = PREFIX.len() + 20 + 1 + 64;

/// A secret of 256 random bits with the number of its invitation. Only [`secret`](Self::secret) reveals it.
#[derive(Clone)]
pub struct Token {
    invitation: u64,
    secret: String,
}

/// A text that is no token. The error omits the text, which may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "expected a token as 'queens-coordinator invite' prints it or writes it to --token-file: queens_, a number, _ and 64 hexadecimal digits"
)]
pub struct InvalidToken;

/// A salt, and the SHA-256 of salt and token. Nobody can invert it however fast their hardware is, because a token has
/// 256 random bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenHash {
    /// The salt.
    pub salt: [u8; 16],
    /// The hash.
    pub hash: [u8; 32],
}

impl Token {
    /// Draws a new token for the invitation of this number.
    ///
    /// # Errors
    /// If the system provides no random numbers.
    pub fn random(invitation: u64) -> io::Result<Self> {
        let digits = to_hex(&random_bytes::<32>()?);
        Ok(Self { invitation, secret: format!("{PREFIX}{invitation}_{digits}") })
    }

    /// Returns the number of the invitation in this token.
    #[must_use]
    pub fn invitation(&self) -> u64 {
        self.invitation
    }

    /// Returns the token itself, for its owner.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.secret
    }
}

impl FromStr for Token {
    type Err = InvalidToken;

    fn from_str(text: &str) -> Result<Self, InvalidToken> {
        let parts =
            Some(text).filter(|text| text.len() <= LONGEST).and_then(|text| text.strip_prefix(PREFIX));
        let (number, digits) = parts.and_then(|parts| parts.split_once('_')).ok_or(InvalidToken)?;
        from_hex::<32>(digits).ok_or(InvalidToken)?;
        let invitation: u64 = number.parse().map_err(|_| InvalidToken)?;
        // A number has only one valid notation, so a token has only one, too.
        let secret = format!("{PREFIX}{invitation}_{}", digits.to_ascii_lowercase());
        if secret == text { Ok(Self { invitation, secret }) } else { Err(InvalidToken) }
    }
}

impl fmt::Debug for Token {
    /// Omits the secret, because debug output may be logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token(of invitation {})", self.invitation)
    }
}

impl TokenHash {
    /// Hashes a token with a random salt.
    ///
    /// # Errors
    /// If the system provides no random numbers.
    pub fn of(token: &Token) -> io::Result<Self> {
        let salt = random_bytes()?;
        Ok(Self { salt, hash: hash(&salt, token) })
    }

    /// Returns whether a token has this hash. The comparison takes constant time.
    #[must_use]
    pub fn is_of(&self, token: &Token) -> bool {
        self.hash.ct_eq(&hash(&self.salt, token)).into()
    }
}

fn hash(salt: &[u8; 16], token: &Token) -> [u8; 32] {
    Sha256::new().chain_update(salt).chain_update(&token.secret).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_hash_and_shown_by_nothing_else() {
        let (token, other) = (Token::random(12).expect("random"), Token::random(12).expect("random"));
        let read: Token = token.secret().parse().expect("a token");
        assert_eq!((read.invitation(), read.secret()), (12, token.secret()));
        let hash = TokenHash::of(&token).expect("random");
        assert!(hash.is_of(&read) && !hash.is_of(&other));
        assert_ne!(hash, TokenHash::of(&token).expect("random"), "salted");
        let digits = token.secret().rsplit('_').next().expect("digits");
        assert!(!format!("{token:?} {hash:?}").contains(digits));
    }

    #[test]
    fn what_is_no_token_is_refused_and_not_repeated() {
        let token = Token::random(7).expect("random");
        let secret = token.secret();
        let texts = [
            String::new(),
            "queens_".to_owned(),
            "queens_7_".to_owned(),
            secret.to_uppercase(),
            secret.replace("queens_7", "queens_07"),
            secret.replace("queens_7", "queens_+7"),
            secret.replace("queens_7", "queens_99999999999999999999"),
            format!("{secret}0"),
            format!("{secret} "),
            secret[..secret.len() - 1].to_owned(),
            format!("{}é", &secret[..secret.len() - 2]),
            "x".repeat(1 << 20),
        ];
        for text in texts {
            let refused = text.parse::<Token>().expect_err("no token");
            assert!(!refused.to_string().contains("queens_7"), "{refused}");
        }
    }
}
