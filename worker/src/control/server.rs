//! Answers the requests of the user who runs this worker.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use queens_counting::Metrics;
use queens_platform::{LocalSocket, LocalStream, socket_directory};
use queens_proto::client::Routes;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::watch;
use tokio::task::{AbortHandle, yield_now};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{Doing, LONGEST_REQUEST, PATIENCE, PROGRAM, Request, WorkerStatus};
use crate::news::News;
use crate::own_numbers::OwnNumbers;
use crate::pause_monitor::PauseControl;
use crate::pause_policy::PauseReason;
use crate::progress::{amount, hours};

/// How many connections are served at a time. A further one takes the place of the oldest: those that say nothing keep
/// nobody out.
const MOST_CONNECTIONS: usize = 64;

/// The pause after the system could not accept a connection.
const PAUSE: Duration = Duration::from_secs(1);

/// The running worker, as its user sees and controls it.
#[derive(Debug)]
pub struct ControlledWorker {
    /// Its name.
    pub name: String,
    /// The routes to its coordinators.
    pub routes: watch::Receiver<Routes>,
    /// What its coordinators have told.
    pub news: Arc<News>,
    /// When it started.
    pub started: Instant,
    /// What it has counted.
    pub metrics: Arc<Metrics>,
    /// What the coordinator knows of it.
    pub own: OwnNumbers,
    /// Pauses it.
    pub pauses: PauseControl,
    /// Makes it leave.
    pub drain: CancellationToken,
}

/// Opens the worker's socket and answers requests until it is dropped. Without a socket, the worker counts all the
/// same.
pub async fn serve(worker: ControlledWorker) {
    let opened = socket_directory(PROGRAM).and_then(|directory| LocalSocket::bind(&directory, &worker.name));
    match opened {
        Ok(Some(socket)) => serve_on(&socket, worker).await,
        Ok(None) => warn!(
            "another worker of yours has the name '{}': '{PROGRAM} pause' and the like reach only that one",
            worker.name
        ),
        // Nobody types commands in such a container.
        Err(error) if error.kind() == ErrorKind::ReadOnlyFilesystem => {}
        Err(error) => info!(%error, "'{PROGRAM} pause' and the like can't reach this worker"),
    }
}

async fn serve_on(socket: &LocalSocket, worker: ControlledWorker) {
    let worker = Arc::new(worker);
    let mut served = VecDeque::<AbortHandle>::new();
    loop {
        let stream = match socket.accept().await {
            Ok(stream) => stream,
            Err(_) => {
                sleep(PAUSE).await;
                continue;
            }
        };
        served.retain(|connection| !connection.is_finished());
        if served.len() == MOST_CONNECTIONS {
            served.pop_front().into_iter().for_each(|oldest| oldest.abort());
        }
        let worker = worker.clone();
        let answering = async move { _ = timeout(PATIENCE, answer(stream, &worker)).await };
        served.push_back(tokio::spawn(answering).abort_handle());
        // It is served before the next is accepted.
        yield_now().await;
    }
}

/// Reads a request and answers it. Closes the connection without an answer if it is none.
async fn answer(stream: LocalStream, worker: &ControlledWorker) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    (&mut stream).take(LONGEST_REQUEST).read_until(b'\n', &mut line).await?;
    let Some(request) = Request::of_line(&line) else { return Ok(()) };
    worker.carry_out(request).await;
    let mut answer = serde_json::to_vec(&worker.status())?;
    answer.push(b'\n');
    stream.write_all(&answer).await?;
    stream.shutdown().await
}

impl ControlledWorker {
    async fn carry_out(&self, request: Request) {
        match request {
            Request::Status if self.metrics.activity().n_connected > 0 => self.own.renew().await,
            Request::Status => {}
            Request::Pause => self.pauses.pause(true).await,
            Request::Resume => self.pauses.pause(false).await,
            Request::Stop => {
                info!("told to stop by '{PROGRAM} stop'");
                self.drain.cancel();
            }
        }
    }

