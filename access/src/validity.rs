//! When TLS certificates end.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::pki_types::CertificateDer;
use x509_parser::parse_x509_certificate;

/// When a TLS certificate ends; `None` if it can't be read.
#[must_use]
pub fn end_of(certificate: &CertificateDer<'_>) -> Option<SystemTime> {
    let (_, parsed) = parse_x509_certificate(certificate).ok()?;
    let seconds = u64::try_from(parsed.validity().not_after.timestamp()).ok()?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}
