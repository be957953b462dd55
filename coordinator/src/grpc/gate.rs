//! Lets requests in that their senders may make.

use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tonic::{Code, Status};

use crate::access::{Admission, NotLetIn};
use crate::connections::Caller;

pub(super) async fn let_in(State(admission): State<Admission>, mut request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<ConnectInfo<Caller>>().map(|ConnectInfo(caller)| caller.clone());
    let peer = caller.as_ref().map(Caller::peer);
    let (method, path) = (request.method().as_str(), request.uri().path());
    match admission.admit(method, path, request.headers(), caller.as_ref()).await {
        Ok(pass) => {
            let noting = admission.noting(&pass, method, path, peer);
            request.extensions_mut().insert(pass.clone());
            if let Some(helping) = pass.helping() {
                request = request.map(|body| helping.body(body));
            }
            let Some(noting) = noting else { return pass.bound(next.run(request).await) };
            let deed = noting.deed().clone();
            let response = deed.noted(next.run(request)).await;
            let refusal =
                Status::from_header_map(response.headers()).filter(|status| status.code() != Code::Ok);
            match refusal {
                Some(status) => noting.done(&format!("refused: {}", status.message())).await,
                None => noting.done("done").await,
            }
            response
        }
        Err(refusal) => refused(refusal).into_http(),
    }
}

fn refused(refusal: NotLetIn) -> Status {
    let reason = refusal.to_string();
    match refusal {
        NotLetIn::NoToken | NotLetIn::NoSuchThing | NotLetIn::LoggedOut | NotLetIn::NotAdmitted(_) => {
            Status::unauthenticated(reason)
        }
        NotLetIn::TooMuch(_) => Status::resource_exhausted(reason),
        NotLetIn::Unread | NotLetIn::NoRandomNumbers => Status::unavailable(reason),
        NotLetIn::NotPermitted { .. } | NotLetIn::NotInTable => Status::permission_denied(reason),
    }
}
