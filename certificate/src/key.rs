//! Keys that sign certificates.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use thiserror::Error;

use crate::fields::{from_hex, to_hex};

/// The file in a data directory that holds its private key.
const FILE: &str = "signing.key";

/// A private key. It is written to its own file and nowhere else.
pub struct Key(SigningKey);

/// The public half of a key: 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// A text that is no public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected a public key: 64 hexadecimal digits, as 'queens-coordinator key' prints them")]
pub struct InvalidKey;

/// Why there is no key.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The file can't be read or made.
    #[error("cannot use the key '{}': {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// There is a file, and what is in it is no key.
    #[error(
        "'{}' holds no key: expected 64 hexadecimal digits and nothing else; put the right file back, or remove it: then \
         another key is made, which nobody knows yet",
        .0.display()
    )]
    Damaged(PathBuf),
}

impl Key {
    /// The key of a data directory; makes it if there is none yet. Nobody but the owner may read its file.
    ///
    /// # Errors
    /// If it can't be read or made.
    pub fn of_directory(dir: &Path) -> Result<Self, KeyError> {
        let path = dir.join(FILE);
        let unusable =
            |error: io::Error| KeyError::Unusable { path: path.clone(), reason: error.to_string() };
        match fs::read_to_string(&path) {
            Ok(text) => {
                let seed = text.strip_suffix('\n').and_then(from_hex);
                let seed: [u8; 32] = seed.ok_or_else(|| KeyError::Damaged(path.clone()))?;
                Ok(Self(SigningKey::from_bytes(&seed)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = Self::random().map_err(unusable)?;
                match key.write(dir, &path) {
                    // Somebody else was faster: there is one key only.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::of_directory(dir),
                    written => written.map(|()| key).map_err(unusable),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(KeyError::Damaged(path)),
            Err(error) => Err(unusable(error)),
        }
    }

    /// A new key, which is kept nowhere.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn random() -> io::Result<Self> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(io::Error::other)?;
        Ok(Self(SigningKey::from_bytes(&seed)))
    }

    /// What others know it by.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }

    /// Writes the file under another name first, so that it is whole whenever it is there, and links it: that replaces
    /// nothing.
    fn write(&self, dir: &Path, path: &Path) -> io::Result<()> {
        let unfinished = dir.join(format!("{FILE}.{}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let made = options.open(&unfinished).and_then(|mut file| {
            file.write_all(format!("{}\n", to_hex(self.0.as_bytes())).as_bytes())?;
            file.sync_all()?;
            fs::hard_link(&unfinished, path)?;
            File::open(dir)?.sync_all()
        });
        _ = fs::remove_file(&unfinished);
        made
    }
}

impl fmt::Debug for Key {
    /// The public half alone: what is shown may be logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({}, and a private half)", self.public())
    }
}

impl PublicKey {
    pub(crate) fn from_bytes(bytes: &[u8; 32]) -> Result<Self, InvalidKey> {
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| InvalidKey)?;
        // Such a key accepts signatures of anything.
        if key.is_weak() { Err(InvalidKey) } else { Ok(Self(key)) }
    }

    /// Whether the owner of the private half has signed this.
    pub(crate) fn has_signed(self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(message, &Signature::from_bytes(signature)).is_ok()
    }
}

impl FromStr for PublicKey {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        from_hex(text).ok_or(InvalidKey).and_then(|bytes| Self::from_bytes(&bytes))
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(self.0.as_bytes()))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_key_that_its_owner_alone_can_read() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let key = Key::of_directory(dir.path()).expect("made");
        let again = Key::of_directory(dir.path()).expect("read");
        assert_eq!(key.public(), again.public());
        assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(dir.path().join(FILE)).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let private = fs::read_to_string(dir.path().join(FILE)).expect("readable");
        assert!(!format!("{key:?}").contains(private.trim()), "a private key is shown");
    }

    #[test]
    fn what_is_no_key_is_refused_and_stays() {
        for text in ["", "\n", "garbage\n", &"0".repeat(64), &("G".repeat(64) + "\n")] {
            let dir = tempfile::tempdir().expect("a temporary directory");
            fs::write(dir.path().join(FILE), text).expect("written");
            assert!(matches!(Key::of_directory(dir.path()), Err(KeyError::Damaged(_))), "{text:?}");
            assert_eq!(fs::read_to_string(dir.path().join(FILE)).expect("readable"), text);
        }
        assert!("x".parse::<PublicKey>().is_err());
        // A point of small order.
        assert!(format!("01{}", "0".repeat(62)).parse::<PublicKey>().is_err());
    }

    #[test]
    fn signatures_are_of_one_message_and_one_key() {
        let (key, other) = (Key::random().expect("random"), Key::random().expect("random"));
        let signature = key.sign(b"a");
        assert!(key.public().has_signed(b"a", &signature));
        assert!(!key.public().has_signed(b"b", &signature));
        assert!(!other.public().has_signed(b"a", &signature));
        assert_eq!(key.public().to_string().parse(), Ok(key.public()));
    }
}
