//! Streams a job's status to a client at every change.

use std::time::Duration;

use queens_event_loop::Handle;
use queens_model::{JobId, JobState};
use queens_proto::pb;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tonic::Status;

/// How long to wait for the fundamental count of a finished job before the last message is sent without it.
const SETTLING: Duration = Duration::from_secs(2);

/// How long a client may leave a message unread.
const UNREAD: Duration = Duration::from_secs(20);

/// Sends the job now and at every change, until it is over or the client is gone. The last message of a finished job
/// includes its fundamental count, if that follows soon.
pub(super) async fn watch(handle: Handle, id: JobId, sender: mpsc::Sender<Result<pb::Job, Status>>) {
    let mut snapshots = handle.snapshots();
    let (mut sent, mut deadline) = (None, None);
    loop {
        let job = {
            let snapshot = snapshots.borrow_and_update();
            snapshot.job(id).map(|job| (job.clone(), pb::Job::from(job.clone())))
        };
        let Some((job, told)) = job else { return };
        let over = job.state.is_over();
        if job.state == JobState::Done && job.fundamental.is_none() && !job.is_part() {
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + SETTLING);
            if Instant::now() < deadline {
                tokio::select! {
                    changed = snapshots.changed() => if changed.is_err() { return },
                    () = tokio::time::sleep_until(deadline) => {}
                    () = sender.closed() => return,
                }
                continue;
            }
        }
        if sent.as_ref() != Some(&told) {
            if sender.send_timeout(Ok(told.clone()), UNREAD).await.is_err() {
                return;
            }
            sent = Some(told);
        }
        if over {
            return;
        }
        tokio::select! {
            changed = snapshots.changed() => if changed.is_err() { return },
            () = sender.closed() => return,
        }
    }
}
