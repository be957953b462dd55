//! Requests the data on the screen once a second, and carries out operators' actions.
//!
//! Cost for J jobs and W workers: the full lists take O(J + W). The longer they are, the less often they are requested,
//! so that at most [`ENTRIES_PER_SECOND`] entries come per second on average. A job on the whole screen needs no lists.
//! One job takes as many rates and groups of parts as fit, and at most 10,000 contributions and 1,000 verdicts every
//! five seconds. There are some hundred events.

use std::time::Duration;

use queens_model::{JobId, plain};
use queens_proto::client::{ClientError, Operator, Problem};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior};

use crate::top::action::OperatorAction;
use crate::top::cluster::{Counters, FromCoordinator, JobNews, Lists, News, Wanted};

/// The interval of requests.
const REFRESH: Duration = Duration::from_secs(1);

/// The maximum average number of jobs and workers received per second.
const ENTRIES_PER_SECOND: usize = 2000;

/// The interval of requests for a job's contributions, for which the coordinator reads all its records.
const COUNTERS: Duration = Duration::from_secs(5);

/// Requests the coordinator's state repeatedly, and carries out operators' actions. Reconnects by itself to the leading
/// coordinator.
pub(crate) async fn ask(
    operator: Operator,
    mut actions: mpsc::Receiver<OperatorAction>,
    mut wanted: watch::Receiver<Wanted>,
    to_screen: mpsc::Sender<FromCoordinator>,
) {
    let now = Instant::now();
    let mut asker = Asker { operator, to_screen, lists_due: now, counters_due: now, counters_of: None };
    let mut refresh = tokio::time::interval(REFRESH);
    refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let answer = tokio::select! {
            action = actions.recv() => {
                let Some(action) = action else { return };
                asker.carry_out(&action).await;
                let wanted = *wanted.borrow_and_update();
                asker.all(wanted).await
            }
            _ = refresh.tick() => {
                let wanted = *wanted.borrow_and_update();
                asker.all(wanted).await
            }
            changed = wanted.changed() => {
                if changed.is_err() {
                    return;
                }
                let wanted = *wanted.borrow_and_update();
                asker.job(wanted).await
            }
        };
        if let Err(ClientError { problem, .. }) = answer {
            asker.tell(FromCoordinator::Away(problem)).await;
        }
    }
}

struct Asker {
    operator: Operator,
    to_screen: mpsc::Sender<FromCoordinator>,
    /// When to request the lists again.
    lists_due: Instant,
    /// When to request contributions again, and the job that they are for.
    counters_due: Instant,
    counters_of: Option<JobId>,
}

impl Asker {
    /// Requests everything on the screen.
    async fn all(&mut self, wanted: Wanted) -> Result<(), ClientError> {
        if !wanted.is_page && Instant::now() >= self.lists_due {
            let jobs = self.operator.jobs().await?;
            let (workers, blocked) = self.operator.workers_and_blocked().await?;
            let lists = Lists::new(jobs, workers, blocked);
            self.lists_due = Instant::now() + pause_after(lists.n_entries());
            self.tell(FromCoordinator::Lists(lists)).await;
        }
        self.job(wanted).await?;
        let events = self.operator.events().await?;
        let greeting = self.operator.greeting().await?;
        let url = self.operator.coordinator();
        self.tell(FromCoordinator::News(News { url, events, greeting })).await;
        Ok(())
    }

    /// Requests the data of one job.
    async fn job(&mut self, wanted: Wanted) -> Result<(), ClientError> {
        let Wanted { job: Some(id), n_rates, n_groups, is_page } = wanted else { return Ok(()) };
        match self.job_news(id, n_rates, n_groups, is_page).await {
            Ok(news) => self.tell(FromCoordinator::Job(Box::new(news))).await,
            Err(ClientError { problem: Problem::Refused(words), .. }) => {
                self.tell(FromCoordinator::Gone(words)).await;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn job_news(
        &mut self,
        id: JobId,
        n_rates: u32,
        n_groups: u32,
        is_page: bool,
    ) -> Result<JobNews, ClientError> {
        let status = if is_page { Some(self.operator.job(id).await?) } else { None };
        let progress_history = self.operator.progress_history(id, n_rates, n_groups).await?;
        let n_disputed = status.as_ref().map_or(0, |job| job.n_disputed);
        let counters = if is_page { self.counters(id, n_disputed > 0).await? } else { None };
        Ok(JobNews { id, status, progress_history, counters })
    }

    /// Requests a job's contributions and verdicts if they are due. The coordinator may be reading them for another
    /// client.
    async fn counters(&mut self, id: JobId, is_disputed: bool) -> Result<Option<Counters>, ClientError> {
        if self.counters_of == Some(id) && Instant::now() < self.counters_due {
            return Ok(None);
        }
        let verdicts = if is_disputed { self.operator.verdicts(id, 0).await } else { Ok(Vec::new()) };
        let both = self.operator.contributions(id).await.and_then(|all| Ok((all, verdicts?)));
        match both {
            Ok((contributions, verdicts)) => {
                (self.counters_of, self.counters_due) = (Some(id), Instant::now() + COUNTERS);
                Ok(Some(Counters { contributions, verdicts }))
            }
            Err(ClientError { problem: Problem::Unavailable(_), .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn carry_out(&mut self, action: &OperatorAction) {
        let done = action.carry_out(&self.operator).await;
        let done = done.map_err(|error| plain::line(&format!("{error:#}")).into_owned());
        self.lists_due = Instant::now();
        self.tell(FromCoordinator::Done(done)).await;
    }

    /// If the screen is gone, this task ends soon.
    async fn tell(&self, news: FromCoordinator) {
        _ = self.to_screen.send(news).await;
    }
}

/// Returns the pause between requests for lists of this many entries.
fn pause_after(n_entries: usize) -> Duration {
    const NANOS_PER_SECOND: u64 = 1_000_000_000;
    let nanos = (n_entries as u64).saturating_mul(NANOS_PER_SECOND) / ENTRIES_PER_SECOND as u64;
    // Short lists come with every refresh.
    if nanos < NANOS_PER_SECOND { Duration::ZERO } else { Duration::from_nanos(nanos) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_asked_for_less_often() {
        for (n_entries, seconds) in [(0, 0.0), (1999, 0.0), (2000, 1.0), (11_000, 5.5), (1_000_000, 500.0)] {
            assert_eq!(pause_after(n_entries).as_secs_f64(), seconds, "{n_entries}");
        }
    }
}
