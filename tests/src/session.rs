//! Sessions of made-up workers.

use std::time::Duration;

use queens_proto::pb::worker_message::Message;
use queens_proto::pb::workers_client::WorkersClient;
use queens_proto::pb::{self, CoordinatorMessage, WorkerMessage};
use queens_solver::DECOMPOSITION_VERSION;
use tokio::sync::mpsc::{self, Sender};
use tokio::time::{Instant, interval_at};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::{IntervalStream, ReceiverStream};
use tonic::Streaming;
use tonic::transport::Channel;

/// Returns the Hello of a worker with one thread.
#[must_use]
pub fn hello(worker: u64, name: &str) -> pb::Hello {
    pb::Hello {
        protocol: 2,
        decomposition: DECOMPOSITION_VERSION,
        worker,
        name: name.to_owned(),
        build: "0".to_owned(),
        kernel: "none".to_owned(),
        threads: 1,
        work_per_second: 1e6,
        ..pb::Hello::default()
    }
}

/// Wraps a worker's message.
#[must_use]
pub fn said(message: Message) -> WorkerMessage {
    WorkerMessage { message: Some(message) }
}

/// Opens a session with this first message; a heartbeat every five seconds follows, as from a worker without leases.
///
/// # Panics
/// Panics if it is refused at once.
pub async fn lasting(
    mut client: WorkersClient<Channel>,
    first: WorkerMessage,
) -> Streaming<CoordinatorMessage> {
    let pause = Duration::from_secs(5);
    let alive = IntervalStream::new(interval_at(Instant::now() + pause, pause));
    let heartbeats =
        alive.map(|_| said(Message::Report(pb::Report { sequence: 1, ..pb::Report::default() })));
    let messages = tokio_stream::iter([first]).chain(heartbeats);
    client.session(messages).await.expect("a session").into_inner()
}

/// Opens a session, which lasts as long as the sender.
///
/// # Panics
/// Panics if it is refused at once.
pub async fn begin(url: String, hello: pb::Hello) -> (Sender<WorkerMessage>, Streaming<CoordinatorMessage>) {
    let (sender, receiver) = mpsc::channel(64);
    sender.send(said(Message::Hello(hello))).await.expect("there is room");
    let mut client = WorkersClient::connect(url).await.expect("connected");
    let answers = client.session(ReceiverStream::new(receiver)).await.expect("accepted").into_inner();
    (sender, answers)
}
