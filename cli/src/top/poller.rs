//! What is asked of the coordinator: what is shown, once a second, and what operators want at a key.
//!
//! What that costs, for J jobs and W workers: the lists of all of them O(J + W), but the less often the longer they are,
//! so that on average at most [`ENTRIES_PER_SECOND`] entries come in a second; none while one job has the whole screen.
//! Of one job as many rates and groups of parts as there is room for, and at most 10,000 contributions and 1,000 verdicts
//! every five seconds. Some hundred events.

use std::time::Duration;

use queens_model::{JobId, plain};
use queens_proto::client::{ClientError, Operator, Problem};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior};

use crate::top::action::OperatorAction;
use crate::top::cluster::{Counters, FromCoordinator, JobNews, Lists, News, Wanted};

/// How often the coordinator is asked.
const REFRESH: Duration = Duration::from_secs(1);

/// How many jobs and workers may come in a second, on average.
const ENTRIES_PER_SECOND: usize = 2000;

/// How often it is asked who has counted a job: all its records are read for that.
const COUNTERS: Duration = Duration::from_secs(5);

/// Asks the coordinator how it stands, again and again, and does what operators want. Connects anew by itself, to whichever
/// coordinator leads then.
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
    /// When the lists are asked for again.
    lists_due: Instant,
    /// When it is asked again who has counted the job on the screen, and which that is.
    counters_due: Instant,
    counters_of: Option<JobId>,
}

impl Asker {
    /// Asks for all that is shown.
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

    /// Asks for what is shown of one job.
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

    /// Who has counted a job, if it is time to ask. The coordinator may be reading that for somebody else.
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

    /// If nobody looks any more, this is over soon.
    async fn tell(&self, news: FromCoordinator) {
        _ = self.to_screen.send(news).await;
    }
}

/// How long lists of so many entries are not asked for again.
fn pause_after(n_entries: usize) -> Duration {
    const NANOS_PER_SECOND: u64 = 1_000_000_000;
    let nanos = (n_entries as u64).saturating_mul(NANOS_PER_SECOND) / ENTRIES_PER_SECOND as u64;
    // Of short lists, with every refresh.
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
