//! What goes wrong between this program and a server.

use std::error::Error;
use std::io;
use std::iter::successors;

use queens_store::sql::fault::Fault;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::WrongType;

/// What the function `hold` of the tables on a server fails with: if another coordinator leads, and if the tables are not
/// in the state in which this one left them.
const FENCED: &str = "QN001";
const OTHER_STATE: &str = "QN002";

/// The fault that an error is.
pub(super) fn fault(error: tokio_postgres::Error) -> Fault {
    match error.code() {
        Some(&SqlState::FOREIGN_KEY_VIOLATION) => Fault::Unrelated(in_full(&error)),
        Some(state) if state.code() == FENCED => {
            Fault::Fenced(format!("another coordinator leads: {}", in_full(&error)))
        }
        Some(state) if state.code() == OTHER_STATE => Fault::of_other_state(),
        _ if is_refusal(&error) => Fault::Refused(in_full(&error)),
        _ => Fault::Server { reason: in_full(&error), may_heal: may_heal(&error) },
    }
}

/// Whether the same may work later. What the server has no code for is of the connection, which can be made again.
fn may_heal(error: &tokio_postgres::Error) -> bool {
    let Some(code) = error.code() else {
        return error.source().is_none_or(|source| !source.is::<WrongType>());
    };
    // Classes of https://www.postgresql.org/docs/15/errcodes-appendix.html: connections, what can't be done now,
    // transactions that were in each other's way, resources, operators, the system.
    ["08", "25", "40", "53", "55", "57", "58"].contains(&&code.code()[..2])
}

/// Whether a server has turned us away, or we it.
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    if let Some(code) = error.code() {
        // Who we are, which database it is, and what we may do there.
        return ["28", "3D"].contains(&&code.code()[..2]) || *code == SqlState::INSUFFICIENT_PRIVILEGE;
    }
    // The library tells these apart only in words.
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

/// All that has caused an error.
fn behind(error: &dyn Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    successors(error.source(), |error: &&(dyn Error + 'static)| (*error).source())
}

/// An error with all that is behind it.
fn in_full(error: &tokio_postgres::Error) -> String {
    let Some(told) = error.as_db_error() else {
        return behind(error).fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
    };
    let detail = told.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
    format!("{}{detail}", told.message())
}