    fn status(&self) -> WorkerStatus {
        let (activity, reasons) = (self.metrics.activity(), self.pauses.reasons());
        let state =
            match (self.drain.is_cancelled(), reasons.is_empty(), activity.n_leases, activity.n_connected) {
                (true, ..) => Doing::Leaving,
                (_, false, ..) => Doing::Paused,
                (_, _, 0, 0) => Doing::NoConnection,
                (_, _, 0, _) => Doing::NoJob,
                _ => Doing::Counting,
            };
        let next = reasons.iter().find_map(|reason| match reason {
            PauseReason::OutsideSchedule { next } => next.as_ref(),
            _ => None,
        });
        WorkerStatus {
            name: self.name.clone(),
            coordinators: self.routes.borrow().listed().iter().map(|route| route.uri().to_string()).collect(),
            connected: activity.n_connected > 0,
            state,
            next: next.map(ToString::to_string),
            reasons: reasons.iter().map(ToString::to_string).collect(),
            waits_for: match state {
                Doing::NoJob => self.news.reason_to_wait(),
                Doing::NoConnection => self.news.failure(),
                _ => None,
            },
            news: self.news.notice(),
            seconds: self.started.elapsed().as_secs(),
            subproblems: activity.counted.n_subproblems.to_string(),
            core_hours: hours(activity.counted.core_time),
            counted: amount(&activity.counted),
            own: self.own.last(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use queens_auth::Credentials;
    use queens_platform::{connect_to_socket, sockets_in};
    use queens_proto::client::endpoint;
    use tokio::task::JoinHandle;

    use super::*;
    use crate::pause_monitor::Sensors;
    use crate::pause_policy::PausePolicy;
    use crate::pause_policy::Sensed;

    struct Served {
        path: PathBuf,
        drain: CancellationToken,
        tasks: [JoinHandle<()>; 2],
        _scratch: tempfile::TempDir,
    }

    /// Serves a worker that counts nothing.
    fn served() -> Served {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let directory = scratch.path().join("run");
        let socket = LocalSocket::bind(&directory, "anna").expect("bound").expect("ours");
        let path = sockets_in(&directory).expect("one").remove(0);
        let (drain, pauses) = (CancellationToken::new(), PauseControl::default());
        let routes = vec![endpoint("http://host:1").expect("a URL")];
        let routes = Routes::new(routes, Credentials::default()).expect("routes");
        let worker = ControlledWorker {
            name: "anna".to_owned(),
            routes: watch::channel(routes).1,
            news: Arc::default(),
            started: Instant::now(),
            metrics: Arc::new(Metrics::new()),
            own: OwnNumbers::new("anna".parse().expect("a name")),
            pauses: pauses.clone(),
            drain: drain.clone(),
        };
        let sensed = || Sensed { now: jiff::Zoned::now(), is_on_battery: false, idle_for: Duration::ZERO };
        let sensors: Sensors = Arc::new(sensed);
        let monitor = async move { pauses.monitor(&PausePolicy::default(), &sensors).await };
        let tasks = [tokio::spawn(async move { serve_on(&socket, worker).await }), tokio::spawn(monitor)];
        Served { path, drain, tasks, _scratch: scratch }
    }

    impl Served {
        async fn end(self) {
            for task in self.tasks {
                task.abort();
                assert!(task.await.expect_err("aborted").is_cancelled(), "it did not panic");
            }
            assert!(!self.path.exists(), "the socket is removed");
        }

        /// Sends bytes and returns the answer.
        async fn send(&self, bytes: &[u8]) -> String {
            let mut stream = connect_to_socket(&self.path).await.expect("connected");
            // The server may close the connection before it has read all.
            _ = stream.write_all(bytes).await;
            let mut answer = Vec::new();
            _ = stream.read_to_end(&mut answer).await;
            String::from_utf8(answer).expect("a text")
        }

        async fn state(&self, request: &str) -> (Doing, Vec<String>) {
            let answer = self.send(request.as_bytes()).await;
            let status: WorkerStatus = serde_json::from_str(&answer).expect("a status");
            assert_eq!((status.name.as_str(), status.subproblems.as_str()), ("anna", "0"));
            (status.state, status.reasons)
        }
    }

    #[tokio::test]
    async fn requests_are_carried_out() {
        let served = served();
        let by_user = || vec!["paused by you".to_owned()];
        assert_eq!(served.state("status\n").await, (Doing::NoConnection, vec![]));
        assert_eq!(served.state("pause\n").await, (Doing::Paused, by_user()));
        assert_eq!(served.state("pause\n").await, (Doing::Paused, by_user()));
        assert_eq!(served.state("status\n").await, (Doing::Paused, by_user()));
        assert_eq!(served.state("resume\n").await, (Doing::NoConnection, vec![]));
        assert_eq!(served.state("stop\n").await, (Doing::Leaving, vec![]));
        assert!(served.drain.is_cancelled());
        served.end().await;
    }

    #[tokio::test]
    async fn garbage_gets_no_answer_and_does_no_harm() {
        let served = served();
        let long = vec![b'x'; 1 << 20];
        let garbage: [&[u8]; 8] = [
            b"\n",
            b"stop \n",
            b"STOP\n",
            b"\0\0\0\0\n",
            b"\xff\xfe\n",
            b"{\"request\":\"stop\"}\n",
            b"stopstop\n",
            &long,
        ];
        for bytes in garbage {
            assert_eq!(served.send(bytes).await, "", "{:?}", &bytes[..bytes.len().min(20)]);
        }
        assert!(!served.drain.is_cancelled());
        assert_eq!(served.state("status\n").await, (Doing::NoConnection, vec![]));
        served.end().await;
    }

    #[tokio::test(start_paused = true)]
    async fn many_connections_that_say_nothing_keep_nobody_out_and_are_closed() {
        let served = served();
        let mut silent = Vec::new();
        for _ in 0..200 {
            silent.push(connect_to_socket(&served.path).await.expect("connected"));
            yield_now().await;
        }
        let began = tokio::time::Instant::now();
        assert_eq!(served.state("status\n").await, (Doing::NoConnection, vec![]));
        assert_eq!(silent[0].read(&mut [0]).await.unwrap_or(0), 0, "its place was taken");
        assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
        for mut stream in silent {
            assert_eq!(stream.read(&mut [0]).await.unwrap_or(0), 0, "it is closed without an answer");
        }
        assert!(began.elapsed() < PATIENCE * 2, "{:?}", began.elapsed());
        served.end().await;
    }
}
