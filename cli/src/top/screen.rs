//! The state of the screen, and the effects of keys on it.

use std::time::{Duration, Instant};

use queens_model::{Contribution, Event, JobId, JobState, JobStatus, Name, WorkerState, WorkerStatus};
use queens_proto::client::{ClientError, Greeting, Problem};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use queens_proto::client::WorkersChange;
use queens_proto::pb::Empty;

use super::action::OperatorAction;
use super::list::List;
use super::requests::{Answer, Content, View};
use crate::commands::workers::order;

/// The pause after a failed request.
const RETRY: Duration = Duration::from_secs(1);

/// The interval of requests for a job's contributions, for which the coordinator reads all its records.
const CONTRIBUTIONS: Duration = Duration::from_secs(5);

/// How long the result of an action stays on the screen.
const MESSAGE: Duration = Duration::from_secs(6);

/// A request of a key that the screen can't handle itself.
#[derive(Debug)]
pub(crate) enum Pressed {
    Quit,
    Do(OperatorAction),
}

/// The last line, if it receives the keys.
#[derive(Debug)]
pub(super) enum Prompt {
    /// An action that the key 'y' confirms.
    Question(OperatorAction),
    /// An action that the user types.
    Line(String),
}

/// One job on the screen.
#[derive(Debug)]
pub(super) struct JobPage {
    pub(super) status: Option<JobStatus>,
    pub(super) contributions: Vec<Contribution>,
    contributions_due: Instant,
    /// The number of lines scrolled off at the top.
    pub(super) scrolled: u16,
}

/// The state of the screen.
#[derive(Debug)]
pub(crate) struct Screen {
    /// The coordinator that answered last.
    pub(super) url: String,
    pub(crate) view: View,
    /// The list to return to from a job.
    back: View,
    pub(super) jobs: List<JobStatus>,
    pub(super) workers: List<WorkerStatus>,
    /// Blocked names without a worker.
    pub(super) absent: Vec<Name>,
    pub(super) page: JobPage,
    pub(super) greeting: Option<Greeting>,
    pub(super) events: Vec<Event>,
    /// Why the coordinator can't be reached, and since when.
    pub(super) away: Option<(Problem, Instant)>,
    pub(super) prompt: Option<Prompt>,
    /// Whether an action still waits for the coordinator's answer.
    pub(crate) is_acting: bool,
    /// When to request the view; `None` while a request runs.
    pub(crate) due: Option<Instant>,
    /// The result of the last action, its time, and whether it succeeded.
    message: Option<(String, Instant, bool)>,
}

impl JobPage {
    fn new(status: Option<JobStatus>) -> Self {
        Self { status, contributions: Vec::new(), contributions_due: Instant::now(), scrolled: 0 }
    }
}

impl Screen {
    pub(crate) fn new(url: String) -> Self {
        Self {
            url,
            view: View::Jobs,
            back: View::Jobs,
            jobs: List::default(),
            workers: List::default(),
            absent: Vec::new(),
            page: JobPage::new(None),
            greeting: None,
            events: Vec::new(),
            away: None,
            prompt: None,
            is_acting: false,
            due: Some(Instant::now()),
            message: None,
        }
    }

    /// Returns whether a request for the view needs a job's contributions.
    pub(crate) fn are_contributions_due(&self) -> bool {
        Instant::now() >= self.page.contributions_due
    }

    /// Shows an answer. O(J log J), or O(W log W).
    pub(crate) fn hear(&mut self, answer: Result<Answer, ClientError>) {
        let pause = match &answer {
            // The user has opened another view meanwhile.
            Ok(answer) if answer.view != self.view => Duration::ZERO,
            Ok(answer) => answer.pause(),
            Err(_) => RETRY,
        };
        self.due = Some(Instant::now() + pause);
        let Answer { url, greeting, events, content, .. } = match (answer, self.view) {
            (Ok(answer), _) => answer,
            // The job does not exist.
            (Err(ClientError { problem: Problem::Refused(words), .. }), View::Job(_)) => {
                self.say(words, false);
                return self.go(self.back);
            }
            (Err(error), _) => {
                let since = self.away.take().map_or_else(Instant::now, |(_, since)| since);
                self.away = Some((error.problem, since));
                return;
            }
        };
        (self.away, self.url, self.greeting, self.events) = (None, url, Some(greeting), events);
        match content {
            Content::Jobs(mut jobs) => {
                // In the order of service; then those that have ended, the latest first.
                jobs.sort_by_key(|job| match job.state.is_over() {
                    false => (false, -job.priority.get(), job.id.0),
                    true => (true, 0, u64::MAX - job.id.0),
                });
                self.jobs.replace(jobs, |job| job.id, |job| job.state == JobState::Running);
            }
            Content::Workers(mut workers, mut blocked) => {
                order(&mut workers, &mut blocked);
                self.workers.replace(workers, |worker| worker.id, |_| true);
                self.absent = blocked;
            }
            Content::Job(job, contributions) if self.view == View::Job(job.id) => {
                self.page.status = Some(*job);
                if let Some(contributions) = contributions {
                    self.page.contributions = contributions;
                    self.page.contributions_due = Instant::now() + CONTRIBUTIONS;
                }
            }
            Content::Job(..) => {}
        }
    }

    /// Shows the result of an action.
    pub(crate) fn hear_result(&mut self, result: anyhow::Result<String>) {
        self.is_acting = false;
        let is_done = result.is_ok();
        self.say(result.unwrap_or_else(|error| format!("{error:#}")), is_done);
        self.refresh();
    }

