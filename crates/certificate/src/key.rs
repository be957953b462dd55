//! Keys that sign certificates.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ed25519_dalek::pkcs8::EncodePublicKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use queens_model::hex::{from_hex, to_hex};
use queens_platform::{Exposure, Readers, exposure, new_private_file, sync_directory};
use thiserror::Error;

/// The file in a data directory that holds its private key.
const FILE: &str = "signing.key";

/// The maximum number of bytes to read from the file: more than a key has.
const LONGEST: u64 = 100;

/// A private key. It is written only to its own file.
pub struct Key(SigningKey);

/// The public half of a key: 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// The text is no public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected a public key: 64 hexadecimal digits, as 'queens-coordinator key' prints them")]
pub struct InvalidKey;

/// Why a key is unavailable.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The file can't be read or created.
    #[error("cannot use the key '{}': {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The system's error message.
        reason: String,
    },
    /// The file holds no key.
    #[error(
        "'{}' holds no key: expected 64 hexadecimal digits and nothing else; put the right file back, or remove it: then \
         another key is made, which nobody knows yet",
        .0.display()
    )]
    Damaged(PathBuf),
    /// The path is a link, a pipe or a device, but no regular file.
    #[error("'{}' is no regular file: put the key itself there, not a link to it", .0.display())]
    NoFile(PathBuf),
    /// Other users than the owner may access the file.
    #[error(
        "other users may read or write the key '{}', which has {}: '{}' mends that; whoever has read the key can sign as \
         this directory, so remove it if somebody may have read it, and another is made",
        path.display(), exposure.cause, exposure.remedy
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// Why they may.
        exposure: Exposure,
    },
    /// The directory already has another key.
    #[error("'{}' is another key, with which certificates were signed: nothing is changed", .0.display())]
    Another(PathBuf),
}

impl Key {
    /// Returns whether a directory has a key, which may be damaged.
    #[must_use]
    pub fn is_in(dir: &Path) -> bool {
        dir.join(FILE).symlink_metadata().is_ok()
    }

    /// [Adopts](Self::adopt) the key of another directory, if that has one.
    ///
    /// # Errors
    /// See [`adopt`](Self::adopt).
    pub fn adopt_of(dir: &Path, other: &Path) -> Result<Option<Self>, KeyError> {
        Self::is_in(other).then(|| Self::adopt(dir, &other.join(FILE))).transpose()
    }

    /// Returns the key of a data directory; creates it if there is none. Only the owner may read its file.
    ///
    /// # Errors
    /// If it can't be read or created.
    pub fn of_directory(dir: &Path) -> Result<Self, KeyError> {
        let path = dir.join(FILE);
        let unusable =
            |error: io::Error| KeyError::Unusable { path: path.clone(), reason: error.to_string() };
        if let Some(key) = Self::read(&path)? {
            return Ok(key);
        }
        let key = Self::random().map_err(unusable)?;
        match key.write(dir, &path) {
            // Another process was faster: there is only one key.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::read(&path)?
                .ok_or_else(|| unusable(io::Error::other("another process creates and removes it"))),
            written => written.map(|()| key).map_err(unusable),
        }
    }

