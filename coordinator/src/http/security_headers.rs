//! Refuses requests for foreign hosts and from other sites' pages, and adds security headers to every response.
//!
//! Without authentication, anybody who reaches the port may do everything; with it, the bearer of a token may do what
//! the token permits. A user's browser can reach the port too, and it runs scripts of other sites. The server must not
//! mistake their requests for the user's.
//! - A page of another site can send a request, but can't read the response. To use the content type of JSON it must
//!   first ask (CORS), which is refused. The browser also sends the origin of a request.
//! - A page of another site can redirect its own name to this host after it was loaded (DNS rebinding), and then has
//!   the same origin. So requests must name this host by an address, or by a name that no stranger can own.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use percent_encoding::percent_decode_str;

use super::refusal::RequestRefusal;

/// Pages load everything from here, have no inline scripts or styles, and can't be framed by other sites.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Names of this host, besides its addresses.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    named: Arc<[String]>,
}

impl Hosts {
    pub(crate) fn named<const N: usize>(names: [Option<&str>; N]) -> Self {
        Self { named: names.into_iter().flatten().map(str::to_owned).collect() }
    }

    /// Returns whether no stranger can redirect this name to us. These are addresses, names without dots (absent from
    /// the public DNS), names reserved for the local network, and configured names.
    fn include(&self, host: &str) -> bool {
        let name = host.trim_end_matches('.').to_ascii_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']');
        address.parse::<IpAddr>().is_ok()
            || !name.contains('.')
            || [".localhost", ".local", ".internal", ".home.arpa"].iter().any(|end| name.ends_with(end))
            || self.named.iter().any(|known| name.eq_ignore_ascii_case(known))
    }
}

/// Middleware that passes a request to its handler, or refuses it.
pub(super) async fn check_request(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    match check(&hosts, &request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

fn check(hosts: &Hosts, request: &Request) -> Result<(), RequestRefusal> {
    // Monitoring uses all sorts of host names. These paths change nothing and reveal no secrets.
    if ["/healthz", "/readyz", "/metrics"].contains(&request.uri().path()) {
        return Ok(());
    }
    if percent_decode_str(request.uri().path()).decode_utf8().is_err() {
        return Err(RequestRefusal::bad_request("the path is not UTF-8"));
    }
    if request.headers().get_all(HOST).iter().count() > 1 {
        return Err(RequestRefusal::bad_request("the request says to two hosts"));
    }
    let host = text(request.headers(), &HOST).and_then(|host| host.parse::<Authority>().ok());
    let Some(host) = host.or_else(|| request.uri().authority().cloned()) else {
        return Err(RequestRefusal::bad_request("the request does not say to which host"));
    };
    if !hosts.include(host.host()) {
        return Err(RequestRefusal::new(
            StatusCode::MISDIRECTED_REQUEST,
            format!(
                "this coordinator does not know itself as '{}': use its address or the name of its machine, or \
                 start it with that name in --http or --url",
                host.host()
            ),
        ));
    }
    // A download of a certificate counts as an export.
    let is_export = request.uri().path().ends_with("/certificate");
    if matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) && !is_export {
        return Ok(());
    }
    let from_elsewhere = text(request.headers(), &SEC_FETCH_SITE)
        .is_some_and(|site| !matches!(site, "same-origin" | "none"))
        || request.headers().get(ORIGIN).is_some_and(|origin| !is_origin(origin, &host));
    if from_elsewhere {
        return Err(RequestRefusal::new(StatusCode::FORBIDDEN, "this was sent by a page of another site"));
    }
    Ok(())
}

/// Returns whether `origin` is the origin of `host`'s pages.
fn is_origin(origin: &HeaderValue, host: &Authority) -> bool {
    let origin = origin.to_str().unwrap_or_default();
    let of = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    of.is_some_and(|of| of.eq_ignore_ascii_case(host.as_str()))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Middleware that adds the security headers to every response.
pub(super) async fn secure(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Only a person's badge is for pages of other sites.
    let policy = HeaderName::from_static("cross-origin-resource-policy");
    headers.entry(policy).or_insert(HeaderValue::from_static("same-origin"));
    // One script may do more: see `pages`.
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    // Data is outdated after a second, and the pages of another version do not fit this one's API.
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_host(host: &str, expected: bool) {
        let hosts = Hosts::named([Some("127.0.0.1"), Some("queens.example.org")]);
        assert_eq!(hosts.include(host), expected, "{host}");
    }

    #[test]
    fn only_names_that_no_stranger_can_own_lead_here() {
        for host in ["127.0.0.1", "10.0.0.7", "[::1]", "localhost", "rack3", "a.localhost", "nas.local"] {
            check_host(host, true);
        }
        check_host("queens.example.org", true);
        check_host("QUEENS.example.org.", true);
        for host in ["example.org", "queens.example.org.evil.net", "127.0.0.1.evil.net", "local.net"] {
            check_host(host, false);
        }
    }
}
