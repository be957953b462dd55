//! One history: its workers, links, operator and coordinators, and the order of its events.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::time::Duration;

use queens_ledger::Reporting;
use queens_model::{JobId, JobIdentity, LeaseId, ToCoordinator, WorkerId};
use queens_solver::Span;
use queens_worker_session::{AfterStep, SessionStep};

use super::coordinator::Coordinator;
use super::disk::{Disk, RealDisk};
use super::event::{Event, Log};
use super::fault::{Fault, Faults, Tally, draw, draw_of_two};
use super::host::Host;
use super::network::{Lane, Link};
use super::puzzle::{Library, Puzzle, puzzle};
use super::random::Random;
use super::sight::Sight;
use super::surroundings::Command;
use super::worker::{FIRST_NEWCOMER, Worker};

/// Without further faults, a history must end within this time and these steps. Nearly all need far fewer. But a worker
/// that was slowed down several times may take long for its last subproblem, or must recount everything of the only
/// other name.
const PATIENCE: Duration = Duration::from_secs(6 * 3600);
const MOST_STEPS: u64 = 1_000_000;

/// The most workers that join because somebody else is wanted.
const MOST_NEWCOMERS: u64 = 30;

/// How long a history continues after the last job, so that late messages arrive.
const AFTERMATH: Duration = Duration::from_secs(20);

/// The interval at which operators look for failed jobs, after the last fault.
const OVERSEE: Duration = Duration::from_secs(60);

/// The workers' names, each shared by several.
pub(crate) const NAMES: [&str; 2] = ["worker 0", "worker 1"];

/// The simulated world.
#[derive(Debug)]
pub(crate) struct World<'a> {
    pub(crate) now: Duration,
    events: BTreeMap<(Duration, u64), Event>,
    n_events: u64,
    pub(crate) random: Random,
    pub(crate) library: &'a Library,
    /// The boards of all jobs that were ever wanted.
    pub(crate) puzzles: Vec<Puzzle>,
    /// The board of each job, by its number less 1.
    pub(crate) current: Vec<usize>,
    /// The process that each submitted job was last asked of.
    pub(crate) submitted_to: Vec<u64>,
    pub(crate) wants_cancel: bool,
    /// The jobs and names that operators have paused and blocked.
    pub(crate) paused: BTreeSet<JobId>,
    pub(crate) blocked: BTreeSet<String>,
    pub(crate) disk: Disk,
    /// All fencing tokens ever used.
    pub(crate) tokens: BTreeSet<LeaseId>,
    pub(crate) workers: BTreeMap<WorkerId, Worker>,
    n_workers: u64,
    pub(crate) links: BTreeMap<u64, Link>,
    n_links: u64,
    /// One host, whose store is a directory, or two that share a database.
    pub(crate) hosts: Vec<Host>,
    /// Until when a worker can't reach a host.
    pub(crate) unreachable: BTreeMap<(WorkerId, usize), Duration>,
    /// The coordinators' rule for report intervals.
    pub(crate) reporting: Reporting,
    /// The last process number.
    pub(crate) n_starts: u64,
    n_faults_left: usize,
    /// Workers whose next hello is invalid.
    pub(crate) bad_hellos: Vec<(WorkerId, Fault)>,
    pub(crate) tally: Tally,
    pub(crate) log: &'a mut Log,
}

impl<'a> World<'a> {
    /// Creates the history of a seed, with some of its faults.
    pub(crate) fn new(
        library: &'a Library,
        seed: u64,
        faults: &Faults,
        n_hosts: usize,
        disk: Option<Box<dyn RealDisk>>,
        log: &'a mut Log,
    ) -> Self {
        let mut random = Random::new(seed);
        let drawn = if n_hosts > 1 { draw_of_two(&mut random.fork()) } else { draw(&mut random.fork()) };
        let n_jobs = if random.percent(30) { 2 } else { 1 };
        let reporting = any_reporting(&mut random);
        let puzzles: Vec<Puzzle> = (1..=n_jobs).map(|job| library.puzzle(JobId(job), &mut random)).collect();
        let mut world = Self {
            now: Duration::ZERO,
            events: BTreeMap::new(),
            n_events: 0,
            random,
            library,
            current: (0..puzzles.len()).collect(),
            puzzles,
            submitted_to: Vec::new(),
            wants_cancel: false,
            paused: BTreeSet::new(),
            blocked: BTreeSet::new(),
            disk: Disk::new(disk),
            tokens: BTreeSet::new(),
            workers: BTreeMap::new(),
            n_workers: 0,
            links: BTreeMap::new(),
            n_links: 0,
            hosts: (0..n_hosts).map(|_| Host::default()).collect(),
            unreachable: BTreeMap::new(),
            reporting,
            n_starts: 0,
            n_faults_left: 0,
            bad_hellos: Vec::new(),
            tally: Tally::default(),
            log,
        };
        (0..n_hosts).for_each(|host| world.after(Duration::ZERO, Event::Restart { host }));
        for i in 0..n_jobs {
            let at = world.random.ms(0, 10_000 * i);
            world.after(at, Event::Submit);
        }
        for _ in 0..world.random.between(1, 4) {
            let at = world.random.ms(0, 3_000);
            world.after(at, Event::Join { healthy: false });
        }
        for (_, (at, fault)) in (0..).zip(drawn).filter(|(number, _)| faults.has(*number)) {
            world.n_faults_left += 1;
            world.after(at, Event::Fault(fault));
        }
        world
    }

