//! Expiry dates of TLS certificates.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use der::asn1::{AnyRef, GeneralizedTime, UtcTime};
use der::{Reader, SliceReader, Tag, TagNumber};
use rustls::pki_types::CertificateDer;

/// The first field of a certificate, which is optional.
const VERSION: Tag = Tag::ContextSpecific { constructed: true, number: TagNumber::N0 };

/// Returns when a TLS certificate expires; `None` if it can't be parsed.
#[must_use]
pub fn end_of(certificate: &CertificateDer<'_>) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(not_after(certificate).ok()?)
}

/// Returns the field `notAfter` of a certificate (RFC 5280, section 4.1), since 1970. The handshake has validated the
/// other fields.
fn not_after(certificate: &[u8]) -> der::Result<Duration> {
    let mut certificate = fields(&mut SliceReader::new(certificate)?)?;
    let mut body = fields(&mut certificate)?;
    if body.peek_tag()? == VERSION {
        body.tlv_bytes()?;
    }
    let _serial_number = body.tlv_bytes()?;
    let _signature = body.tlv_bytes()?;
    let _issuer = body.tlv_bytes()?;
    let mut validity = fields(&mut body)?;
    let _not_before = validity.tlv_bytes()?;
    match validity.peek_tag()? {
        Tag::UtcTime => Ok(validity.decode::<UtcTime>()?.to_unix_duration()),
        _ => Ok(validity.decode::<GeneralizedTime>()?.to_unix_duration()),
    }
}

/// Returns the fields of the next sequence.
fn fields<'a>(reader: &mut SliceReader<'a>) -> der::Result<SliceReader<'a>> {
    let sequence = reader.decode::<AnyRef<'a>>()?;
    SliceReader::new(sequence.value())
}

#[cfg(test)]
mod tests {
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
