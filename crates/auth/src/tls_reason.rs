//! Words errors of TLS for people.

/// Returns the reason of a failed connection without the terms of the TLS library, and without links into its manual.
#[must_use]
pub fn tls_reason(reason: &str) -> &str {
    if reason.starts_with("received corrupt message") {
        "the other end does not speak TLS: one uses http://, the other https://"
    } else if reason.starts_with("peer closed connection without sending TLS close_notify") {
        "the other end hung up"
    } else {
        reason
    }
}
