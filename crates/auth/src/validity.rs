//! Expiry dates of TLS certificates.

use std::time::{SystemTime, UNIX_EPOCH};

use rustls::pki_types::CertificateDer;
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// Returns when a TLS certificate expires; `None` if it can't be parsed.
#[must_use]
pub fn end_of(certificate: &CertificateDer<'_>) -> Option<SystemTime> {
    let certificate = Certificate::from_der(certificate).ok()?;
    UNIX_EPOCH.checked_add(certificate.tbs_certificate.validity.not_after.to_unix_duration())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    #[track_caller]
    fn check(year: i32, since_1970_s: u64) {
        let mut params = CertificateParams::new(["queens.example".to_owned()]).expect("a name");
        params.not_after = date_time_ymd(year, 1, 2);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        let end = UNIX_EPOCH + Duration::from_secs(since_1970_s);
        assert_eq!(end_of(certificate.der()), Some(end), "{year}");
        // A truncated certificate has no expiry.
        for length in 0..certificate.der().len() {
            let part = CertificateDer::from(&certificate.der()[..length]);
            assert_eq!(end_of(&part), None, "{year}, {length} bytes");
        }
    }

    #[test]
    fn the_end_is_read_in_both_forms() {
        check(2030, 1_893_542_400);
        check(2049, 2_493_158_400);
        check(2050, 2_524_694_400);
        check(4096, 67_090_204_800);
    }
}
