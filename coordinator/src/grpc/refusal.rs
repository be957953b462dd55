//! Converts refused requests to gRPC statuses.

use axum::extract::ConnectInfo;
use queens_event_loop::NoExport;
use queens_proto::convert::InvalidMessage;
use queens_proto::page::UnknownPage;
use queens_store::certificate::ExportError;
use tonic::Status;

use crate::net::Peer;
use crate::refusal::RequestRefusal;

/// Returns the peer's address for the log.
pub(super) fn peer(info: Option<&ConnectInfo<Peer>>) -> String {
    info.map_or_else(|| "unknown".to_owned(), |ConnectInfo(peer)| peer.address().to_string())
}

pub(super) fn unknown_page(unknown: UnknownPage) -> Status {
    Status::invalid_argument(unknown.to_string())
}

pub(super) fn not_exported(error: &NoExport) -> Status {
    match error {
        NoExport::Unkept | NoExport::Failed(ExportError::NotDone { .. } | ExportError::Second { .. }) => {
            Status::failed_precondition(error.to_string())
        }
        NoExport::Failed(ExportError::Unknown(job)) => RequestRefusal::unknown_job(*job).into(),
        NoExport::Busy | NoExport::Failed(_) => Status::unavailable(error.to_string()),
    }
}

pub(super) fn invalid_message(invalid: &InvalidMessage) -> Status {
    match invalid {
        InvalidMessage::Protocol { .. } => Status::failed_precondition(invalid.to_string()),
        _ => Status::invalid_argument(invalid.to_string()),
    }
}
