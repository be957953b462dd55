//! Classifies the errors of a PostgreSQL server.

use std::error::Error;
use std::io;
use std::iter::successors;

use crate::sql::fault::Fault;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::WrongType;

/// Error codes of the function `hold`: another coordinator leads; the tables are not in the state in which this
/// coordinator left them.
const FENCED: &str = "QN001";
const OTHER_STATE: &str = "QN002";

/// Returns the fault of an error.
pub(super) fn fault(error: tokio_postgres::Error) -> Fault {
    match error.code() {
        Some(state) if state.code() == FENCED => {
            Fault::Fenced(format!("another coordinator leads: {}", in_full(&error)))
        }
        Some(state) if state.code() == OTHER_STATE => Fault::of_other_state(),
        _ if is_refusal(&error) => Fault::Refused(in_full(&error)),
        _ => Fault::Server { reason: in_full(&error), may_heal: may_heal(&error) },
    }
}

/// Returns whether a retry may succeed. Errors without a code concern the connection, which can be replaced.
fn may_heal(error: &tokio_postgres::Error) -> bool {
    let Some(code) = error.code() else {
        return error.source().is_none_or(|source| !source.is::<WrongType>());
    };
    // Classes of https://www.postgresql.org/docs/15/errcodes-appendix.html: connections, invalid and unavailable
    // states, transaction conflicts, resources, operator intervention, system errors.
    ["08", "25", "40", "53", "55", "57", "58"].contains(&&code.code()[..2])
}

/// Returns whether the server has refused us, or we the server.
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    if let Some(code) = error.code() {
        // Authentication, unknown databases, missing privileges.
        return ["28", "3D"].contains(&&code.code()[..2]) || *code == SqlState::INSUFFICIENT_PRIVILEGE;
    }
    // The library distinguishes these by their texts only.
    match error.to_string().as_str() {
        "authentication error" | "invalid configuration" => true,
        "error performing TLS handshake" => {
            behind(error).all(|cause| match cause.downcast_ref::<io::Error>() {
                Some(error) => error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()),
                None => true,
            })
        }
        _ => false,
    }
}

/// Returns the chain of causes of an error.
fn behind(error: &dyn Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    successors(error.source(), |error: &&(dyn Error + 'static)| (*error).source())
}

/// Formats an error with its causes.
fn in_full(error: &tokio_postgres::Error) -> String {
    let Some(told) = error.as_db_error() else {
        return behind(error).fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
    };
    let detail = told.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
    format!("{}{detail}", told.message())
}
