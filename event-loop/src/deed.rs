//! What the request that is being answered decides.

use std::sync::{Arc, OnceLock};

tokio::task_local! {
    static DEED: Deed;
}

/// What a request decides, in words, as soon as that is known.
#[derive(Clone, Debug, Default)]
pub struct Deed(Arc<OnceLock<String>>);

impl Deed {
    /// Runs what answers the request.
    pub async fn noted<F: Future>(&self, answering: F) -> F::Output {
        DEED.scope(self.clone(), answering).await
    }

    /// The words, if the request has decided anything.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

/// Says what the request decides that is being answered. Whatever is decided passes here, by whichever way it comes.
pub(crate) fn decides(what: impl FnOnce() -> String) {
    // Nobody has asked where there is none.
    _ = DEED.try_with(|deed| _ = deed.0.set(what()));
}
