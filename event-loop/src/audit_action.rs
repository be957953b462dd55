//! What the request that is being answered decides, and what has become of that.

use std::sync::{Arc, OnceLock};

tokio::task_local! {
    static DEED: AuditAction;
}

/// What a request decides, in words, as soon as that is known, and its outcome, as soon as there is one.
#[derive(Clone, Debug, Default)]
pub struct AuditAction(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    text: OnceLock<String>,
    outcome: OnceLock<Outcome>,
}

/// What has become of what a request decides.
#[derive(Debug)]
enum Outcome {
    /// It is carried out, and durable.
    Done,
    /// Nothing was changed, and why.
    Refused(String),
}

impl AuditAction {
    /// Runs what answers the request.
    pub async fn scope_of<F: Future>(&self, answering: F) -> F::Output {
        DEED.scope(self.clone(), answering).await
    }

    /// The words, if the request has come to where it is decided.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.0.text.get().map(String::as_str)
    }

    /// What has happened, in words: what has become of the decision; only if nobody has come to decide, what was
    /// answered: nothing yet, or a refusal with its reason. Of what was being decided without an end, nobody knows: it may
    /// be carried out yet.
    #[must_use]
    pub fn outcome(&self, answer: Option<&Result<(), String>>) -> String {
        match (self.0.outcome.get(), self.text(), answer) {
            (Some(Outcome::Done), ..) => "done".to_owned(),
            (Some(Outcome::Refused(reason)), ..) | (None, None, Some(Err(reason))) => {
                format!("refused: {reason}")
            }
            (None, None, _) => "not carried out: the request was not there in time".to_owned(),
            (None, Some(_), Some(Err(reason))) => format!("not known: {reason}"),
            (None, Some(_), _) => "not known: whoever asked has not waited for it".to_owned(),
        }
    }

    /// The deed of the request that is being answered; one that nobody reads where nobody has asked.
    pub(crate) fn current() -> Self {
        DEED.try_with(Self::clone).unwrap_or_default()
    }

    /// Says what the request decides that is being answered. Whatever is decided passes here, by whichever way it comes.
    pub(crate) fn record_action(&self, what: impl FnOnce() -> String) {
        _ = self.0.text.set(what());
    }

    /// Says what has become of it: the answer of whoever has decided, which is durable.
    pub(crate) fn record_outcome<T, E: ToString>(&self, answer: &Result<T, E>) {
        _ = self.0.outcome.set(match answer {
            Ok(_) => Outcome::Done,
            Err(refusal) => Outcome::Refused(refusal.to_string()),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_happened_counts_and_not_what_was_answered() {
        let answers = [None, Some(Ok(())), Some(Err("no answer within 5 s".to_owned()))];
        let check = |text: Option<&str>, ended: Option<Result<(), &str>>, expected: [&str; 3]| {
            let audit_action = AuditAction::default();
            if let Some(text) = text {
                audit_action.record_action(|| text.to_owned());
            }
            if let Some(answer) = ended {
                audit_action.record_outcome(&answer);
            }
            let found = answers.clone().map(|answer| audit_action.outcome(answer.as_ref()));
            assert_eq!(found, expected, "{text:?}, {ended:?}");
        };
        let late = "not carried out: the request was not there in time";
        check(None, None, [late, late, "refused: no answer within 5 s"]);
        let unknown = "not known: whoever asked has not waited for it";
        check(Some("cancel job 1"), None, [unknown, unknown, "not known: no answer within 5 s"]);
        check(Some("cancel job 1"), Some(Ok(())), ["done"; 3]);
        check(Some("cancel job 1"), Some(Err("it is done")), ["refused: it is done"; 3]);
    }
}
