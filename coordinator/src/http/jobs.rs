//! Handlers that show one job, and the operators' commands for jobs.

use std::fmt::Display;
use std::str::FromStr;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use queens_ledger::{JobChange, Verification};
use queens_model::json::{Contribution, Verdict};
use queens_model::{Priority, Submission, default_method};
use queens_solver::{BoardSize, InvalidMethod, Method};
use serde::{Deserialize, Serialize};

use super::app::{Answer, App, Body, Object, Page, Queried, carried_out, job_id};
#[cfg(test)]
use super::refusal::described::{InvalidRequest, IsExpensive, IsOver, NoRecords, NoSuchJob, NotDecided};
use super::refusal::{RequestRefusal, find};
use super::summaries::Job;

/// One job.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/jobs/{job}",
    params(("job" = String, Path, description = "The job's number.")),
    responses((status = 200, description = "The answer.", body = Job), NoSuchJob),
))]
pub(super) async fn job(State(app): State<App>, Path(id): Path<String>) -> Answer<Job> {
    Ok(Json(app.job(job_id(&id)?)?))
}

/// A job to submit.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = Submission))]
#[serde(deny_unknown_fields)]
pub(super) struct SubmissionBody {
    /// The size of the board.
    #[cfg_attr(test, schema(minimum = 0, maximum = 32))]
    n: u32,
    /// The counting method. The default is the one that should be faster for n.
    #[cfg_attr(test, schema(schema_with = method))]
    method: Option<String>,
    /// The priority; 0 by default.
    #[serde(default)]
    #[cfg_attr(test, schema(minimum = -1000, maximum = 1000))]
    priority: i32,
    /// Counts only these parts of the plan, such as 0..100 with the end excluded; all by default.
    part_range: Option<String>,
    /// The share of the work to recount, in per cent with at most four decimals. The default is 1 if recount_by is
    /// given or n is at least 20; otherwise 0.
    recount: Option<String>,
    /// The only party that recounts: the number or label of an invitation, or a worker's name if the coordinator does
    /// not authenticate. By default, any party except the one that counted.
    recount_by: Option<String>,
    /// The method of a second pass over the whole job; none by default.
    #[cfg_attr(test, schema(schema_with = second_method))]
    second_pass: Option<String>,
    /// Confirms a job that takes a year of core time or more, which is refused otherwise.
    #[serde(default)]
    confirm: bool,
}

/// Submits a job. The answer comes after the job is durable.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/api/v1/jobs",
    request_body = SubmissionBody,
    responses((status = 201, description = "The answer.", body = Job), NotDecided, IsExpensive),
))]
pub(super) async fn submit(
    State(app): State<App>,
    body: Body<SubmissionBody>,
) -> Result<impl IntoResponse, RequestRefusal> {
    let Json(Object(SubmissionBody {
        n,
        method,
        priority,
        part_range,
        recount,
        recount_by,
        second_pass,
        confirm,
    })) = body?;
    let n = BoardSize::try_from(n).map_err(RequestRefusal::bad_request)?;
    let method = some_method(method)?.unwrap_or_else(|| default_method(n));
    let priority = Priority::try_from(priority).map_err(RequestRefusal::bad_request)?;
    let part_range = parsed(part_range)?;
    let recount = parsed(recount)?;
    let second_pass = some_method(second_pass)?;
    let recount_by = app.authenticator.arbiter(&recount_by.unwrap_or_default())?;
    let asked =
        Submission { n, method, priority, part_range, recount, recount_by, second_pass, confirmed: confirm };
    let job = carried_out(&app, app.handle.submit(asked)).await??;
    Ok((StatusCode::CREATED, [(LOCATION, format!("/api/v1/jobs/{job}"))], Json(app.job(job)?)))
}

/// An empty object. It is required: only a request with a body can have the content type of JSON, which pages of other
/// sites can't send.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct EmptyBody {}

