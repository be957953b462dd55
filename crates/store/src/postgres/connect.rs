//! Connects to the writable one of several servers.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::sql::fault::Fault;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;
use tokio_postgres::error::Severity;
use tokio_postgres::{AsyncMessage, Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::fault::fault;
use super::server::Server;

/// Timeout of a connection attempt, including all addresses of the server and the authentication.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a server may take before the next one is tried in parallel.
const HEAD_START: Duration = Duration::from_secs(1);

/// The last warning of a server on a connection, until it is taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Warnings(Arc<Mutex<Option<String>>>);

impl Warnings {
    fn keep(&self, message: &AsyncMessage) {
        if let AsyncMessage::Notice(notice) = message
            && notice.parsed_severity() == Some(Severity::Warning)
        {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(notice.message().to_owned());
        }
    }

    /// Takes the last warning.
    pub(super) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Tries the servers in turn, beginning with the one used last; a slow one does not delay the others. Returns the first
/// connection that accepts writes.
pub(super) async fn connect(server: Server) -> Result<(Client, Warnings), Fault> {
    let mut trying = JoinSet::new();
    let mut left = server.in_turn();
    let mut faults = Vec::new();
    loop {
        if let Some(place) = left.next() {
            let (server, config) = (server.clone(), server.hosts[place].clone());
            trying.spawn(async move { (place, enter(&config, &server).await) });
        }
        match timeout(HEAD_START, trying.join_next()).await {
            Ok(None) => return Err(nobody(&server, faults)),
            Ok(Some(Ok((place, Ok(connected))))) => {
                server.remember(place);
                return Ok(connected);
            }
            Ok(Some(Ok((place, Err(fault))))) => faults.push((place, fault)),
            Ok(Some(Err(ended))) => return Err(of_end(&ended)),
            Err(_) => {}
        }
    }
}

async fn enter(config: &Config, server: &Server) -> Result<(Client, Warnings), Fault> {
    let tls = MakeRustlsConnect::new((*server.tls).clone());
    let slow = || Fault::Lost(format!("it has not answered for {} s", PATIENCE.as_secs()));
    let connected = timeout(PATIENCE, config.connect(tls)).await.map_err(|_| slow())?;
    let (client, mut connection) = connected.map_err(|error| match fault(error) {
        Fault::Refused(reason) if config.get_password().is_none() && reason.contains("password missing") => {
            Fault::Refused("it asks for a password: --store-password-file names a file with it".to_owned())
        }
        fault => fault,
    })?;
    let warnings = Warnings::default();
    let heard = warnings.clone();
    // The task ends with the connection, which fails pending requests. Warnings arrive before the answer that they
    // precede.
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            heard.keep(&message);
        }
    });
    Ok((client, warnings))
}

/// Returns why no server can be used. A retry is useless if a reachable server refuses us.
fn nobody(server: &Server, mut faults: Vec<(usize, Fault)>) -> Fault {
    faults.sort_by_key(|(place, _)| *place);
    let told = |(place, fault): &(usize, Fault)| format!("{}: {}", server.host(*place), fault.reason());
    let reason = faults.iter().map(told).collect::<Vec<_>>().join("; ");
    if faults.iter().all(|(_, fault)| fault.may_heal()) {
        Fault::Lost(reason)
    } else {
        Fault::Refused(reason)
    }
}

/// Returns the fault of a connecting task that has died.
pub(super) fn of_end(ended: &JoinError) -> Fault {
    Fault::Lost(ended.to_string())
}