    /// Copies the key in a file to a data directory, so that several coordinators sign with one key. Creates the
    /// directory if needed. The file may be a link and readable by a group, like a container engine's secrets.
    ///
    /// # Errors
    /// If the file holds no key, everybody may use it, or the directory has another key, which stays.
    pub fn adopt(dir: &Path, file: &Path) -> Result<Self, KeyError> {
        let unusable =
            |error: io::Error| KeyError::Unusable { path: file.to_owned(), reason: error.to_string() };
        let key = Self::of_file(file, &file.metadata().map_err(unusable)?, Readers::Named)?;
        let path = dir.join(FILE);
        let written = fs::create_dir_all(dir).and_then(|()| key.write(dir, &path));
        match written {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let own = Self::of_directory(dir)?;
                if own.0 == key.0 { Ok(own) } else { Err(KeyError::Another(path)) }
            }
            Err(error) => Err(KeyError::Unusable { path, reason: error.to_string() }),
            Ok(()) => Ok(key),
        }
    }

    /// Reads the key in a directory's file, if there is one. Anything but a private regular file is refused before it
    /// is opened.
    fn read(path: &Path) -> Result<Option<Self>, KeyError> {
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(KeyError::Unusable { path: path.to_owned(), reason: error.to_string() }),
            Ok(found) => Self::of_file(path, &found, Readers::Owner).map(Some),
        }
    }

    /// Reads a key from a file to which nobody but `readers` has access.
    fn of_file(path: &Path, found: &Metadata, readers: Readers) -> Result<Self, KeyError> {
        let unusable =
            |error: io::Error| KeyError::Unusable { path: path.to_owned(), reason: error.to_string() };
        if !found.is_file() {
            return Err(KeyError::NoFile(path.to_owned()));
        }
        if let Some(exposure) = exposure(path, found, readers).map_err(unusable)? {
            return Err(KeyError::Open { path: path.to_owned(), exposure });
        }
        let mut text = Vec::new();
        File::open(path).and_then(|file| file.take(LONGEST).read_to_end(&mut text)).map_err(unusable)?;
        let text = str::from_utf8(&text).ok().and_then(|text| text.strip_suffix('\n'));
        let seed: Option<[u8; 32]> = text.and_then(from_hex);
        let seed = seed.ok_or_else(|| KeyError::Damaged(path.to_owned()))?;
        Ok(Self(SigningKey::from_bytes(&seed)))
    }

    /// Creates a new key, which is not stored.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn random() -> io::Result<Self> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(io::Error::other)?;
        Ok(Self(SigningKey::from_bytes(&seed)))
    }

    /// Returns the public half.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs a list of SHA-256 sums, as sha256sum writes it, and nothing else. So nobody can be made to sign a
    /// certificate that way. The signature is plain Ed25519 (RFC 8032) of the list. `None` if it is no such list.
    #[must_use]
    pub fn sign_sums(&self, list: &[u8]) -> Option<[u8; 64]> {
        let lines = str::from_utf8(list).ok()?.strip_suffix('\n')?;
        let is_sum = |line: &str| {
            let parts = line.split_at_checked(64);
            parts.is_some_and(|(sum, name)| {
                sum.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
                    && name
                        .strip_prefix("  ")
                        .or_else(|| name.strip_prefix(" *"))
                        .is_some_and(|name| !name.is_empty())
            })
        };
        lines.split('\n').all(is_sum).then(|| self.sign(list))
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }

    /// Writes the file under another name first, so that it is always complete, and then links it, which replaces
    /// nothing.
    fn write(&self, dir: &Path, path: &Path) -> io::Result<()> {
        let unfinished = dir.join(format!("{FILE}.{}", std::process::id()));
        let made = new_private_file(&unfinished).and_then(|mut file| {
            file.write_all(format!("{}\n", to_hex(self.0.as_bytes())).as_bytes())?;
            file.sync_all()?;
            fs::hard_link(&unfinished, path)?;
            sync_directory(dir)
        });
        _ = fs::remove_file(&unfinished);
        made
    }
}

impl fmt::Debug for Key {
    /// Shows only the public half, because debug output may be logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({}, and a private half)", self.public())
    }
}

impl PublicKey {
    /// Returns the key as OpenSSL and others read it: SubjectPublicKeyInfo in PEM (RFC 8410).
    #[must_use]
    pub fn pem(self) -> String {
        // Only an invalid label could fail, and this one is valid.
        self.0.to_public_key_pem(LineEnding::LF).unwrap_or_default()
    }