/// Pauses a job.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/api/v1/jobs/{job}/pause",
    params(("job" = String, Path, description = "The job's number.")),
    request_body = EmptyBody,
    responses((status = 200, description = "The answer.", body = Job), NotDecided, NoSuchJob, IsOver),
))]
pub(super) async fn pause(
    State(app): State<App>,
    Path(id): Path<String>,
    body: Body<EmptyBody>,
) -> Answer<Job> {
    let Json(Object(EmptyBody {})) = body?;
    change(&app, &id, JobChange::Pause).await
}

/// Resumes a job, and retries what failed.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/api/v1/jobs/{job}/resume",
    params(("job" = String, Path, description = "The job's number.")),
    request_body = EmptyBody,
    responses((status = 200, description = "The answer.", body = Job), NotDecided, NoSuchJob, IsOver),
))]
pub(super) async fn resume(
    State(app): State<App>,
    Path(id): Path<String>,
    body: Body<EmptyBody>,
) -> Answer<Job> {
    let Json(Object(EmptyBody {})) = body?;
    change(&app, &id, JobChange::Resume).await
}

/// Cancels a job. Cancelling again changes nothing; cancelling a finished job is refused.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/api/v1/jobs/{job}/cancel",
    params(("job" = String, Path, description = "The job's number.")),
    request_body = EmptyBody,
    responses((status = 200, description = "The answer.", body = Job), NotDecided, NoSuchJob, IsOver),
))]
pub(super) async fn cancel(
    State(app): State<App>,
    Path(id): Path<String>,
    body: Body<EmptyBody>,
) -> Answer<Job> {
    let Json(Object(EmptyBody {})) = body?;
    change(&app, &id, JobChange::Cancel).await
}

/// The priority of a job.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct PriorityBody {
    /// Jobs of higher priority are counted first.
    #[cfg_attr(test, schema(minimum = -1000, maximum = 1000))]
    priority: i32,
}

/// Sets the priority of a job.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/api/v1/jobs/{job}/priority",
    params(("job" = String, Path, description = "The job's number.")),
    request_body = PriorityBody,
    responses((status = 200, description = "The answer.", body = Job), NotDecided, NoSuchJob, IsOver),
))]
pub(super) async fn set_priority(
    State(app): State<App>,
    Path(id): Path<String>,
    body: Body<PriorityBody>,
) -> Answer<Job> {
    let Json(Object(PriorityBody { priority })) = body?;
    let priority = Priority::try_from(priority).map_err(RequestRefusal::bad_request)?;
    change(&app, &id, JobChange::Priority(priority)).await
}

/// Additional verification of a job.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct VerificationBody {
    /// The share of the work to recount, in per cent with at most four decimals. A share below the agreed one changes
    /// nothing.
    recount: Option<String>,
    /// The only party that recounts: the number or label of an invitation, or a worker's name if the coordinator does
    /// not authenticate. By default, any party except the one that counted.
    recount_by: Option<String>,
    /// The method of a second pass over the whole job; none by default.
    #[cfg_attr(test, schema(schema_with = second_method))]
    second_pass: Option<String>,
}

/// Adds verification to a job. A finished job is open again until the verification is finished.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/api/v1/jobs/{job}/verify-more",
    params(("job" = String, Path, description = "The job's number.")),
    request_body = VerificationBody,
    responses((status = 200, description = "The answer.", body = Job), NotDecided, NoSuchJob, IsOver),
))]
pub(super) async fn verify_more(
    State(app): State<App>,
    Path(id): Path<String>,
    body: Body<VerificationBody>,
) -> Answer<Job> {
    let Json(Object(VerificationBody { recount, recount_by, second_pass })) = body?;
    let recount_by = app.authenticator.arbiter(&recount_by.unwrap_or_default())?;
    let recount = parsed(recount)?;
    let second_pass = some_method(second_pass)?;
    change(&app, &id, JobChange::Verify(Verification { recount, recount_by, second_pass })).await
}

