//! Sends a request to a running worker of this user.

use std::io;
use std::path::Path;

use anyhow::{anyhow, bail};
use jiff::Timestamp;
use queens_platform::{connect_to_socket, read_answer, socket_directory, sockets_in};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::{Doing, LONGEST_ANSWER, PATIENCE, PROGRAM, Request, WorkerStatus};
use crate::own_numbers::{described, sums};

/// Sends a request to the worker of this name; without a name, to the only one. Returns its status after that.
///
/// # Errors
/// If there is no such worker, if there are several, or if it does not answer.
pub async fn request(request: Request, name: Option<&str>) -> anyhow::Result<WorkerStatus> {
    let directory = socket_directory(PROGRAM)?;
    let (mut found, mut n_silent) = (Vec::new(), 0);
    for path in sockets_in(&directory)? {
        match ask(&path, Request::Status).await {
            Ok(status) => found.push((status, path)),
            // It is of a worker that was killed.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => {}
            Err(_) => n_silent += 1,
        }
    }
    let mut names: Vec<String> = found.iter().map(|(status, _)| status.name.clone()).collect();
    found.retain(|(status, _)| name.is_none_or(|name| status.name == name));
    match &found[..] {
        [(status, _)] if request == Request::Status => Ok(status.clone()),
        [(status, path)] => ask(path, request)
            .await
            .map_err(|error| anyhow!("the worker '{}' did not answer: {error}", status.name)),
        [] => {
            let which =
                name.map_or_else(|| "no worker".to_owned(), |name| format!("no worker named '{name}'"));
            let mut told = format!("{which} of yours answers on this machine");
            if n_silent > 0 {
                told += &format!("; {n_silent} did not answer");
            }
            if !names.is_empty() {
                told += &format!("; there is {}", names.join(", "));
            }
            bail!(told)
        }
        _ => {
            names.sort();
            let (n, names) = (names.len(), names.join(", "));
            bail!("{n} of your workers run on this machine: name one by --name ({names})")
        }
    }
}

async fn ask(path: &Path, request: Request) -> io::Result<WorkerStatus> {
    let asking = async {
        let mut stream = connect_to_socket(path).await?;
        stream.write_all(format!("{}\n", request.name()).as_bytes()).await?;
        let answer = read_answer(stream, LONGEST_ANSWER).await?;
        if answer.is_empty() {
            return Err(io::Error::other("it closed the connection"));
        }
        Ok(serde_json::from_slice(&answer)?)
    };
    timeout(PATIENCE, asking).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

impl WorkerStatus {
    /// Describes what the worker does, and why it does not count.
    #[must_use]
    pub fn doing(&self) -> String {
        match self.state {
            Doing::Counting => "counting".to_owned(),
            Doing::NoJob => {
                format!("not counting: {}", self.waits_for.as_deref().unwrap_or("it waits for a lease"))
            }
            Doing::NoConnection => {
                let reason = self.waits_for.iter().map(|reason| format!(": {reason}")).collect::<String>();
                format!("not counting: no connection to a coordinator{reason}")
            }
            Doing::Paused => format!("not counting: {}", self.reasons.join("; ")),
            Doing::Leaving => "leaving".to_owned(),
        }
    }

    /// Describes all of it in lines.
    #[must_use]
    pub fn lines(&self) -> String {
        let connected = if self.connected { "yes" } else { "no" };
        let minutes = self.seconds / 60;
        let news = self.news.iter().map(|news| format!("\nnews         {news}")).collect::<String>();
        let mut lines = format!(
            "name         {}\ncoordinator  {}\nconnected    {connected}\nstate        {}\ncounted      {} in {minutes} minutes{news}",
            self.name,
            self.coordinators.join(","),
            self.doing(),
            self.counted
        );
        if let Some(own) = &self.own {
            let (records, confirmed, recounts) = (own.records, own.confirmed, own.recounts);
            let at = i64::try_from(own.at_ms).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
            let at = at.map(|at| at.strftime(", as of %F %H:%M:%S UTC").to_string()).unwrap_or_default();
            lines += &format!("\nall of yours {}{at}", sums(own));
            lines +=
                &format!("\nrecords      {records}, {confirmed} confirmed by others; {recounts} recounts");
            lines +=
                &own.job.as_ref().map(|job| format!("\njob          {}", described(job))).unwrap_or_default();
        }
        lines
    }
}
