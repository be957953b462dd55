//! Requests of operators, which are repeated until they are answered.

use std::time::Duration;

use queens_ledger::{JobChange, WorkerChange};
use queens_model::{JobId, Priority};

use super::event::Event;
use super::fault::Fault;
use super::sight::Sight;
use super::surroundings::Command;
use super::world::{NAMES, World};

/// The interval at which an operator retries to submit a job without a coordinator.
const SUBMIT_AGAIN: Duration = Duration::from_secs(1);

impl World<'_> {
    /// Returns the coordinator that an operator asks: any that answers, whether or not it leads.
    fn asked(&mut self) -> Option<usize> {
        let host = self.any_coordinator()?;
        if self.hosts[host].is_superseded() {
            self.tally.sights.see(Sight::OldLeaderAsked);
        }
        Some(host)
    }

    /// Submits the next job.
    pub(crate) fn submit(&mut self) {
        let Some(host) = self.asked() else { return self.after(SUBMIT_AGAIN, Event::Submit) };
        let number = self.submitted_to.len();
        if self.hosts[host].is_superseded() && self.disk.contents.entries.len() < number {
            // Jobs are numbered in the order of the puzzles: earlier ones come first.
            return self.after(SUBMIT_AGAIN, Event::Submit);
        }
        self.ask_for_jobs();
        self.submitted_to.push(self.hosts[host].start);
        let (asked, seed) = self.puzzles[self.current[number]].submission();
        self.command(host, Command::Submit(asked, seed));
    }

    /// Submits again the jobs that were not accepted, if the coordinator that was asked can't accept them any more.
    pub(crate) fn ask_for_jobs(&mut self) {
        let Some(leader) = self.leader() else { return };
        let start = self.hosts[leader].start;
        for number in self.disk.contents.entries.len()..self.submitted_to.len() {
            if self.submitted_to[number] != start {
                self.submitted_to[number] = start;
                self.tally.sights.see(Sight::JobAskedForAgain);
                let (asked, seed) = self.puzzles[self.current[number]].submission();
                let again = Command::Submit(asked, seed);
                self.hosts[leader].coordinator.as_mut().expect("it leads").push(again);
            }
        }
    }

    /// Repeats requests that may be lost. The coordinators that were asked before may have handled them too.
    pub(crate) fn ask_again(&mut self) {
        self.ask_for_jobs();
        // A coordinator whose store went back notices it when it is asked something.
        for host in (0..self.hosts.len()).filter(|host| self.hosts[*host].has_gone_back).collect::<Vec<_>>() {
            self.command(host, Command::Cancel(JobId(99)));
        }
        let leader = self.leader().filter(|_| self.wants_cancel);
        if let Some(coordinator) = leader.and_then(|host| self.hosts[host].coordinator.as_mut()) {
            coordinator.push(Command::Cancel(JobId(2)));
        }
    }

    /// Cancels the second job.
    pub(crate) fn cancel(&mut self) -> Option<()> {
        let job = JobId(2);
        let host = self.asked()?;
        let durable = &self.disk.contents;
        if !durable.entries.contains_key(&job) || durable.is_over(job) {
            return None;
        }
        self.wants_cancel = true;
        self.command(host, Command::Cancel(job));
        Some(())
    }

    /// Plays an operator's action. Pauses and blocks are lifted some time later.
    pub(crate) fn operate(&mut self, fault: Fault) -> Option<()> {
        let host = self.asked()?;
        let jobs: Vec<JobId> = self.disk.contents.entries.keys().copied().collect();
        let job = self.random.pick(&jobs)?;
        let name = self.random.pick(&NAMES)?.to_owned();
        let operation = match fault {
            Fault::Pause => {
                self.paused.insert(job);
                Command::ChangeJob(job, JobChange::Pause)
            }
            Fault::Block => {
                self.blocked.insert(name.clone());
                Command::ChangeWorkers(name, WorkerChange::Block)
            }
            Fault::Drain => {
                let at = self.random.ms(0, 5_000);
                self.after(at, Event::Join { healthy: false });
                Command::ChangeWorkers(name, WorkerChange::Drain)
            }
            _ => {
                let priority = i32::try_from(self.random.below(3)).expect("small") - 1;
                Command::ChangeJob(job, JobChange::Priority(Priority::try_from(priority).expect("small")))
            }
        };
        self.command(host, operation);
        let at = self.random.ms(500, 20_000);
        self.after(at, Event::Undo);
        Some(())
    }

    /// Repeats the operators' current pauses and blocks, and lifts all others.
    pub(crate) fn repeat_operations(&mut self) {
        let Some(leader) = self.leader() else { return };
        let jobs: Vec<JobId> = self.disk.contents.entries.keys().copied().collect();
        for job in jobs {
            let is_paused = self.paused.contains(&job);
            let operation = if is_paused {
                Command::ChangeJob(job, JobChange::Pause)
            } else {
                Command::ChangeJob(job, JobChange::Resume)
            };
            self.command(leader, operation);
        }
        for name in NAMES.map(str::to_owned) {
            let is_blocked = self.blocked.contains(&name);
            let operation = if is_blocked {
                Command::ChangeWorkers(name, WorkerChange::Block)
            } else {
                Command::ChangeWorkers(name, WorkerChange::Unblock)
            };
            self.command(leader, operation);
        }
    }
}