/// Ends the verification of a job. It is done as soon as nothing of it is in doubt, with the largest share of recounts
/// that is complete: at least the one with which it was done before. A second pass that is not complete is cancelled.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/api/v1/jobs/{job}/end-verification",
    params(("job" = String, Path, description = "The job's number.")),
    request_body = EmptyBody,
    responses((status = 200, description = "The answer.", body = Job), NotDecided, NoSuchJob, IsOver),
))]
pub(super) async fn end_verification(
    State(app): State<App>,
    Path(id): Path<String>,
    body: Body<EmptyBody>,
) -> Answer<Job> {
    let Json(Object(EmptyBody {})) = body?;
    change(&app, &id, JobChange::EndVerification).await
}

/// Parses a value, if there is one.
fn parsed<T: FromStr<Err: Display>>(text: Option<String>) -> Result<Option<T>, RequestRefusal> {
    text.map(|text| text.parse().map_err(RequestRefusal::bad_request)).transpose()
}

fn some_method(name: Option<String>) -> Result<Option<Method>, RequestRefusal> {
    let method = name.map(|name| name.parse()).transpose();
    method.map_err(|error: InvalidMethod| RequestRefusal::bad_request(format!("the method: {error}")))
}

async fn change(app: &App, id: &str, change: JobChange) -> Answer<Job> {
    let job = job_id(id)?;
    carried_out(app, app.handle.change_job(job, change)).await??;
    Ok(Json(app.job(job)?))
}

/// The contributions to a job.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Contributions {
    contributions: Vec<Contribution>,
    /// Number of contributions; at most 10,000 are kept.
    total: usize,
    /// Core-seconds of all kept contributions, listed or not.
    core_seconds: f64,
}

/// The contributions to a job, those with the most work first.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/contributions",
    params(("job" = String, Path, description = "The job's number."), Page),
    responses((status = 200, description = "The answer.", body = Contributions), InvalidRequest, NoSuchJob, NoRecords),
))]
pub(super) async fn contributions(
    State(app): State<App>,
    Path(id): Path<String>,
    page: Queried<Page>,
) -> Answer<Contributions> {
    let Query(page) = page?;
    let job = find(&app.handle.snapshot(), job_id(&id)?)?.id;
    let contributions = app.handle.contributions(job).await?;
    let core_seconds = contributions.iter().map(|one| one.time.as_secs_f64()).sum();
    let all = Contribution::all(&contributions);
    let total = all.len();
    Ok(Json(Contributions { contributions: page.of(all.into_iter()).collect(), total, core_seconds }))
}

/// The verdicts on a job's disputed spans, in the order of the spans.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Verdicts {
    verdicts: Vec<Verdict>,
}

/// The verdicts on a job's disputed spans.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/verdicts",
    params(("job" = String, Path, description = "The job's number."), Page),
    responses((status = 200, description = "The answer.", body = Verdicts), InvalidRequest, NoSuchJob, NoRecords),
))]
pub(super) async fn verdicts(
    State(app): State<App>,
    Path(id): Path<String>,
    page: Queried<Page>,
) -> Answer<Verdicts> {
    let Query(Page { offset, limit }) = page?;
    let job = find(&app.handle.snapshot(), job_id(&id)?)?.id;
    let verdicts = app.handle.verdicts(job, offset).await?;
    let page = Page { offset: 0, limit };
    Ok(Json(Verdicts { verdicts: page.of(verdicts.iter().map(Verdict::from)).collect() }))
}

#[cfg(test)]
fn method() -> utoipa::openapi::schema::Object {
    use utoipa::openapi::schema::{ObjectBuilder, Type};
    let text = ObjectBuilder::new().schema_type(Type::String);
    let text =
        text.description(Some("The counting method. The default is the one that should be faster for n."));
    text.enum_values(Some(Method::ALL.map(Method::name))).build()
}

#[cfg(test)]
fn second_method() -> utoipa::openapi::schema::Object {
    use utoipa::openapi::schema::{ObjectBuilder, Type};
    let text = ObjectBuilder::new().schema_type(Type::String);
    let text = text.description(Some("The method of a second pass over the whole job; none by default."));
    text.enum_values(Some(Method::ALL.map(Method::name))).build()
}
