//! What coordinators tell the person who runs this worker: each text is logged once, and the last ones are kept.

use std::time::Duration;

use parking_lot::Mutex;
use queens_counting::Metrics;
use queens_model::{Notice, PageUrl};
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

/// The interval between looks at the worker's leases.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How long a worker is idle before the reason is logged: between two leases, it is so for a moment.
const IDLE: Duration = Duration::from_secs(3);

/// How soon the same reason to wait, or for a failed attempt to connect, is logged again.
const AGAIN: Duration = Duration::from_secs(600);

/// The last notices of coordinators.
#[derive(Debug, Default)]
pub struct News {
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    notice: Option<String>,
    reason_to_wait: Option<String>,
    /// The page that was named last.
    page: Option<PageUrl>,
    /// Why the last attempts to connect failed, and when that was logged; absent with a connection.
    failure: Option<(String, Instant)>,
}

impl News {
    /// Keeps a notice. Logs it unless it was the last one, or says why an idle worker waits.
    pub(crate) fn hear(&self, notice: &Notice) {
        let text = notice.to_string();
        let mut last = self.last.lock();
        if notice.url.is_some() {
            last.page.clone_from(&notice.url);
        }
        if notice.is_reason_to_wait {
            last.reason_to_wait = Some(text);
        } else if last.notice.as_ref() != Some(&text) {
            warn!("the coordinator says: {text}");
            last.notice = Some(text);
        }
    }

    /// Returns a refusal with the page that was named last.
    pub(crate) fn with_page(&self, refusal: &str) -> String {
        match self.last.lock().page.as_ref().map(|page| format!(" (see {page})")) {
            Some(page) if !refusal.ends_with(&page) => format!("{refusal}{page}"),
            _ => refusal.to_owned(),
        }
    }

    /// Keeps a text that is logged elsewhere.
    pub(crate) fn keep(&self, text: String) {
        self.last.lock().notice = Some(text);
    }

    /// Keeps why attempts to connect failed. Returns whether to log it: another reason, or the same after a while.
    pub(crate) fn is_new_failure(&self, reason: &str) -> bool {
        let (mut last, now) = (self.last.lock(), Instant::now());
        let is_new = last.failure.as_ref().is_none_or(|(text, at)| text != reason || now - *at >= AGAIN);
        if is_new {
            last.failure = Some((reason.to_owned(), now));
        }
        is_new
    }

    /// A session has begun: forgets why attempts to connect failed, and the reason to wait of the last session.
    pub(crate) fn connected(&self) {
        let mut last = self.last.lock();
        (last.failure, last.reason_to_wait) = (None, None);
    }

    /// Returns why the last attempts to connect failed; `None` with a connection.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.last.lock().failure.as_ref().map(|(reason, _)| reason.clone())
    }

    /// Returns the last text that was no reason to wait.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        self.last.lock().notice.clone()
    }

    /// Returns why a worker without leases has nothing to count, as far as it was told.
    #[must_use]
    pub fn reason_to_wait(&self) -> Option<String> {
        self.last.lock().reason_to_wait.clone()
    }

    /// Logs why the workers of this process have nothing to count, when they have a connection and no lease, until it
    /// is dropped.
    pub async fn run(&self, metrics: &Metrics) {
        let mut idle_since = None;
        let mut logged: Option<(String, Instant)> = None;
        loop {
            sleep(LOOK_AGAIN).await;
            let (activity, now) = (metrics.activity(), Instant::now());
            if activity.n_connected == 0 || activity.n_leases > 0 {
                idle_since = None;
                continue;
            }
            let is_idle = now.duration_since(*idle_since.get_or_insert(now)) >= IDLE;
            let Some(reason) = self.reason_to_wait().filter(|_| is_idle) else { continue };
            let is_new = logged.as_ref().is_none_or(|(text, at)| {
                *text != reason || idle_since.is_some_and(|since| since > *at && now - *at >= AGAIN)
            });
            if is_new {
                info!("nothing to count: {reason}");
                logged = Some((reason, now));
            }
        }
    }
}