    fn say(&mut self, text: String, is_good: bool) {
        self.message = Some((text, Instant::now(), is_good));
    }

    /// Returns the message, while it is recent, and whether it is a good one.
    pub(super) fn message(&self) -> Option<(&str, bool)> {
        let (text, at, is_good) = self.message.as_ref()?;
        (at.elapsed() < MESSAGE).then_some((text, *is_good))
    }

    /// Returns whether the user has only the role of a viewer.
    pub(super) fn is_for_viewer(&self) -> bool {
        self.greeting.as_ref().is_some_and(|greeting| greeting.role.as_deref() == Some("viewer"))
    }

    pub(crate) fn press(&mut self, key: KeyEvent) -> Option<Pressed> {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (self.prompt.take(), key.code) {
            (Some(Prompt::Question(action)), KeyCode::Char('y' | 'Y')) => return Some(Pressed::Do(action)),
            (Some(Prompt::Question(_)), _) | (Some(Prompt::Line(_)), KeyCode::Esc) => {}
            (Some(Prompt::Line(text)), KeyCode::Enter) => match OperatorAction::typed(&text) {
                Ok(action) => return Some(Pressed::Do(action)),
                Err(error) => {
                    self.say(error.to_string(), false);
                    self.prompt = Some(Prompt::Line(text));
                }
            },
            (Some(Prompt::Line(mut text)), code) => {
                match code {
                    KeyCode::Char('u') if is_control => text.clear(),
                    KeyCode::Char(c) if !is_control => text.push(c),
                    KeyCode::Backspace => _ = text.pop(),
                    _ => {}
                }
                self.message = None;
                self.prompt = Some(Prompt::Line(text));
            }
            (None, KeyCode::Char('q')) => return Some(Pressed::Quit),
            (None, code) => self.press_key(code),
        }
        None
    }

    fn press_key(&mut self, key: KeyCode) {
        match (key, self.view) {
            (KeyCode::Esc | KeyCode::Backspace, View::Job(_)) => self.go(self.back),
            (KeyCode::Tab, View::Jobs) => self.go(View::Workers),
            (KeyCode::Tab, View::Workers) => self.go(View::Jobs),
            (KeyCode::Enter, View::Jobs) => {
                if let Some(job) = self.jobs.selected() {
                    self.open(job.id, Some(job.clone()));
                }
            }
            (KeyCode::Enter, View::Workers) => {
                if let Some(counting) = self.workers.selected().and_then(|worker| worker.counting) {
                    self.open(counting.job, None);
                }
            }
            (KeyCode::Up | KeyCode::Char('k'), _) => self.move_by(-1),
            (KeyCode::Down | KeyCode::Char('j'), _) => self.move_by(1),
            (KeyCode::PageUp, _) => self.move_by(-10),
            (KeyCode::PageDown, _) => self.move_by(10),
            (KeyCode::Home, _) => self.move_by(isize::MIN),
            (KeyCode::End, _) => self.move_by(isize::MAX),
            (KeyCode::Char(key), _) => {
                let Some(prompt) = self.prompt_of(key).filter(|_| !self.is_acting) else { return };
                if self.is_for_viewer() {
                    let words = "you were invited as a viewer: only operators can change something";
                    self.say(words.to_owned(), false);
                } else {
                    self.prompt = Some(prompt);
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, job: JobId, status: Option<JobStatus>) {
        self.page = JobPage::new(status);
        self.back = self.view;
        self.go(View::Job(job));
    }

    fn go(&mut self, view: View) {
        self.view = view;
        self.refresh();
    }

    /// Requests the view at once, unless a request runs already.
    fn refresh(&mut self) {
        self.due = self.due.map(|_| Instant::now());
    }

    fn move_by(&mut self, steps: isize) {
        match self.view {
            View::Jobs => self.jobs.move_by(steps),
            View::Workers => self.workers.move_by(steps),
            View::Job(_) => {
                let scrolled = isize::try_from(self.page.scrolled).unwrap_or(0).saturating_add(steps);
                self.page.scrolled = u16::try_from(scrolled.max(0)).unwrap_or(u16::MAX);
            }
        }
    }

    /// Returns the prompt of a key that changes something.
    fn prompt_of(&self, key: char) -> Option<Prompt> {
        let job = match self.view {
            View::Jobs => self.jobs.selected(),
            View::Job(_) => self.page.status.as_ref(),
            View::Workers => None,
        };
        let worker = self.workers.selected().filter(|_| self.view == View::Workers);
        let line = |text: String| Some(Prompt::Line(text));
        Some(Prompt::Question(match key {
            's' => return line("submit ".to_owned()),
            'u' => return line(format!("priority {} ", job?.id)),
            'v' => return line(format!("verify-more {} --recount ", job?.id)),
            'p' if matches!(job?.state, JobState::Paused | JobState::Failed) => {
                OperatorAction::Resume(job?.id)
            }
            'p' => OperatorAction::Pause(job?.id),
            'c' => OperatorAction::Cancel(job?.id),
            'd' => OperatorAction::Workers(WorkersChange::Drain(Empty {}), worker?.name.clone()),
            'b' if worker?.state == WorkerState::Blocked => {
                OperatorAction::Workers(WorkersChange::Unblock(Empty {}), worker?.name.clone())
            }
            'b' => OperatorAction::Workers(WorkersChange::Block(Empty {}), worker?.name.clone()),
            _ => return None,
        }))
    }
}