    pub(crate) fn from_bytes(bytes: &[u8; 32]) -> Result<Self, InvalidKey> {
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| InvalidKey)?;
        // A weak key accepts signatures of any message.
        if key.is_weak() { Err(InvalidKey) } else { Ok(Self(key)) }
    }

    /// Returns whether the owner of the private half has signed this message.
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

    #[cfg(unix)]
    fn set_mode(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it can be set");
    }

    #[test]
    #[cfg(unix)]
    fn what_is_no_file_of_the_owners_alone_is_refused_with_what_to_do() {
        use std::os::unix::fs::symlink;

        let refused = |make: &dyn Fn(&Path)| {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let path = dir.path().join(FILE);
            make(&path);
            let said = Key::of_directory(dir.path()).expect_err("refused").to_string();
            assert!(path.symlink_metadata().is_ok(), "it stays");
            said
        };
        for target in ["/nowhere/at/all", "/dev/zero"] {
            let said = refused(&|path| symlink(target, path).expect("a link"));
            assert!(said.contains("no regular file"), "{said}");
        }
        // Opening a pipe without a writer would wait for ever.
        let said = refused(&|path| {
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.expect("mkfifo runs").success());
        });
        assert!(said.contains("no regular file"), "{said}");
        for mode in [0o644, 0o640, 0o620] {
            let said = refused(&|path| {
                Key::of_directory(path.parent().expect("a directory")).expect("made");
                set_mode(path, mode);
            });
            assert!(said.contains(&format!("mode {mode:o}")) && said.contains("chmod 600"), "{said}");
        }
        // A file that is larger than memory.
        let said = refused(&|path| {
            File::create(path).and_then(|file| file.set_len(1 << 40)).expect("a file with a hole");
            set_mode(path, 0o600);
        });
        assert!(said.contains("holds no key"), "{said}");
    }

    #[test]
    #[cfg(unix)]
    fn several_directories_have_the_key_of_one() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let [one, other] = ["one", "other"].map(|name| dir.path().join(name));
        fs::create_dir(&one).expect("a directory");
        let key = Key::of_directory(&one).expect("made");
        // As a container engine provides it.
        let (file, link) = (one.join(FILE), dir.path().join("link"));
        set_mode(&file, 0o440);
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        for _ in 0..2 {
            assert_eq!(Key::adopt(&other, &link).expect("adopted").public(), key.public());
            assert_eq!(Key::of_directory(&other).expect("its own").public(), key.public());
        }
        set_mode(&file, 0o444);
        assert!(matches!(Key::adopt(&other, &link), Err(KeyError::Open { .. })));
        assert!(matches!(Key::adopt(&other, &dir.path().join("nothing")), Err(KeyError::Unusable { .. })));
        assert!(matches!(Key::adopt(&other, dir.path()), Err(KeyError::NoFile(_))));
        let another = dir.path().join("another");
        fs::create_dir(&another).expect("a directory");
        let own = Key::of_directory(&another).expect("made");
        set_mode(&file, 0o600);
        assert!(matches!(Key::adopt(&another, &file), Err(KeyError::Another(_))));
        assert_eq!(Key::of_directory(&another).expect("it stays").public(), own.public());
    }

    #[test]
    fn what_is_no_key_is_refused_and_stays() {
        for text in ["", "\n", "garbage\n", &"0".repeat(64), &("G".repeat(64) + "\n")] {
            let dir = tempfile::tempdir().expect("a temporary directory");
            fs::write(dir.path().join(FILE), text).expect("written");
            #[cfg(unix)]
            set_mode(&dir.path().join(FILE), 0o600);
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

    #[test]
    fn lists_of_sums_are_signed_and_nothing_else() {
        let key = Key::random().expect("random");
        let sum = "0123456789abcdef".repeat(4);
        let list = format!("{sum}  a.tar.gz\n{sum} *b.deb\n");
        let signature = key.sign_sums(list.as_bytes()).expect("a list");
        assert!(key.public().has_signed(list.as_bytes(), &signature));
        for other in [
            String::new(),
            "\n".to_owned(),
            format!("{sum}  a.tar.gz"),
            format!("{sum}  \n"),
            format!("{sum} a\n"),
            format!("{list}\n"),
            format!("{list}part\t1\n"),
            format!("{}  a\n", sum.to_uppercase()),
            format!("{}\u{e9}  a\n", &sum[1..]),
        ] {
            assert!(key.sign_sums(other.as_bytes()).is_none(), "{other:?}");
        }
    }
}