    /// Plays the history to its end, with all checks.
    pub(crate) fn run(&mut self) {
        let (mut clean, mut over) = (None, None);
        let mut n_steps = 0;
        while let Some(((at, _), event)) = self.events.pop_first() {
            self.now = at;
            n_steps += 1;
            self.step(event);
            if self.n_faults_left == 0 && clean.is_none() {
                clean = Some((self.now + PATIENCE, n_steps + MOST_STEPS));
                self.after(Duration::ZERO, Event::Join { healthy: true });
                self.after(Duration::ZERO, Event::Undo);
                self.after(OVERSEE, Event::Oversee);
            }
            if let Some((deadline, last_step)) = clean {
                assert!(
                    self.now < deadline && n_steps < last_step,
                    "no end in sight: {:?}",
                    self.disk.contents.entries
                );
            }
            let are_over = self.submitted_to.len() == self.current.len()
                && (1..).take(self.current.len()).all(|job| self.disk.contents.is_over(JobId(job)));
            if !are_over {
                continue;
            }
            if self.now >= *over.get_or_insert(self.now + AFTERMATH) && clean.is_some() && self.is_quiet() {
                return self.check_end();
            }
        }
    }

    fn is_quiet(&self) -> bool {
        self.leading().is_some_and(|coordinator| !coordinator.is_blocked() && coordinator.is_idle())
    }

    fn leading(&self) -> Option<&Coordinator> {
        self.leader().and_then(|host| self.hosts[host].coordinator.as_ref())
    }

    pub(crate) fn after(&mut self, delay: Duration, event: Event) {
        self.n_events += 1;
        self.events.insert((self.now + delay, self.n_events), event);
    }

    pub(crate) fn note(&mut self, line: impl Display) {
        let now = self.now;
        self.log.add(now, || line.to_string());
    }

    fn step(&mut self, event: Event) {
        if event.is_telling() {
            self.log.add(self.now, || format!("{event:?}"));
        }
        if let Some(stalled_until) = self.stalled_until(&event) {
            // The lead is renewed on its own thread: it may go on before or after its user.
            let is_renewal = matches!(event, Event::Renew { .. });
            let later = if is_renewal { self.random.ms(0, 6_000) } else { Duration::ZERO };
            return self.after(stalled_until - self.now + later, event);
        }
        let now = self.now;
        match event {
            Event::Up { link, message } => self.arrive(link, message),
            Event::Down { link, message } => {
                let lane = self.links[&link].down;
                if let Some(worker) = self.listener(link).filter(|_| lane.arrives()) {
                    let id = worker.id;
                    worker.hear(now, message);
                    self.drive(id);
                }
            }
            Event::Counted { worker, thread, duration } => {
                let Some(counting) = self.workers.get_mut(&worker) else { return };
                let puzzles = &self.puzzles;
                counting.finish(thread, |job, span| puzzle(puzzles, job).count(span), duration);
                self.drive(worker);
            }
            Event::WakeWorker { link } => {
                if let Some(worker) = self.listener(link) {
                    let id = worker.id;
                    self.drive(id);
                }
            }
            Event::Connect { worker } => self.connect(worker),
            Event::Leave { worker } => self.leave(worker),
            Event::WorkerNotices { link } => {
                if let Some(worker) = self.listener(link) {
                    let id = worker.id;
                    self.lose_link(id);
                }
            }
            Event::CoordinatorNotices { link } => {
                self.command(self.links[&link].host, Command::Disconnect { link });
            }
            Event::Join { healthy } => self.join(healthy),
            Event::Submit => self.submit(),
            Event::Fault(fault) => {
                self.n_faults_left -= 1;
                if self.inflict(fault) {
                    self.tally.count(fault);
                }
            }
            Event::Undo => {
                self.paused.clear();
                self.blocked.clear();
                self.repeat_operations();
            }
            Event::AskAgain => {
                self.ask_again();
                self.repeat_operations();
            }
            Event::Oversee => {
                if self.leading().is_some_and(Coordinator::has_failed_jobs) {
                    self.repeat_operations();
                }
                let are_few = self.n_workers < FIRST_NEWCOMER + MOST_NEWCOMERS;
                if are_few && self.leading().is_some_and(Coordinator::wants_others) {
                    // Two of the present workers may be blocked, so another one joins.
                    self.n_workers = self.n_workers.max(FIRST_NEWCOMER);
                    self.join(true);
                }
                self.after(OVERSEE, Event::Oversee);
            }
            Event::Restart { host } => self.restart(host),
            Event::Thaw { host } => self.thaw(host),
            Event::Campaign { start }
            | Event::Lead { start }
            | Event::Renew { start }
            | Event::Tick { start }
            | Event::Wake { start }
            | Event::Retry { start }
            | Event::Planned { start, .. } => {
                if let Some(host) = self.host_of(start) {
                    self.step_host(host, &event);
                }
            }
        }
    }

