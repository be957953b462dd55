//! Keeps rendered public pages, so that a reader costs a look-up.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use axum::body::Bytes;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// How long browsers and proxies may keep a page.
const CACHED: HeaderValue = HeaderValue::from_static("public, max-age=60");

/// The most pages that are kept, and their bytes. Beyond them, all are rendered again.
const MOST_PAGES: usize = 2000;
const MOST_BYTES: usize = 16 << 20;

/// A rendered page.
#[derive(Clone, Debug)]
pub(super) struct RenderedPage {
    kind: &'static str,
    tag: HeaderValue,
    body: Bytes,
}

impl RenderedPage {
    pub(super) fn new(kind: &'static str, body: String) -> Self {
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        let tag = HeaderValue::from_str(&format!("\"{:016x}\"", hasher.finish()));
        // Quotes and digits are a header.
        let tag = tag.unwrap_or_else(|_| HeaderValue::from_static("\"\""));
        Self { kind, tag, body: body.into() }
    }

    /// Returns the answer to a request: the page, or that the sender has it already.
    pub(super) fn answer(self, headers: &HeaderMap) -> Response {
        let known = headers.get(IF_NONE_MATCH).and_then(|known| known.to_str().ok()).unwrap_or_default();
        let is_tag =
            |known: &str| known == "*" || known.trim_start_matches("W/").as_bytes() == self.tag.as_bytes();
        let is_known = known.split(',').any(|known| is_tag(known.trim()));
        let cached = [(CACHE_CONTROL, CACHED), (ETAG, self.tag)];
        if is_known {
            return (StatusCode::NOT_MODIFIED, cached).into_response();
        }
        (cached, [(CONTENT_TYPE, HeaderValue::from_static(self.kind))], self.body).into_response()
    }
}

/// The rendered pages of one ranking.
#[derive(Debug, Default)]
pub(super) struct RenderedPages(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// When the ranking was made that they show.
    made: Option<Instant>,
    pages: HashMap<String, RenderedPage>,
    n_bytes: usize,
}

impl RenderedPages {
    /// Returns the page of a key in the ranking that was made at a time. Renders it at most once, unless there are too
    /// many; `None` if there is nothing to render.
    pub(super) fn page(
        &self,
        made: Instant,
        key: &str,
        render: impl FnOnce() -> Option<RenderedPage>,
    ) -> Option<RenderedPage> {
        if let Some(page) = self.of(made).pages.get(key) {
            return Some(page.clone());
        }
        // Not under the lock: others read meanwhile.
        let page = render()?;
        let mut kept = self.of(made);
        if kept.pages.len() >= MOST_PAGES || kept.n_bytes + page.body.len() > MOST_BYTES {
            (kept.pages, kept.n_bytes) = (HashMap::new(), 0);
        }
        kept.n_bytes += key.len() + page.body.len();
        kept.pages.insert(key.to_owned(), page.clone());
        Some(page)
    }

    fn of(&self, made: Instant) -> MutexGuard<'_, Kept> {
        let mut kept = self.0.lock();
        if kept.made != Some(made) {
            *kept = Kept { made: Some(made), ..Kept::default() };
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(body: &str) -> RenderedPage {
        RenderedPage::new("text/html", body.to_owned())
    }

    #[test]
    fn a_page_is_rendered_once_for_a_ranking() {
        let (pages, now) = (RenderedPages::default(), Instant::now());
        let body =
            |made, key: &str, new: &str| pages.page(made, key, || Some(page(new))).expect("a page").body;
        assert_eq!(body(now, "/a", "1"), "1");
        assert_eq!(body(now, "/a", "2"), "1");
        assert_eq!(body(now, "/b", "2"), "2");
        assert_eq!(body(now + std::time::Duration::from_secs(1), "/a", "3"), "3");
        assert!(pages.page(now, "/none", || None).is_none());
        for number in 0..2 * MOST_PAGES {
            body(now, &number.to_string(), "x");
        }
        assert!(pages.of(now).pages.len() <= MOST_PAGES);
        let large = "x".repeat(MOST_BYTES / 3);
        for number in 0..9 {
            body(now, &format!("large {number}"), &large);
        }
        assert!(pages.of(now).pages.len() <= 3);
    }

    #[test]
    fn a_known_page_is_not_sent_again() {
        let check = |known: Option<&str>, expected: StatusCode| {
            let mut headers = HeaderMap::new();
            if let Some(known) = known {
                headers.insert(IF_NONE_MATCH, HeaderValue::from_str(known).expect("a header"));
            }
            let answer = page("1").answer(&headers);
            assert_eq!(answer.status(), expected, "{known:?}");
            assert_eq!(answer.headers()[CACHE_CONTROL], CACHED);
        };
        let tag = page("1").tag.to_str().expect("text").to_owned();
        check(None, StatusCode::OK);
        check(Some("\"0\""), StatusCode::OK);
        check(Some(&tag), StatusCode::NOT_MODIFIED);
        check(Some(&format!("\"0\", W/{tag}")), StatusCode::NOT_MODIFIED);
        check(Some("*"), StatusCode::NOT_MODIFIED);
    }
}
