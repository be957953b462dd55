//! The audited action of a request, and its outcome.

use std::sync::{Arc, OnceLock};

tokio::task_local! {
    static CURRENT_ACTION: AuditAction;
}

/// The action that a request takes, once it is known, and its outcome, once there is one.
#[derive(Clone, Debug, Default)]
pub struct AuditAction(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    text: OnceLock<String>,
    /// The action is carried out and durable, or nothing was changed, for a reason.
    outcome: OnceLock<Result<(), String>>,
}

impl AuditAction {
    /// Runs the handler of the request.
    pub async fn scope_of<F: Future>(&self, answering: F) -> F::Output {
        CURRENT_ACTION.scope(self.clone(), answering).await
    }

    /// Returns the description of the action, if the handler has reached it.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.0.text.get().map(String::as_str)
    }

    /// Returns the outcome as text. If no action was reached, that is the refusal in `answer`, or that nothing was
    /// done. If an action has no outcome, that is unknown: it may still be carried out.
    #[must_use]
    pub fn outcome(&self, answer: Option<&Result<(), String>>) -> String {
        match (self.0.outcome.get(), self.text(), answer) {
            (Some(Ok(())), ..) => "done".to_owned(),
            (Some(Err(reason)), ..) | (None, None, Some(Err(reason))) => {
                format!("refused: {reason}")
            }
            (None, None, _) => "not carried out: the request was not there in time".to_owned(),
            (None, Some(_), Some(Err(reason))) => format!("not known: {reason}"),
            (None, Some(_), _) => "unknown: the client did not wait for the outcome".to_owned(),
        }
    }

    /// Returns the action of the current request; outside of requests, one without a reader.
    pub(crate) fn current() -> Self {
        CURRENT_ACTION.try_with(Self::clone).unwrap_or_default()
    }

    /// Records the action of the current request. All actions pass here, whatever their route.
    pub(crate) fn record_action(&self, what: String) {
        _ = self.0.text.set(what);
    }

    /// Records the outcome of the action, which is durable.
    pub(crate) fn record_outcome<T, E: ToString>(&self, answer: &Result<T, E>) {
        _ = self.0.outcome.set(answer.as_ref().map(drop).map_err(ToString::to_string));
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
                audit_action.record_action(text.to_owned());
            }
            if let Some(answer) = ended {
                audit_action.record_outcome(&answer);
            }
            let found = answers.clone().map(|answer| audit_action.outcome(answer.as_ref()));
            assert_eq!(found, expected, "{text:?}, {ended:?}");
        };
        let late = "not carried out: the request was not there in time";
        check(None, None, [late, late, "refused: no answer within 5 s"]);
        let unknown = "unknown: the client did not wait for the outcome";
        check(Some("cancel job 1"), None, [unknown, unknown, "not known: no answer within 5 s"]);
        check(Some("cancel job 1"), Some(Ok(())), ["done"; 3]);
        check(Some("cancel job 1"), Some(Err("it is done")), ["refused: it is done"; 3]);
    }
}
