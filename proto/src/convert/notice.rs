//! Conversions of what a coordinator tells the person who runs a worker.

use queens_model::Notice;

use super::check::one_line;
use crate::pb;

impl From<Notice> for pb::Notice {
    fn from(notice: Notice) -> Self {
        let url = notice.url.map(|url| url.to_string()).unwrap_or_default();
        Self { text: one_line(&notice.text), url, is_reason_to_wait: notice.is_reason_to_wait }
    }
}

impl From<pb::Notice> for Notice {
    /// Drops a URL that can't be shown: the text is worth it without.
    fn from(notice: pb::Notice) -> Self {
        let pb::Notice { text, url, is_reason_to_wait } = notice;
        Self { text: one_line(&text), url: url.parse().ok(), is_reason_to_wait }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_cut_off_and_loses_a_url_that_is_none() {
        let wire = |text: String, url: &str| {
            Notice::from(pb::Notice { text, url: url.to_owned(), is_reason_to_wait: true })
        };
        let found = wire(format!("\u{1b}{}", "x".repeat(1 << 20)), "https://a/\u{7}");
        assert_eq!((found.text.chars().count(), found.url.clone()), (500, None));
        let notice = wire("a".to_owned(), "https://a/b");
        assert_eq!(notice.to_string(), "a (see https://a/b)");
        assert_eq!(Notice::from(pb::Notice::from(notice.clone())), notice);
    }
}
