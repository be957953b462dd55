//! What is on the screen, and what keys do to it.

use std::time::{Duration, Instant};

use queens_messages::{CoordinatorStatus, Event, JobId, JobState, JobStatus, Name, WorkerStatus, plain};
use queens_proto::client::{ClientError, Problem};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::widgets::TableState;

use crate::worker_action::WorkerAction;

/// How long the answer to a key stays on the screen.
const MESSAGE: Duration = Duration::from_secs(6);

/// What is known of a coordinator and its cluster.
#[derive(Debug)]
pub(crate) struct ClusterState {
    /// The URL of the coordinator that leads.
    pub(super) url: String,
    pub(super) jobs: Vec<JobStatus>,
    pub(super) workers: Vec<WorkerStatus>,
    /// Blocked names.
    pub(super) blocked: Vec<Name>,
    /// The oldest first.
    pub(super) events: Vec<Event>,
    /// The coordinator itself; `None` if it is of an older version.
    pub(super) coordinator: Option<CoordinatorStatus>,
    /// Why nothing is recorded at present.
    pub(super) store_error: Option<String>,
}

/// What comes from the coordinator.
#[derive(Debug)]
pub(crate) enum FromCoordinator {
    Cluster(ClusterState),
    /// It can't be reached, and why.
    Away(Problem),
    /// What became of an action.
    Done(Result<String, ClientError>),
}

/// What an operator wants done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OperatorAction {
    Pause(JobId),
    Resume(JobId),
    Workers(WorkerAction, Name),
}

/// One of the two tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pane {
    Jobs,
    Workers,
}

/// What a key asks for that the screen can't do itself.
#[derive(Debug, PartialEq)]
pub(crate) enum Pressed {
    Quit,
    Do(OperatorAction),
}

/// What is on the screen.
#[derive(Debug)]
pub(crate) struct Screen {
    /// Whom it is about: the coordinator that was heard of last.
    pub(super) url: String,
    pub(super) cluster: Option<ClusterState>,
    /// Why the coordinator can't be reached, and since when.
    pub(super) away: Option<(Problem, Instant)>,
    pub(super) pane: Pane,
    pub(super) job_table: TableState,
    pub(super) worker_table: TableState,
    /// What is done if the next key is 'y'.
    pub(super) question: Option<OperatorAction>,
    /// Whether the coordinator was asked to do something and has not answered.
    pub(crate) asking: bool,
    pub(super) help: bool,
    /// What became of the last action, when, and whether it was done.
    pub(super) message: Option<(String, Instant, bool)>,
}

impl Screen {
    pub(crate) fn new(url: String) -> Self {
        Self {
            url,
            cluster: None,
            away: None,
            pane: Pane::Jobs,
            job_table: TableState::new().with_selected(0),
            worker_table: TableState::new().with_selected(0),
            question: None,
            asking: false,
            help: false,
            message: None,
        }
    }

    pub(crate) fn hear(&mut self, answer: FromCoordinator) {
        match answer {
            FromCoordinator::Cluster(cluster) => {
                self.away = None;
                self.url.clone_from(&cluster.url);
                let before = self.cluster.replace(cluster);
                self.keep_selection(before);
            }
            FromCoordinator::Away(problem) => {
                let since = self.away.take().map_or_else(Instant::now, |(_, since)| since);
                self.away = Some((problem, since));
            }
            FromCoordinator::Done(done) => {
                self.asking = false;
                let good = done.is_ok();
                let message = done.unwrap_or_else(|error| plain::line(&error.to_string()).into_owned());
                self.message = Some((message, Instant::now(), good));
            }
        }
    }

    /// Selects what was selected before, wherever it is now.
    fn keep_selection(&mut self, before: Option<ClusterState>) {
        let Some(cluster) = &self.cluster else { return };
        let place = |table: &TableState, n: usize| table.selected().unwrap_or(0).min(n.saturating_sub(1));
        let job =
            before.as_ref().and_then(|before| before.jobs.get(self.job_table.selected()?)).map(|job| job.id);
        let job = job.and_then(|id| cluster.jobs.iter().position(|job| job.id == id));
        self.job_table.select(Some(job.unwrap_or_else(|| place(&self.job_table, cluster.jobs.len()))));
        let worker = before.as_ref().and_then(|before| before.workers.get(self.worker_table.selected()?));
        let worker = worker.and_then(|worker| cluster.workers.iter().position(|now| now.id == worker.id));
        let place = place(&self.worker_table, cluster.workers.len());
        self.worker_table.select(Some(worker.unwrap_or(place)));
    }

