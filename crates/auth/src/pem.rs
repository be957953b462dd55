//! Reads keys and TLS certificates from PEM files.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use queens_platform::open_regular_file;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;

/// The largest accepted file: a bundle of all public CA certificates has a quarter of this size.
const LARGEST: u64 = 1 << 20;

/// Errors in TLS files. They reveal nothing of the contents.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The file can't be read.
    #[error("cannot read '{}': {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file holds something else.
    #[error("'{}' holds no {expected} in the form of PEM", path.display())]
    NotThere {
        /// The file.
        path: PathBuf,
        /// The expected content.
        expected: &'static str,
    },
    /// The contents can't be used, or do not go together.
    #[error("cannot use '{}': {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

/// Reads a file of limited size.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    open_regular_file(path)
        .and_then(whole)
        .map_err(|error| TlsError::Unreadable { path: path.to_owned(), error })
}

/// Reads an open file of limited size.
pub(crate) fn whole(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it has more than a mebibyte"));
    }
    Ok(bytes)
}

/// Returns the TLS certificates in a file, at least one.
pub(crate) fn chain(path: &Path, bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(bytes).collect();
    let chain = found.map_err(|error| unusable(path, error))?;
    if chain.is_empty() { Err(not_there(path, "TLS certificate")) } else { Ok(chain) }
}

/// Returns the private key in a file.
pub(crate) fn key(path: &Path, bytes: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(bytes).map_err(|_| not_there(path, "private key"))
}

/// Returns the CA certificates in a file. The caller trusts all of them.
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
