//! Files of keys and TLS certificates.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;

use crate::regular_file::open_regular_file;

/// The largest file that is read: bundles of all authorities of the world have a quarter of that.
const LARGEST: u64 = 1 << 20;

/// What is wrong with the files that TLS needs. Nothing of what is in them is told.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file can't be read.
    #[error("cannot read '{}': {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// There is something else in a file.
    #[error("'{}' holds no {expected} in the form of PEM", path.display())]
    NotThere {
        /// The file.
        path: PathBuf,
        /// What should be in it.
        expected: &'static str,
    },
    /// What is in the files can't be used, or does not go together.
    #[error("cannot use '{}': {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// The whole of a file that is not too large.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    open_regular_file(path)
        .and_then(whole)
        .map_err(|error| TlsError::Unreadable { path: path.to_owned(), error })
}

/// The same of an open file.
pub(crate) fn whole(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it has more than a mebibyte"));
    }
    Ok(bytes)
}

/// The TLS certificates in a file, at least one.
pub(crate) fn chain(path: &Path, bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(bytes).collect();
    let chain = found.map_err(|error| unusable(path, error))?;
    if chain.is_empty() { Err(not_there(path, "TLS certificate")) } else { Ok(chain) }
}

/// The private key in a file.
pub(crate) fn key(path: &Path, bytes: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(bytes).map_err(|_| not_there(path, "private key"))
}

/// The authorities in a file, all of which are trusted.
pub(crate) fn authorities(path: &Path, bytes: &[u8]) -> Result<RootCertStore, TlsError> {
    let mut trusted = RootCertStore::empty();
    for authority in chain(path, bytes)? {
        trusted.add(authority).map_err(|error| unusable(path, error))?;
    }
    Ok(trusted)
}

pub(crate) fn unusable(path: &Path, reason: impl ToString) -> TlsError {
    TlsError::Unusable { path: path.to_owned(), reason: reason.to_string() }
}

fn not_there(path: &Path, expected: &'static str) -> TlsError {
    TlsError::NotThere { path: path.to_owned(), expected }
}