    /// Returns until when the target of an event is stopped, if it is.
    fn stalled_until(&self, event: &Event) -> Option<Duration> {
        let worker = |worker| self.workers.get(worker).map(|worker| worker.stalled_until);
        let process = |start| self.host_of(start).map(|host| self.hosts[host].frozen_until);
        let until = match event {
            Event::Down { link, .. } | Event::WakeWorker { link } | Event::WorkerNotices { link } => {
                worker(&self.links[link].worker)
            }
            Event::Counted { worker: id, .. }
            | Event::Connect { worker: id }
            | Event::Leave { worker: id } => worker(id),
            Event::Up { link, .. } | Event::CoordinatorNotices { link } => {
                Some(self.hosts[self.links[link].host].frozen_until)
            }
            Event::Campaign { start }
            | Event::Lead { start }
            | Event::Renew { start }
            | Event::Tick { start }
            | Event::Wake { start }
            | Event::Retry { start }
            | Event::Planned { start, .. } => process(*start),
            _ => None,
        };
        until.filter(|&until| until > self.now)
    }

    /// Returns the worker at the end of a link, if it is still there.
    fn listener(&mut self, link: u64) -> Option<&mut Worker> {
        let worker = self.links[&link].worker;
        self.workers.get_mut(&worker).filter(|worker| worker.link == Some(link))
    }

    fn join(&mut self, healthy: bool) {
        self.n_workers += 1;
        let id = WorkerId(self.n_workers);
        // One thread takes about a minute for everything.
        let whole: f64 = self.puzzles.iter().map(|puzzle| puzzle.plan.work() as f64).sum();
        let speed = whole / 60.0 * if healthy { 1.0 } else { self.random.factor(8.0) };
        let guess = self.random.factor(10.0);
        // One in four has another decomposition version of the halves; the last worker can count everything.
        let can_join = healthy || self.random.percent(75);
        let halves_speed = can_join.then(|| speed * if healthy { 1.0 } else { self.random.factor(4.0) });
        let n_threads = u32::try_from(self.random.between(1, 3)).expect("few");
        let worker = if !healthy && self.random.percent(5) {
            // It claims many slow threads, and counts nothing.
            let mut idle = Worker::new(id, 64, speed, halves_speed, 1.0 / speed);
            idle.stuck_until = Duration::from_secs(1 << 30);
            idle
        } else {
            Worker::new(id, n_threads, speed, halves_speed, guess)
        };
        self.workers.insert(id, worker);
        self.connect(id);
    }

