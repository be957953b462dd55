//! The coordinators' processes: their commands, requests, deaths and restarts.

use std::time::Duration;

use queens_ledger::Run;
use queens_model::ToWorker;

use super::coordinator::Coordinator;
use super::event::Event;
use super::sight::Sight;
use super::surroundings::{Command, Request, Surroundings};
use super::world::World;

/// The longest interval between two checks for a tick.
const IDLE: Duration = Duration::from_secs(1);

impl World<'_> {
    /// Delivers an event to the process on a host.
    pub(crate) fn step_host(&mut self, host: usize, event: &Event) {
        match *event {
            Event::Campaign { .. } => self.campaign(host),
            Event::Lead { .. } => self.lead(host),
            Event::Renew { .. } => self.renew(host),
            Event::Tick { .. } => self.tick(host),
            Event::Wake { .. } => self.coordinate(host, Coordinator::run),
            Event::Retry { .. } => self.coordinate(host, Coordinator::retry),
            Event::Planned { job, .. } => self.command(host, Command::Planned(job)),
            _ => unreachable!("of no process: {event:?}"),
        }
    }

    /// Puts a command into an event loop's queue, and often runs the loop before the next one comes.
    pub(crate) fn command(&mut self, host: usize, command: Command) {
        let Some(coordinator) = &mut self.hosts[host].coordinator else { return };
        coordinator.push(command);
        if self.random.percent(70) {
            self.coordinate(host, Coordinator::run);
        } else {
            let (at, start) = (self.random.ms(1, 60), self.hosts[host].start);
            self.after(at, Event::Wake { start });
        }
    }

    pub(crate) fn tick(&mut self, host: usize) {
        let Some(coordinator) = &self.hosts[host].coordinator else { return };
        let next_tick = coordinator.next_tick();
        if next_tick.is_some_and(|next_tick| self.hosts[host].clock(self.now) >= next_tick) {
            self.coordinate(host, Coordinator::run);
        }
        let here = &self.hosts[host];
        let next_tick = here.coordinator.as_ref().and_then(Coordinator::next_tick);
        let wait = next_tick.map_or(IDLE, |next_tick| next_tick.saturating_sub(here.clock(self.now)));
        let start = here.start;
        self.after(wait.clamp(Duration::from_millis(1), IDLE), Event::Tick { start });
    }

    /// Runs a coordinator and carries out its requests. A coordinator that is stopped runs later.
    pub(crate) fn coordinate(
        &mut self,
        host: usize,
        act: impl FnOnce(&mut Coordinator, Duration, &mut Surroundings<'_>),
    ) {
        let here = &mut self.hosts[host];
        if here.is_frozen(self.now) {
            let start = here.start;
            return self.after(Duration::ZERO, Event::Wake { start });
        }
        let clock = here.clock(self.now);
        let Some(mut coordinator) = here.coordinator.take() else { return };
        let mut around = self.surroundings(host);
        act(&mut coordinator, clock, &mut around);
        let requests = around.requests;
        self.hosts[host].coordinator = Some(coordinator);
        requests.into_iter().for_each(|request| self.grant(host, request));
    }

    fn surroundings(&mut self, host: usize) -> Surroundings<'_> {
        let host = &mut self.hosts[host];
        Surroundings {
            puzzles: &self.puzzles,
            disk: &mut self.disk,
            is_cut_off: host.is_cut_off(self.now),
            past: host.past.as_ref(),
            has_gone_back: host.has_gone_back,
            witness: &mut host.witness,
            tokens: &mut self.tokens,
            sights: &mut self.tally.sights,
            reporting: self.reporting,
            workers: &self.workers,
            requests: Vec::new(),
        }
    }

    fn grant(&mut self, host: usize, request: Request) {
        let start = self.hosts[host].start;
        match request {
            Request::Send { link, message } => {
                let frozen = self.hosts[host].frozen_until.saturating_sub(self.now);
                let latency = frozen + self.random.ms(0, 40);
                let lane = &mut self.links.get_mut(&link).expect("was made").down;
                if let Some(at) = lane.send(self.now, latency) {
                    if self.hosts[host].is_superseded() {
                        match &message {
                            ToWorker::Lease(_) => self.tally.sights.see(Sight::LeasedByOldLeader),
                            ToWorker::Acknowledge { .. } => {
                                self.tally.sights.see(Sight::AcknowledgedByOldLeader);
                            }
                            _ => {}
                        }
                    }
                    self.after(at - self.now, Event::Down { link, message });
                }
            }
            Request::Close { link } => {
                // Messages in flight from the worker still arrive, and are refused because its session has ended.
                self.close_down(link, false);
            }
            Request::Plan(job) => {
                let at = self.random.ms(1, 2_000);
                self.after(at, Event::Planned { start, job });
            }
            Request::Retry => self.after(Duration::from_secs(1), Event::Retry { start }),
            Request::Freeze(duration) => self.freeze(host, duration, true),
            Request::GoOn => {
                self.hosts[host].has_gone_back = false;
                self.hosts[host].past = None;
            }
            Request::Resign | Request::Die => self.kill_coordinator(host),
        }
    }

    /// Closes the direction to a worker, which notices it some time after the last message.
    pub(crate) fn close_down(&mut self, link: u64, at_once: bool) {
        let last = self.links.get_mut(&link).expect("was made").down.close(at_once);
        let at = last.saturating_sub(self.now) + self.random.ms(0, 500);
        self.after(at, Event::WorkerNotices { link });
    }

    pub(crate) fn kill_coordinator(&mut self, host: usize) {
        let here = &mut self.hosts[host];
        if here.coordinator.take().is_none() {
            return;
        }
        self.n_starts += 1;
        (here.start, here.frozen_until, here.past) = (self.n_starts, Duration::ZERO, None);
        here.has_gone_back = false;
        self.note(format_args!("the coordinator on host {host} dies"));
        let links = self.links.iter().filter(|(_, link)| link.host == host).map(|(&number, _)| number);
        for link in links.collect::<Vec<_>>() {
            self.links.get_mut(&link).expect("listed").up.close(true);
            let at_once = self.random.percent(50);
            self.close_down(link, at_once);
        }
        let at = self.random.ms(0, 8_000);
        self.after(at, Event::Restart { host });
        if self.hosts.len() > 1 {
            let at = self.random.ms(0, 1_000);
            self.after(at, Event::AskAgain);
        }
    }

    /// Starts a process, which leads at once if it is the only one.
    pub(crate) fn restart(&mut self, host: usize) {
        self.n_starts += 1;
        let start = self.n_starts;
        self.hosts[host].start = start;
        if self.hosts.len() > 1 {
            self.after(Duration::ZERO, Event::Campaign { start });
        } else {
            self.start_coordinator(host);
        }
    }

    /// Starts a coordinator from the durable state.
    pub(crate) fn start_coordinator(&mut self, host: usize) {
        let here = &mut self.hosts[host];
        (here.started, here.ahead, here.behind) = (self.now, Duration::ZERO, Duration::ZERO);
        let (start, epoch) = (here.start, here.epoch);
        let mut around = self.surroundings(host);
        let coordinator = Coordinator::start(epoch, Run::new(start.into()), &mut around);
        let requests = around.requests;
        self.hosts[host].coordinator = Some(coordinator);
        self.ask_again();
        requests.into_iter().for_each(|request| self.grant(host, request));
        self.repeat_operations();
        self.after(Duration::ZERO, Event::Wake { start });
        self.after(Duration::ZERO, Event::Tick { start });
    }
}
