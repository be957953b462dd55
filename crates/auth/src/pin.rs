//! Pins: hashes of public keys, which identify a peer independently of its certificate's issuer.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use queens_model::hex::{from_hex, to_hex};
use rustls::pki_types::CertificateDer;
use rustls::server::ParsedCertificate;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::pem::{self, TlsError, unusable};

/// The prefix of every pin.
const PREFIX: &str = "sha256:";

/// The SHA-256 of a server's or client's public key, with its algorithm as in TLS certificates (SubjectPublicKeyInfo).
/// It stays the same when a TLS certificate is renewed with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pin([u8; 32]);

/// A text that is no pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected a pin as 'queens-coordinator invite' prints it: sha256: and 64 hexadecimal digits")]
pub struct InvalidPin;

impl Pin {
    /// Returns the pin of the first TLS certificate in a file (PEM).
    ///
    /// # Errors
    /// If the file holds none that can be parsed.
    pub fn of_file(path: &Path) -> Result<Self, TlsError> {
        let chain = pem::chain(path, &pem::read(path)?)?;
        chain.first().and_then(Self::of).ok_or_else(|| unusable(path, "its TLS certificate can't be read"))
    }

    /// Returns the pin of the key in a TLS certificate; `None` if it can't be parsed.
    #[must_use]
    pub fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let parsed = ParsedCertificate::try_from(certificate).ok()?;
        Some(Self(Sha256::digest(parsed.subject_public_key_info()).into()))
    }
}

impl FromStr for Pin {
    type Err = InvalidPin;

    fn from_str(text: &str) -> Result<Self, InvalidPin> {
        let digits = text.strip_prefix(PREFIX).map(str::to_ascii_lowercase);
        digits.and_then(|digits| from_hex(&digits)).map(Self).ok_or(InvalidPin)
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", to_hex(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_that_of_the_key_and_not_of_its_certificate() {
        let key = rcgen::KeyPair::generate().expect("a key");
        let signed = |name: &str| {
            let params = rcgen::CertificateParams::new([name.to_owned()]).expect("a name");
            Pin::of(params.self_signed(&key).expect("signed").der()).expect("readable")
        };
        let pin = signed("one");
        assert_eq!(pin, signed("other"));
        assert_eq!(pin.to_string().parse(), Ok(pin));
        let (prefix, digits) = (PREFIX, &pin.to_string()[PREFIX.len()..]);
        assert_eq!(format!("{prefix}{}", digits.to_ascii_uppercase()).parse(), Ok(pin));
        let other = rcgen::generate_simple_self_signed(["one".to_owned()]).expect("signed");
        assert_ne!(Some(pin), Pin::of(other.cert.der()));
        assert_eq!(Pin::of(&CertificateDer::from_slice(b"nonsense")), None);
        for text in ["", "sha256:", "sha256:12", "12"] {
            assert_eq!(text.parse::<Pin>(), Err(InvalidPin));
        }
    }
}