    fn connect(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id).filter(|worker| worker.link.is_none()) else { return };
        let now = self.now;
        // Any coordinator that believes it leads accepts a worker.
        let is_open = |(host, there): (usize, &Host)| {
            let is_reached = self.unreachable.get(&(id, host)).is_none_or(|&until| until <= now);
            (there.coordinator.is_some() && is_reached).then_some(host)
        };
        let open: Vec<usize> = (0..).zip(&self.hosts).filter_map(is_open).collect();
        let host = if open.len() > 1 { self.random.pick(&open) } else { open.first().copied() };
        let Some(host) = host else {
            let again = self.random.ms(200, 1_500);
            return self.after(again, Event::Connect { worker: id });
        };
        if self.hosts[host].is_superseded() {
            self.tally.sights.see(Sight::OldLeaderJoined);
        }
        let mut messages = worker.connect(self.now);
        self.n_links += 1;
        let link = self.n_links;
        (worker.link, worker.wakes) = (Some(link), None);
        self.links.insert(link, Link { worker: id, host, up: Lane::default(), down: Lane::default() });
        if let Some(at) = self.bad_hellos.iter().position(|&(bad, _)| bad == id) {
            let (_, fault) = self.bad_hellos.swap_remove(at);
            if let Some(ToCoordinator::Hello(hello)) = messages.first_mut() {
                self.spoil(hello, fault);
            }
        }
        messages.into_iter().for_each(|message| self.send_up(link, message));
        self.drive(id);
    }

    /// Lets a worker notice a broken link. It connects again, unless it only waited for its last acknowledgements.
    fn lose_link(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.link = None;
        if worker.is_leaving() {
            self.workers.remove(&id);
        } else {
            let at = self.random.ms(0, 3_000);
            self.after(at, Event::Connect { worker: id });
        }
    }

    /// Tells a worker to leave, which it does at once if it has no link.
    fn leave(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        if worker.link.is_some() {
            worker.leave(self.now);
            self.drive(id);
        } else {
            self.workers.remove(&id);
        }
    }

    pub(crate) fn send_up(&mut self, link: u64, message: ToCoordinator) {
        let latency = self.random.ms(0, 40);
        let lane = &mut self.links.get_mut(&link).expect("was made").up;
        if let Some(at) = lane.send(self.now, latency) {
            self.after(at - self.now, Event::Up { link, message });
        }
    }

    /// Lets idle threads begin, and the session take its next step.
    fn drive(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        let stuck_until = worker.stuck_until;
        let begun: Vec<(usize, JobIdentity, Span)> = (0..worker.n_threads())
            .filter_map(|thread| worker.begin(thread).map(|(job, chunk)| (thread, job, chunk)))
            .collect();
        let step = worker.link.map(|link| (link, worker.step(self.now)));
        for (thread, job, chunk) in begun {
            let puzzle = puzzle(&self.puzzles, job);
            let speed = self.workers[&id].speed(puzzle.plan.method());
            let seconds = puzzle.work(chunk) / speed * self.random.factor(2.0);
            let duration = Duration::from_secs_f64(seconds);
            let at = duration + stuck_until.saturating_sub(self.now);
            self.after(at, Event::Counted { worker: id, thread, duration });
        }
        if let Some((link, step)) = step {
            self.follow(id, link, step);
        }
    }

    /// Carries out the step of a worker's session.
    fn follow(&mut self, id: WorkerId, link: u64, step: SessionStep) {
        let SessionStep { messages, remark, next } = step;
        remark.into_iter().for_each(|remark| self.note(format_args!("{id}: {remark:?}")));
        messages.into_iter().for_each(|message| self.send_up(link, message));
        match next {
            AfterStep::Wait { until } => {
                let worker = self.workers.get_mut(&id).expect("it has said so");
                if worker.wakes.replace(until) != Some(until) {
                    self.after(until.saturating_sub(self.now), Event::WakeWorker { link });
                }
            }
            AfterStep::Reconnect => {
                self.break_link(link);
                self.lose_link(id);
            }
            AfterStep::Left => {
                let is_answered = self.workers.remove(&id).is_some_and(|worker| worker.watch.is_answered);
                if is_answered {
                    self.tally.sights.see(Sight::GoodbyeAnswered);
                } else {
                    self.break_link(link);
                }
            }
        }
    }

    fn arrive(&mut self, link: u64, message: ToCoordinator) {
        let Link { host, up, .. } = self.links[&link];
        if self.hosts[host].coordinator.is_none() || !up.arrives() {
            return;
        }
        let command = match message {
            ToCoordinator::Hello(hello) => Command::Connect { hello: *hello, link },
            ToCoordinator::Report(report) => Command::Report { link, report },
            ToCoordinator::Failure(failure) => Command::Failure { link, failure },
            ToCoordinator::Notice(text) => panic!("an unexpected notice: {text}"),
            ToCoordinator::Sensors(sensors) => panic!("no worker has a card: {sensors}"),
            ToCoordinator::Goodbye => Command::Goodbye { link },
        };
        self.command(host, command);
    }
}

/// Returns the usual rule in half of the histories. In the others, workers report as rarely as among thousands.
fn any_reporting(random: &mut Random) -> Reporting {
    if random.percent(50) {
        return Reporting::default();
    }
    let longest = random.ms(1_000, 40_000).try_into().expect("an interval");
    Reporting { per_second: 0.2 * random.factor(10.0), longest }
}