    /// The message that is fresh enough to be shown.
    pub(super) fn message(&self) -> Option<(&str, bool)> {
        let (text, at, good) = self.message.as_ref()?;
        (at.elapsed() < MESSAGE).then_some((text, *good))
    }

    pub(crate) fn press(&mut self, key: KeyEvent) -> Option<Pressed> {
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return Some(Pressed::Quit);
        }
        if let Some(action) = self.question.take() {
            return matches!(key.code, KeyCode::Char('y' | 'Y')).then_some(Pressed::Do(action));
        }
        if std::mem::take(&mut self.help) {
            return None;
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Some(Pressed::Quit),
            KeyCode::Char('?' | 'h') => self.help = true,
            KeyCode::Tab | KeyCode::BackTab | KeyCode::Left | KeyCode::Right => {
                self.pane = if self.pane == Pane::Jobs { Pane::Workers } else { Pane::Jobs };
            }
            KeyCode::Up | KeyCode::Char('k') => self.move_by(-1),
            KeyCode::Down | KeyCode::Char('j') => self.move_by(1),
            KeyCode::PageUp => self.move_by(-10),
            KeyCode::PageDown => self.move_by(10),
            KeyCode::Home => self.move_by(isize::MIN),
            KeyCode::End => self.move_by(isize::MAX),
            _ if self.asking => {}
            KeyCode::Char('p') => self.question = self.pause_or_resume(),
            KeyCode::Char('d') => self.question = self.worker_action(false),
            KeyCode::Char('b') => self.question = self.worker_action(true),
            _ => {}
        }
        None
    }

    fn move_by(&mut self, steps: isize) {
        let Some(cluster) = &self.cluster else { return };
        let (table, n) = match self.pane {
            Pane::Jobs => (&mut self.job_table, cluster.jobs.len()),
            Pane::Workers => (&mut self.worker_table, cluster.workers.len()),
        };
        let place = table.selected().unwrap_or(0).saturating_add_signed(steps);
        table.select(Some(place.min(n.saturating_sub(1))));
    }

    /// Pauses the selected job, or lets it go on.
    fn pause_or_resume(&self) -> Option<OperatorAction> {
        let job = self
            .cluster
            .as_ref()?
            .jobs
            .get(self.job_table.selected()?)
            .filter(|_| self.pane == Pane::Jobs)?;
        match job.state {
            JobState::Paused | JobState::Failed => Some(OperatorAction::Resume(job.id)),
            JobState::Done | JobState::Cancelled => None,
            JobState::Planning
            | JobState::Queued
            | JobState::Running
            | JobState::Verifying
            | JobState::Disputed => Some(OperatorAction::Pause(job.id)),
        }
    }

    /// Drains the workers of the selected one's name, or blocks or unblocks them.
    fn worker_action(&self, block: bool) -> Option<OperatorAction> {
        let cluster = self.cluster.as_ref().filter(|_| self.pane == Pane::Workers)?;
        let name = cluster.workers.get(self.worker_table.selected()?)?.name.clone();
        let action = match block {
            false => WorkerAction::Drain,
            true if cluster.blocked.contains(&name) => WorkerAction::Unblock,
            true => WorkerAction::Block,
        };
        Some(OperatorAction::Workers(action, name))
    }

    /// What the operator is asked before something is done.
    pub(super) fn question(&self) -> Option<String> {
        let what = match self.question.as_ref()? {
            OperatorAction::Pause(job) => format!("Pause job {job}"),
            OperatorAction::Resume(job) => format!("Let job {job} go on"),
            OperatorAction::Workers(action, name) => self.workers_question(*action, name),
        };
        Some(format!("{what}? y: yes, any other key: no"))
    }

    fn workers_question(&self, action: WorkerAction, name: &Name) -> String {
        let workers = self.cluster.iter().flat_map(|cluster| &cluster.workers);
        let n_workers = workers.filter(|worker| worker.name == *name).count();
        let workers =
            if n_workers == 1 { "the worker".to_owned() } else { format!("all {n_workers} workers") };
        let what = match action {
            WorkerAction::Drain => "Send home",
            WorkerAction::Block => "Block",
            WorkerAction::Unblock => "Unblock",
        };
        format!("{what} {workers} named '{name}'")
    }
}
