//! The state and the types that all handlers share, and the call that waits for the event loop to execute a command.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::routing::MethodRouter;
use queens_event_loop::{Handle, Snapshot, Stopped};
use queens_model::{JobId, JobStatus, PageUrl};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::image::ImageName;
use super::refusal::RequestRefusal;
use super::rendered_pages::RenderedPages;
use super::summaries::{Job, SummaryStream};
use crate::access::{Authenticator, Requirement};
use crate::refusal::find;

/// How long a request waits for the event loop to execute a command. The connection ends requests after 15 s. On a
/// loaded machine, a plan of ten thousand parts keeps the event loop busy for seconds.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(12);

/// The most entries of a list in one answer.
const MOST_ENTRIES: usize = 1000;

/// The longest search text in characters. Each word costs a pass over the whole list.
const LONGEST: usize = 100;

/// The state that all handlers share.
#[derive(Clone, Debug)]
pub(super) struct App {
    pub(super) handle: Handle,
    pub(super) summary_stream: SummaryStream,
    pub(super) authenticator: Authenticator,
    /// The rendered public pages; `None` if there are none.
    pub(super) public: Option<Arc<RenderedPages>>,
    pub(super) options: Arc<PageOptions>,
}

/// What an operator chooses for the pages.
#[derive(Debug, Default)]
pub(crate) struct PageOptions {
    /// Whether everybody sees the jobs and the sums of each person.
    pub(crate) is_public: bool,
    /// A page that offers the programs.
    pub(crate) about: Option<PageUrl>,
    /// The image that a volunteer runs.
    pub(crate) image: Option<ImageName>,
    /// The URL of the coordinator for workers.
    pub(crate) url: String,
}

impl App {
    pub(super) fn job(&self, id: JobId) -> Result<Job, RequestRefusal> {
        let snapshot = self.handle.snapshot();
        Ok(self.view(find(&snapshot, id)?, &snapshot))
    }

    pub(super) fn view(&self, job: &JobStatus, snapshot: &Snapshot) -> Job {
        Job::of(job, snapshot, self.summary_stream.speeds(job.id))
    }
}

/// Parses a job's number. Other text names no job.
pub(super) fn job_id(id: &str) -> Result<JobId, RequestRefusal> {
    id.parse().map_err(|_| RequestRefusal::not_found(format!("there is no job '{id}': jobs have numbers")))
}

/// A request body that must be a JSON object.
pub(super) type Body<T> = Result<Json<Object<T>>, JsonRejection>;
/// The parameters in a request's query string.
pub(super) type Queried<T> = Result<Query<T>, QueryRejection>;
/// The result of a handler: a JSON value or a refusal.
pub(super) type Answer<T> = Result<Json<T>, RequestRefusal>;

/// An operation by HTTP: method, path, what it requires of the sender, and its handler.
pub(super) type Route<S> = (&'static str, &'static str, Requirement, MethodRouter<S>);

/// A page of a list.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct Page {
    /// Number of entries to skip.
    #[serde(default)]
    pub(super) offset: usize,
    /// Number of entries to return; at most 1000, which is the default.
    pub(super) limit: Option<usize>,
}

impl Page {
    pub(super) fn of<T>(self, list: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        list.skip(self.offset).take(self.limit.unwrap_or(MOST_ENTRIES).min(MOST_ENTRIES))
    }
}

/// Waits for a command with a timeout. Refuses at once while the store has an error, since nothing can become durable.
pub(super) async fn carried_out<T>(
    app: &App,
    command: impl Future<Output = Result<T, Stopped>>,
) -> Result<T, RequestRefusal> {
    if let Some(error) = &app.handle.snapshot().store_error {
        return Err(RequestRefusal::unavailable(format!("nothing was changed: {error}")));
    }
    match tokio::time::timeout(COMMAND_TIMEOUT, command).await {
        Ok(result) => Ok(result?),
        Err(_) => {
            let error = app.handle.snapshot().store_error.clone();
            let why = error.unwrap_or_else(|| "the coordinator has too much to do".to_owned());
            Err(RequestRefusal::unavailable(format!("not carried out yet, but it may still be: {why}")))
        }
    }
}

/// A value read from an object. Serde itself also reads a struct from an array, field by field: `[8, 0]` would be a job
/// for n = 8.
#[derive(Debug)]
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData)).map(Self)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields))
    }
}

/// The words of a search text, in lower case.
#[derive(Debug)]
pub(super) struct Words(Vec<String>);

impl Words {
    /// Splits a text into words; no text gives no words.
    pub(super) fn of(text: Option<&str>) -> Result<Self, RequestRefusal> {
        let text = text.unwrap_or_default();
        if text.chars().count() > LONGEST {
            let reason = format!("the text to search for has more than {LONGEST} characters");
            return Err(RequestRefusal::bad_request(reason));
        }
        Ok(Self(text.split_whitespace().map(str::to_lowercase).collect()))
    }

    pub(super) fn all(&self, fits: impl FnMut(&String) -> bool) -> bool {
        self.0.iter().all(fits)
    }
}

/// Returns whether a text contains a name, not as part of a longer word. A full stop belongs to a word that continues
/// after it, as in a host name.
pub(super) fn names(text: &str, name: &str) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let goes_on = after.strip_prefix('.').unwrap_or(after).starts_with(is_of_word);
        !goes_on && !before.ends_with(|c| is_of_word(c) || c == '.')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, name: &str, expected: bool) {
        assert_eq!(names(text, name), expected, "{name} in '{text}'");
    }

    #[test]
    fn a_name_is_found_as_a_word_and_in_no_longer_one() {
        check("w1 joined", "w1", true);
        check("all named w1 were blocked", "w1", true);
        check("5 are recorded of w1: one of the two is wrong", "w1", true);
        check("by w1.", "w1", true);
        check("w10 joined", "w1", false);
        check("rack-w1 joined", "w1", false);
        check("w1-b joined", "w1", false);
        check("w1.example.org joined", "w1", false);
        check("w10 was given up by w1", "w1", true);
        check("bär joined", "är", false);
        check("bär joined", "bär", true);
    }

    #[test]
    fn texts_have_an_end() {
        assert!(Words::of(Some(&"ж".repeat(100))).is_ok());
        assert!(Words::of(Some(&"ж".repeat(101))).is_err());
    }
}
