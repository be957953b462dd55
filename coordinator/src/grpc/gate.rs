//! Lets requests in that their senders may make.

use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tonic::{Code, Status};

use crate::access::{Admission, NotLetIn};
use crate::connections::Caller;

/// The decision whose answer is a stream.
const EXPORT: &str = "/queens.v1.Jobs/Export";

pub(super) async fn let_in(State(admission): State<Admission>, mut request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<ConnectInfo<Caller>>().map(|ConnectInfo(caller)| caller.clone());
    let peer = caller.as_ref().map(Caller::peer);
    let (method, path) = (request.method().as_str(), request.uri().path());
    match admission.admit(method, path, request.headers(), caller.as_ref()).await {
        Ok(pass) => {
            let is_stream = path == EXPORT;
            let noting = admission.noting(&pass, method, path, peer);
            request.extensions_mut().insert(pass.clone());
            if let Some(helping) = pass.helping() {
                request = request.map(|body| helping.body(body));
            }
            let Some(noting) = noting else { return pass.bound(next.run(request).await) };
            let deed = noting.deed().clone();
            let response = deed.noted(next.run(request)).await;
            let status = Status::from_header_map(response.headers());
            // The end of what is being sent is not known yet.
            if status.is_none() && response.status().is_success() && is_stream {
                return pass.bound(noting.at_end_of(response));
            }
            let refusal = status.filter(|status| status.code() != Code::Ok);
            noting.answered(refusal.map_or(Ok(()), |status| Err(status.message().to_owned()))).await;
            response
        }
        Err(refusal) => refused(refusal).into_http(),
    }
}

fn refused(refusal: NotLetIn) -> Status {
    let reason = refusal.to_string();
    match refusal {
        NotLetIn::NoToken
        | NotLetIn::NoSuchThing
        | NotLetIn::LoggedOut
        | NotLetIn::Gone(_)
        | NotLetIn::NotAdmitted(_) => Status::unauthenticated(reason),
        NotLetIn::TooMuch(_) => Status::resource_exhausted(reason),
        NotLetIn::Unread | NotLetIn::NoRandomNumbers => Status::unavailable(reason),
        NotLetIn::NotPermitted { .. } | NotLetIn::NotInTable => Status::permission_denied(reason),
    }
}
