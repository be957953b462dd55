//! How each kind of fault is inflicted.

use std::time::Duration;

use queens_ledger::store::MAX_DURATION;
use queens_ledger::{JobChange, WorkerChange};
use queens_messages::{Delta, Held, Hello, JobId, LeaseId, Priority, Report, ToCoordinator, WorkerId};
use queens_solver::{Count, Span};

use super::coordinator::{Command, Coordinator};
use super::disk::puzzle;
use super::event::Event;
use super::fault::Fault;
use super::world::World;

/// What workers are called: several by each name.
pub(crate) const NAMES: [&str; 2] = ["worker 0", "worker 1"];

impl World<'_> {
    /// Inflicts a fault; `false` if there is nobody whom it could happen to.
    pub(crate) fn inflict(&mut self, fault: Fault) -> bool {
        match fault {
            Fault::Restart => {
                let is_up = self.coordinator.is_some();
                self.kill_coordinator();
                is_up
            }
            Fault::RestartAfterCommit => {
                let n_messages = self.random.below(4);
                self.coordinator.as_mut().map(|up| up.dies_after = Some(n_messages)).is_some()
            }
            Fault::CommitFails | Fault::CommitFailsLate => {
                self.disk.n_failures = self.random.between(1, 6);
                self.disk.fails_late = fault == Fault::CommitFailsLate;
                true
            }
            Fault::ClockJump => {
                if self.random.percent(70) {
                    self.ahead += self.random.ms(100, 60_000);
                    // The first jump is taken for a standstill, the next one not.
                    if self.random.percent(50) {
                        self.coordinate(Coordinator::run);
                        self.ahead += self.random.ms(100, 60_000);
                    }
                } else {
                    self.behind += self.random.ms(100, 10_000);
                }
                true
            }
            Fault::Cancel => self.cancel(),
            Fault::Pause | Fault::Priority | Fault::Drain | Fault::Block => self.operate(fault).is_some(),
            _ => self.harm_worker(fault).is_some(),
        }
    }

    fn cancel(&mut self) -> bool {
        let job = JobId(2);
        if self.coordinator.is_none() || !self.disk.entries.contains_key(&job) || self.disk.is_over(job) {
            return false;
        }
        self.wants_cancel = true;
        self.command(Command::Cancel(job));
        true
    }

    /// An operator does something. Pauses and blocks are taken back some time later.
    fn operate(&mut self, fault: Fault) -> Option<()> {
        self.coordinator.as_ref()?;
        let jobs: Vec<JobId> = self.disk.entries.keys().copied().collect();
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
        self.command(operation);
        let at = self.random.ms(500, 20_000);
        self.after(at, Event::Undo);
        Some(())
    }

    /// Repeats what operators want, and does not if they want nothing special any more.
    pub(crate) fn repeat_operations(&mut self) {
        let jobs: Vec<JobId> = self.disk.entries.keys().copied().collect();
        for job in jobs {
            let is_paused = self.paused.contains(&job);
            let operation = if is_paused {
                Command::ChangeJob(job, JobChange::Pause)
            } else {
                Command::ChangeJob(job, JobChange::Resume)
            };
            self.command(operation);
        }
        for name in NAMES.map(str::to_owned) {
            let is_blocked = self.blocked.contains(&name);
            let operation = if is_blocked {
                Command::ChangeWorkers(name, WorkerChange::Block)
            } else {
                Command::ChangeWorkers(name, WorkerChange::Unblock)
            };
            self.command(operation);
        }
    }

    fn harm_worker(&mut self, fault: Fault) -> Option<()> {
        let ids: Vec<WorkerId> = self.workers.keys().copied().collect();
        let id = self.random.pick(&ids)?;
        let link = self.workers[&id].link;
        match fault {
            Fault::Delay => {
                let until = self.now + self.random.ms(300, 20_000);
                let upwards = self.random.percent(50);
                let link = self.links.get_mut(&link?).expect("was made");
                if upwards { link.up.hold(until) } else { link.down.hold(until) }
            }
            Fault::LinkLost => {
                let link = link?;
                if self.random.percent(40) {
                    self.send_last_words(id, link);
                }
                self.break_link(link);
            }
            Fault::Partition | Fault::Crash => {
                link.into_iter().for_each(|link| self.break_link(link));
                self.workers.remove(&id);
                if self.random.percent(70) {
                    let at = self.random.ms(0, 10_000);
                    self.after(at, Event::Join { healthy: false });
                }
            }
            Fault::Stall => {
                let until = self.now + self.random.ms(500, 60_000);
                self.workers.get_mut(&id)?.stalled_until = until;
            }
            Fault::Stuck => {
                let until = self.now + self.random.ms(500, 30_000);
                self.workers.get_mut(&id)?.stuck_until = until;
            }
            Fault::Speed => {
                let factor = self.random.factor(20.0);
                self.workers.get_mut(&id)?.change_speed(factor);
            }
            Fault::Leave => {
                self.after(Duration::ZERO, Event::Leave { worker: id });
                let at = self.random.ms(0, 5_000);
                self.after(at, Event::Join { healthy: false });
            }
            Fault::Failure => self.workers.get_mut(&id)?.fails = true,
            Fault::CorruptHello | Fault::Impostor => {
                self.bad_hellos.push((id, fault));
                if fault == Fault::Impostor {
                    link.into_iter().for_each(|link| self.break_link(link));
                    let worker = self.workers.get_mut(&id)?;
                    worker.link = None;
                    self.after(self.now, Event::Connect { worker: id });
                }
            }
            Fault::Liar => {
                let reports: Vec<Report> = (0..4).filter_map(|_| self.lie(id)).collect();
                for report in reports {
                    self.send_up(link?, ToCoordinator::Report(report));
                }
            }
            Fault::Flood => {
                let failures = self.workers[&id].failures_of_all();
                for failure in failures {
                    self.send_up(link?, ToCoordinator::Failure(failure));
                }
            }
            Fault::Duplicate => {
                let sent = self.workers[&id].sent.clone();
                let report = self.random.pick(&sent)?;
                self.send_up(link?, ToCoordinator::Report(report));
            }
            Fault::Lie => {
                let (worker, report) = self.contradict()?;
                let link = self.workers.get(&worker)?.link;
                self.send_up(link?, ToCoordinator::Report(report));
            }
            _ => {
                let report = self.invent(fault, id)?;
                self.send_up(link?, ToCoordinator::Report(report));
            }
        }
        Some(())
    }

    /// Breaks a link, with or without what is on its way.
    /// Says once more what was said before, and that is long on its way: it arrives in a session that is over.
    fn send_last_words(&mut self, id: WorkerId, link: u64) {
        let until = self.now + self.random.ms(1_000, 20_000);
        self.links.get_mut(&link).expect("was made").up.hold(until);
        let sent = self.workers[&id].sent.clone();
        if let Some(report) = self.random.pick(&sent) {
            self.send_up(link, ToCoordinator::Report(report));
        }
    }

    pub(crate) fn break_link(&mut self, link: u64) {
        let (lose_up, lose_down) = (self.random.percent(50), self.random.percent(50));
        let last = self.links.get_mut(&link).expect("was made").up.close(lose_up);
        self.close_down(link, lose_down);
        // A connection that is gone without a word is only noticed when its worker comes back or stays silent.
        if self.random.percent(60) {
            let at = last.saturating_sub(self.now) + self.random.ms(0, 20_000);
            self.after(at, Event::CoordinatorNotices { link });
        }
    }

    /// A report that no honest worker sends.
    fn invent(&mut self, fault: Fault, id: WorkerId) -> Option<Report> {
        let planned = |job: &JobId| self.disk.progress(*job).is_some();
        let jobs: Vec<JobId> = self.disk.entries.keys().copied().filter(planned).collect();
        let job = self.random.pick(&jobs)?;
        // Its own or anybody's, of this or an earlier coordinator: under others, nothing is listened to.
        let mut leases = self.workers[&id].leases();
        leases.extend(self.witness.any_token(&mut self.random));
        let lease = self.random.pick(&leases)?;
        let span = puzzle(&self.puzzles, job).random_span(8, &mut self.random);
        let count = puzzle(&self.puzzles, job).count(span);
        let mut delta = Delta { job, lease, span, count, duration: Duration::from_millis(50) };
        match fault {
            Fault::CorruptReport => self.corrupt(&mut delta),
            // As long as a column can hold: nothing may be added to it.
            _ if self.random.percent(20) => delta.duration = MAX_DURATION,
            _ => {}
        }
        let mut deltas = vec![delta];
        if let (true, (Some(first), Some(second))) =
            (fault == Fault::Unsolicited, span.split_at(span.from() + 1))
        {
            let count = |span| puzzle(&self.puzzles, job).count(span);
            deltas = vec![
                Delta { span: first, count: count(first), ..delta },
                Delta { span: second, count: count(second), ..delta },
            ];
        } else if fault == Fault::CorruptReport {
            // In order itself, but in bad company.
            deltas.insert(0, Delta { job, span, count, ..delta });
            deltas[0].duration = Duration::ZERO;
        }
        Some(Report { sequence: 0, deltas, finished: vec![LeaseId(u64::MAX)] })
    }

    /// A worker whose lease somebody else has counted in its place, and a report of it with other numbers.
    fn contradict(&mut self) -> Option<(WorkerId, Report)> {
        let records = self.disk.entries.keys().map(|&job| (job, self.disk.records(job))).collect();
        let repeatable = |&worker: &WorkerId| {
            self.witness.repeatable(worker, &records).into_iter().map(move |delta| (worker, delta))
        };
        let repeatable: Vec<(WorkerId, Delta)> = self.workers.keys().flat_map(repeatable).collect();
        let (worker, mut delta) = self.random.pick(&repeatable)?;
        let true_count = delta.count;
        // No two of different names tell the same lie.
        let lie = 1 + worker.0 % 4;
        delta.count.nodes += lie * self.random.below(2);
        delta.count.solutions += lie * u64::from(delta.count == true_count);
        Some((worker, Report { sequence: 0, deltas: vec![delta], finished: Vec::new() }))
    }

    /// A report of wrong counts under one token: its own or anybody's. What it could be believed of is left out,
    /// because nobody could tell.
    fn lie(&mut self, id: WorkerId) -> Option<Report> {
        let planned = |job: &JobId| self.disk.progress(*job).is_some();
        let jobs: Vec<JobId> = self.disk.entries.keys().copied().filter(planned).collect();
        let mut leases = self.workers[&id].leases();
        leases.extend(self.witness.any_token(&mut self.random));
        let lease = self.random.pick(&leases)?;
        let mut deltas = Vec::new();
        for _ in 0..self.random.between(1, 6) {
            let job = self.random.pick(&jobs)?;
            let puzzle = puzzle(&self.puzzles, job);
            let span = puzzle.random_span(400, &mut self.random);
            let true_count = puzzle.count(span);
            let solutions = true_count.solutions + self.random.between(1, 1000);
            let count = Count { solutions, ..true_count };
            let delta = Delta { job, lease, span, count, duration: Duration::from_millis(5) };
            if self.witness.is_granted(id, &delta) == Some(false) {
                deltas.push(delta);
            }
        }
        // No honest report has this number, so that its acknowledgement tells nothing.
        Some(Report { sequence: 0, deltas, finished: Vec::new() })
    }

    fn corrupt(&mut self, delta: &mut Delta) {
        let n_crosses = puzzle(&self.puzzles, delta.job).plan.parts().len();
        let n_crosses = u32::try_from(n_crosses).expect("few");
        let outside = |cross, from, to| Span::new(cross, from, to).expect("not empty");
        match self.random.below(7) {
            0 => delta.job = JobId(99),
            1 => delta.span = outside(n_crosses, 0, 1),
            2 => delta.span = outside(u32::MAX, 0, 1),
            3 => delta.span = outside(delta.span.cross(), delta.span.from(), u64::MAX),
            4 => delta.count.solutions = u64::MAX,
            5 => delta.count.nodes = 1 << 63,
            _ => delta.duration = Duration::MAX,
        }
    }

    /// Adds leases to a hello that can't be, or that are others'.
    pub(crate) fn spoil(&mut self, hello: &mut Hello, fault: Fault) {
        if fault == Fault::Impostor {
            for job in self.disk.entries.keys().copied().filter(|&job| self.disk.progress(job).is_some()) {
                let Some(lease) = self.witness.any_token(&mut self.random) else { return };
                let span = puzzle(&self.puzzles, job).random_span(400, &mut self.random);
                if hello.held.iter().all(|held| held.lease != lease) {
                    hello.held.push(Held { lease, job, spans: vec![span] });
                }
            }
            return;
        }
        let outside = Span::new(u32::MAX, 0, u64::MAX).expect("not empty");
        let beyond = Span::new(0, 1 << 40, 1 << 41).expect("not empty");
        for (i, (job, span)) in
            (0..).zip([(JobId(1), outside), (JobId(1), beyond), (JobId(99), beyond), (JobId(0), outside)])
        {
            hello.held.push(Held { lease: LeaseId(u64::MAX - i), job, spans: vec![span, span] });
        }
    }
}
