//! Inflicts each kind of fault.

use std::time::Duration;

use queens_ledger::store::MAX_DURATION;
use queens_model::{Delta, Held, Hello, JobId, JobIdentity, LeaseId, Report, ToCoordinator, WorkerId};
use queens_solver::{Count, Span};

use super::coordinator::{Coordinator, Standstill};
use super::event::Event;
use super::fault::Fault;
use super::host::Host;
use super::puzzle::puzzle;
use super::witness::Witness;
use super::world::World;

impl World<'_> {
    /// Inflicts a fault. Returns `false` if nobody is there to suffer it.
    pub(crate) fn inflict(&mut self, fault: Fault) -> bool {
        match fault {
            Fault::CommitFails | Fault::CommitFailsLate => {
                self.disk.n_failures = self.random.between(1, 6);
                self.disk.fails_late = fault == Fault::CommitFailsLate;
                true
            }
            Fault::ClockJump => {
                self.jump_clock();
                true
            }
            Fault::Backup => self.disk.back_up(),
            Fault::GoBack => self.go_back().is_some(),
            Fault::Cancel => self.cancel().is_some(),
            Fault::Pause | Fault::Priority | Fault::Drain | Fault::Block => self.operate(fault).is_some(),
            Fault::RestartAfterCommit => {
                let n_messages = self.random.below(4);
                let host = self.any_coordinator();
                let coordinator = host.and_then(|host| self.hosts[host].coordinator.as_mut());
                coordinator.map(|up| up.dies_after = Some(n_messages)).is_some()
            }
            Fault::Restart
            | Fault::Freeze
            | Fault::FreezeBeforeCommit
            | Fault::FreezeAfterCommit
            | Fault::CutOff
            | Fault::CutOffFromWorkers
            | Fault::Retire => self.harm_coordinator(fault).is_some(),
            _ => self.harm_worker(fault).is_some(),
        }
    }

    fn harm_coordinator(&mut self, fault: Fault) -> Option<()> {
        let mut host = self.any_coordinator()?;
        if fault == Fault::CutOffFromWorkers && self.hosts.iter().any(Host::is_superseded) {
            // Then workers move from the current leader to the old one.
            host = self.leader().unwrap_or(host);
        }
        match fault {
            Fault::Freeze => {
                let duration = self.any_standstill();
                self.freeze(host, duration, false);
            }
            Fault::FreezeBeforeCommit | Fault::FreezeAfterCommit => {
                let (duration, n_messages) = (self.any_standstill(), self.random.below(4));
                let standstill = if fault == Fault::FreezeBeforeCommit {
                    Standstill::BeforeCommit(duration)
                } else {
                    Standstill::AfterCommit(n_messages, duration)
                };
                self.hosts[host].coordinator.as_mut()?.standstill = Some(standstill);
            }
            Fault::CutOff => self.hosts[host].cut_off_until = self.now + self.any_standstill(),
            Fault::CutOffFromWorkers => self.cut_off_from_workers(host),
            Fault::Retire => {
                self.disk.lead.give_up(self.hosts[host].epoch);
                self.kill_coordinator(host);
            }
            _ => self.kill_coordinator(host),
        }
        Some(())
    }

    /// Breaks the links of some workers to a host, which they can't reach for a while.
    fn cut_off_from_workers(&mut self, host: usize) {
        let until = self.now + self.any_standstill();
        for worker in self.workers.keys().copied().collect::<Vec<_>>() {
            if self.random.percent(60) {
                self.unreachable.insert((worker, host), until);
                let link = self.workers[&worker].link.filter(|link| self.links[link].host == host);
                link.into_iter().for_each(|link| self.break_link(link));
            }
        }
    }

    /// Restores an earlier state of the store. Jobs that are lost by that are submitted again, with other boards.
    fn go_back(&mut self) -> Option<()> {
        let before = self.disk.contents.clone();
        if !self.disk.go_back() {
            return None;
        }
        self.note("an earlier state of the store is put back");
        for host in self.hosts.iter_mut().filter(|host| host.coordinator.is_some()) {
            host.has_gone_back = true;
            host.past.get_or_insert_with(|| before.clone());
        }
        for number in self.disk.contents.entries.len()..self.submitted_to.len() {
            let job = JobId(u64::try_from(number).expect("few") + 1);
            self.current[number] = self.puzzles.len();
            self.puzzles.push(self.library.puzzle(job, &mut self.random));
            self.submitted_to[number] = 0;
        }
        if self.random.percent(40) {
            (0..self.hosts.len()).for_each(|host| self.kill_coordinator(host));
        }
        let at = self.random.ms(0, 20_000);
        self.after(at, Event::AskAgain);
        Some(())
    }

    fn jump_clock(&mut self) {
        let host = if self.hosts.len() > 1 { self.any_coordinator().unwrap_or(0) } else { 0 };
        if self.random.percent(70) {
            self.hosts[host].ahead += self.random.ms(100, 60_000);
            // The first jump looks like a standstill, the next one does not.
            if self.random.percent(50) {
                self.coordinate(host, Coordinator::run);
                self.hosts[host].ahead += self.random.ms(100, 60_000);
            }
        } else {
            self.hosts[host].behind += self.random.ms(100, 10_000);
        }
    }

    /// Returns the witness of the coordinator that a worker is connected to.
    fn witness_of(&self, worker: WorkerId) -> &Witness {
        let link = self.workers.get(&worker).and_then(|worker| worker.link);
        &self.hosts[link.map_or(0, |link| self.links[&link].host)].witness
    }

    /// Returns the jobs with durable plans.
    fn planned_jobs(&self) -> Vec<JobIdentity> {
        let durable = &self.disk.contents;
        let planned = durable.entries.iter().filter(|(job, _)| durable.progress(**job).is_some());
        planned.map(|(_, entry)| entry.identity).collect()
    }

    /// Returns a random fencing token that was used.
    fn any_token(&mut self) -> Option<LeaseId> {
        self.random.pick(&self.tokens.iter().copied().collect::<Vec<_>>())
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

    /// Repeats an old report with a long delay, so that it arrives in a session that has ended.
    fn send_last_words(&mut self, id: WorkerId, link: u64) {
        let until = self.now + self.random.ms(1_000, 20_000);
        self.links.get_mut(&link).expect("was made").up.hold(until);
        let sent = self.workers[&id].sent.clone();
        if let Some(report) = self.random.pick(&sent) {
            self.send_up(link, ToCoordinator::Report(report));
        }
    }

    /// Breaks a link, with or without the messages in flight.
    pub(crate) fn break_link(&mut self, link: u64) {
        let (lose_up, lose_down) = (self.random.percent(50), self.random.percent(50));
        let last = self.links.get_mut(&link).expect("was made").up.close(lose_up);
        self.close_down(link, lose_down);
        // A silently lost connection is noticed only when its worker comes back or stays silent.
        if self.random.percent(60) {
            let at = last.saturating_sub(self.now) + self.random.ms(0, 20_000);
            self.after(at, Event::CoordinatorNotices { link });
        }
    }

    /// Returns a report that no honest worker sends.
    fn invent(&mut self, fault: Fault, id: WorkerId) -> Option<Report> {
        let jobs = self.planned_jobs();
        let job = self.random.pick(&jobs)?;
        // A token of its own or of any worker, of this or an earlier coordinator: others are rejected anyway.
        let mut leases = self.workers[&id].leases();
        leases.extend(self.any_token());
        let lease = self.random.pick(&leases)?;
        let span = puzzle(&self.puzzles, job).random_span(8, &mut self.random);
        let count = puzzle(&self.puzzles, job).count(span);
        let mut delta = Delta { job, lease, span, count, duration: Duration::from_millis(50) };
        match fault {
            Fault::CorruptReport => self.corrupt(&mut delta),
            // The most that a database column can hold: nothing may be added to it.
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
            // This delta is valid, but the report contains an invalid one.
            deltas.insert(0, Delta { job, span, count, ..delta });
            deltas[0].duration = Duration::ZERO;
        }
        Some(Report { sequence: 0, deltas, finished: vec![LeaseId(u64::MAX)] })
    }

    /// Returns a worker whose lease another has counted in its place, and a report of it with other numbers.
    fn contradict(&mut self) -> Option<(WorkerId, Report)> {
        let records =
            self.disk.contents.entries.keys().map(|&job| (job, self.disk.contents.records(job))).collect();
        let repeatable = |&worker: &WorkerId| {
            self.witness_of(worker).repeatable(worker, &records).into_iter().map(move |delta| (worker, delta))
        };
        let repeatable: Vec<(WorkerId, Delta)> = self.workers.keys().flat_map(repeatable).collect();
        let (worker, mut delta) = self.random.pick(&repeatable)?;
        let true_count = delta.count;
        // No two names tell the same lie.
        let lie = 1 + worker.0 % 4;
        delta.count.work += lie * self.random.below(2);
        delta.count.solutions += lie * u64::from(delta.count == true_count);
        Some((worker, Report { sequence: 0, deltas: vec![delta], finished: Vec::new() }))
    }

    /// Returns a report of wrong counts under one token, of its own or of any worker. Spans on which the ledger would
    /// believe it are left out, because no check could tell.
    fn lie(&mut self, id: WorkerId) -> Option<Report> {
        let jobs = self.planned_jobs();
        let mut leases = self.workers[&id].leases();
        leases.extend(self.any_token());
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
            if self.witness_of(id).is_granted(id, &delta) == Some(false) {
                deltas.push(delta);
            }
        }
        // No honest report has this number, so its acknowledgement has no effect.
        Some(Report { sequence: 0, deltas, finished: Vec::new() })
    }

    fn corrupt(&mut self, delta: &mut Delta) {
        let n_parts = puzzle(&self.puzzles, delta.job).plan.parts().len();
        let n_parts = u32::try_from(n_parts).expect("few");
        let outside = |part, from, to| Span::new(part, from, to).expect("not empty");
        match self.random.below(7) {
            0 => delta.job = JobIdentity(99),
            1 => delta.span = outside(n_parts, 0, 1),
            2 => delta.span = outside(u32::MAX, 0, 1),
            3 => delta.span = outside(delta.span.part(), delta.span.from(), u64::MAX),
            4 => delta.count.solutions = u64::MAX,
            5 => delta.count.work = 1 << 63,
            _ => delta.duration = Duration::MAX,
        }
    }

    /// Adds impossible leases, or leases of others, to a hello.
    pub(crate) fn spoil(&mut self, hello: &mut Hello, fault: Fault) {
        if fault == Fault::Impostor {
            for job in self.planned_jobs() {
                let Some(lease) = self.any_token() else { return };
                let span = puzzle(&self.puzzles, job).random_span(400, &mut self.random);
                if hello.held.iter().all(|held| held.lease != lease) {
                    hello.held.push(Held { lease, job, spans: vec![span] });
                }
            }
            return;
        }
        let outside = Span::new(u32::MAX, 0, u64::MAX).expect("not empty");
        let beyond = Span::new(0, 1 << 40, 1 << 41).expect("not empty");
        let job = self.puzzles[0].identity;
        let other = JobIdentity(99);
        for (i, (job, span)) in (0..).zip([(job, outside), (job, beyond), (other, beyond), (other, outside)])
        {
            hello.held.push(Held { lease: LeaseId(u64::MAX - i), job, spans: vec![span, span] });
        }
    }
}
