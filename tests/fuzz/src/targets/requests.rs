//! Fuzzes HTTP requests to the pages: paths, queries, headers and JSON bodies.

mod coordinator;

use std::cell::RefCell;

use axum::body::{Body, to_bytes};
use axum::http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, EXPECT, HOST, TRANSFER_ENCODING,
    UPGRADE,
};
use axum::http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use serde_json::Value;

use self::coordinator::FedCoordinator;
use crate::outcome::Outcome;

/// The longest answer; pages and the API's description are the longest.
const LONGEST_ANSWER: usize = 1 << 20;

/// The largest submitted board: the plan of a large one takes longer than any input may, on threads that outlive it.
const MOST_SUBMITTED: u64 = 10;

/// The path with an endless answer.
const ENDLESS: &str = "/api/v1/live";

/// Headers that the client sets by itself.
const BY_ITSELF: [HeaderName; 5] = [CONNECTION, CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING, UPGRADE];

thread_local! {
    static COORDINATOR: RefCell<Option<FedCoordinator>> = const { RefCell::new(None) };
}

/// Parses the input as a request: method and path in the first line, then headers, an empty line, and the body. It adds
/// missing headers `Host` and `Content-Type`. Each request reaches a coordinator in its initial state.
pub(crate) fn run(input: &[u8]) -> Outcome {
    let Some(request) = request(input) else { return Outcome::Refused };
    let (path, is_safe) = (request.uri().path().to_owned(), request.method().is_safe());
    let is_head = request.method() == Method::HEAD;
    COORDINATOR.with_borrow_mut(|kept| {
        let mut coordinator = kept.take().unwrap_or_else(FedCoordinator::start);
        let n_writes = coordinator.n_writes();
        let response = coordinator.ask(request, async |response| read(response, &path, is_head).await);
        let Some((status, has_ended)) = response else { return Outcome::Refused };
        let is_accepted = status.is_success();
        let has_written = coordinator.n_writes() != n_writes;
        assert!(is_accepted || !has_written, "{status}, and something was written");
        assert!(!is_safe || !has_written, "a request to read has written something");
        if !has_written && has_ended {
            *kept = Some(coordinator);
        }
        Outcome::of(is_accepted)
    })
}

/// Returns the status, and whether the answer ended, so that the connection can be reused.
async fn read(response: Response<Body>, path: &str, is_head: bool) -> (StatusCode, bool) {
    let (head, body) = response.into_parts();
    let (status, headers) = (head.status, head.headers);
    // The HTTP library itself answers unreadable requests.
    let is_ours = headers.contains_key(CONTENT_SECURITY_POLICY);
    assert!(is_ours || status.is_client_error(), "{status} from the server itself");
    assert!(!status.is_server_error(), "{status}");
    if path == ENDLESS {
        return (status, false);
    }
    let body = to_bytes(body, LONGEST_ANSWER).await.expect("it ends, and is not too long");
    let is_json = headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    // An answer to HEAD has no body.
    if is_json && !is_head {
        let json: Value = serde_json::from_slice(&body).unwrap_or_else(|error| panic!("{error}"));
        let why = json.get("error").and_then(Value::as_str);
        assert_eq!(why.is_none_or(str::is_empty), status.is_success(), "{status}: {json}");
    }
    (status, true)
}

/// Builds a request that a client can send.
fn request(input: &[u8]) -> Option<Request<Body>> {
    let mut rest = input;
    let mut line = || {
        let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        rest = after.get(1..).unwrap_or_default();
        line
    };
    let first = line();
    let space = first.iter().position(|&byte| byte == b' ')?;
    let method = Method::from_bytes(&first[..space]).ok().filter(|method| *method != Method::CONNECT)?;
    let uri = Uri::try_from(&first[space + 1..]).ok().filter(|uri| uri.path().starts_with('/'))?;
    let mut request = Request::builder().method(method).uri(uri).body(()).ok()?;
    let headers = request.headers_mut();
    loop {
        let line = line();
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { break };
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
        if !BY_ITSELF.contains(&name) {
            headers.append(name, value);
        }
    }
    headers.entry(HOST).or_insert(HeaderValue::from_static("localhost"));
    headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
    let is_large = |n: u64| n > MOST_SUBMITTED;
    let json: Option<Value> = serde_json::from_slice(rest).ok();
    if json.and_then(|json| json.get("n").and_then(Value::as_u64)).is_some_and(is_large) {
        return None;
    }
    Some(request.map(|()| Body::from(rest.to_vec())))
}
