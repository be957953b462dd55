//! The state of the screen, and the effects of keys on it.

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use queens_model::{JobId, JobState, JobStatus, WorkerId, WorkerStatus};
use queens_proto::client::Problem;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::top::action::OperatorAction;
use crate::top::cluster::{Counters, FromCoordinator, JobNews, Lists, News, Wanted};
use crate::top::filter::Filter;
use crate::top::form::{Filled, Form};
use crate::top::keys::View;
use crate::top::selection::Selection;
use queens_proto::client::WorkersChange;
use queens_proto::pb::Empty;

/// How long the result of an action stays on the screen.
const MESSAGE: Duration = Duration::from_secs(6);

/// A request of a key that the screen can't handle itself.
#[derive(Debug, PartialEq)]
pub(crate) enum Pressed {
    Quit,
    Do(OperatorAction),
}

/// A panel in front of the tables, which receives the keys.
#[derive(Debug)]
pub(super) enum Front {
    /// The help, from this line on.
    Help(usize),
    Form(Form),
    /// An action that the key 'y' confirms, and its question.
    Question(OperatorAction, String),
    /// An input of filter words for the current table, with the previous filter.
    Filter(Filter),
}

/// One job on the whole screen.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) job: JobId,
    /// The last received status.
    pub(super) status: Option<JobStatus>,
    pub(super) counters: Option<Counters>,
    /// The number of contributors that are scrolled off at the top.
    pub(super) scrolled: usize,
}

/// One of the two tables: its filter, its matching entries and its selection.
#[derive(Debug)]
pub(super) struct TableOf<I> {
    pub(super) filter: Filter,
    /// The positions of the matching entries in the list.
    pub(super) shown: Vec<usize>,
    pub(super) selection: Selection<I>,
}

/// The state of the screen.
#[derive(Debug)]
pub(crate) struct Screen {
    /// The coordinator that answered last.
    pub(crate) url: String,
    pub(super) lists: Option<Lists>,
    pub(super) news: Option<News>,
    /// The last received progress history of a job.
    pub(super) job: Option<JobNews>,
    /// Why the coordinator can't be reached, and since when.
    pub(super) away: Option<(Problem, Instant)>,
    /// What receives the keys: one of the tables, or a job.
    pub(super) is_at_workers: bool,
    pub(super) page: Option<Page>,
    pub(super) jobs: TableOf<JobId>,
    pub(super) workers: TableOf<WorkerId>,
    pub(super) front: Option<Front>,
    /// Whether an action still waits for the coordinator's answer.
    pub(crate) asking: bool,
    /// The result of the last action, its time, and whether it succeeded.
    message: Option<(String, Instant, bool)>,
    /// The numbers of rates and groups that fitted when the screen was drawn last.
    pub(super) room: (u32, u32),
}

impl<I> Default for TableOf<I> {
    fn default() -> Self {
        Self { filter: Filter::default(), shown: Vec::new(), selection: Selection::default() }
    }
}

impl Screen {
    pub(crate) fn new(url: String) -> Self {
        Self {
            url,
            lists: None,
            news: None,
            job: None,
            away: None,
            is_at_workers: false,
            page: None,
            jobs: TableOf::default(),
            workers: TableOf::default(),
            front: None,
            asking: false,
            message: None,
            room: (0, 0),
        }
    }

    /// Returns the data that the last drawn screen needs.
    pub(crate) fn wanted(&self) -> Wanted {
        let job = self.page.as_ref().map(|page| page.job).or_else(|| self.selected_job().map(|job| job.id));
        let (n_rates, n_groups) = self.room;
        Wanted { job, n_rates, n_groups, is_page: self.page.is_some() }
    }

    /// Returns whether everything that the screen shows has been received.
    pub(crate) fn is_complete(&self) -> bool {
        let shown = self.selected_job().map(|job| job.id);
        self.lists.is_some() && self.news.is_some() && shown == self.job.as_ref().map(|news| news.id)
    }

    /// Returns why the coordinator can't be reached.
    pub(crate) fn problem(&self) -> Option<&Problem> {
        self.away.as_ref().map(|(problem, _)| problem)
    }

    pub(crate) fn hear(&mut self, answer: FromCoordinator) {
        match answer {
            FromCoordinator::Lists(lists) => {
                self.lists = Some(lists);
                self.settle();
            }
            FromCoordinator::Job(news) => self.hear_of_job(*news),
            FromCoordinator::News(news) => {
                self.away = None;
                self.url.clone_from(&news.url);
                self.news = Some(news);
            }
            FromCoordinator::Away(problem) => {
                let since = self.away.take().map_or_else(Instant::now, |(_, since)| since);
                self.away = Some((problem, since));
            }
            FromCoordinator::Gone(words) => {
                if self.page.take().is_some() {
                    self.say(words, false);
                }
            }
            FromCoordinator::Done(done) => {
                self.asking = false;
                let is_done = done.is_ok();
                self.say(done.unwrap_or_else(|words| words), is_done);
            }
        }
    }

    fn hear_of_job(&mut self, mut news: JobNews) {
        if let Some(page) = self.page.as_mut().filter(|page| page.job == news.id) {
            page.status = news.status.take().or_else(|| page.status.take());
            page.counters = news.counters.take().or_else(|| page.counters.take());
        }
        // A busy coordinator may omit the progress of parts. Then the last known progress stays.
        let before =
            self.job.take().filter(|before| before.id == news.id).map(|before| before.progress_history);
        if let Some(before) = before
            && news.progress_history.groups.is_empty()
            && self.page.is_some()
        {
            news.progress_history.groups = before.groups;
        }
        self.job = Some(news);
    }

    fn say(&mut self, text: String, is_good: bool) {
        self.message = Some((text, Instant::now(), is_good));
    }

    /// Updates the filtered lists and their selections. O(J + W).
    fn settle(&mut self) {
        let Some(lists) = &self.lists else { return };
        self.jobs.shown = self.jobs.filter.jobs(&lists.jobs);
        let shown = self.jobs.shown.iter().map(|at| &lists.jobs[*at]);
        let running = shown.clone().position(|job| job.state == JobState::Running);
        self.jobs.selection.settle(shown.map(|job| job.id), running.unwrap_or(0));
        self.workers.shown = self.workers.filter.workers(&lists.workers);
        let shown = self.workers.shown.iter().map(|at| lists.workers[*at].id);
        self.workers.selection.settle(shown, 0);
    }

    /// Returns the message, while it is recent.
    pub(super) fn message(&self) -> Option<(&str, bool)> {
        let (text, at, good) = self.message.as_ref()?;
        (at.elapsed() < MESSAGE).then_some((text, *good))
    }

    /// Returns the view that receives the keys.
    pub(super) fn place(&self) -> View {
        match (&self.page, self.is_at_workers) {
            (Some(_), _) => View::Page,
            (None, true) => View::Workers,
            (None, false) => View::Jobs,
        }
    }

    /// Returns whether the user has only the role of a viewer.
    pub(super) fn is_for_viewer(&self) -> bool {
        self.news.as_ref().is_some_and(News::is_for_viewer)
    }

    pub(super) fn selected_job(&self) -> Option<&JobStatus> {
        self.lists.as_ref()?.jobs.get(*self.jobs.shown.get(self.jobs.selection.place())?)
    }

    pub(super) fn selected_worker(&self) -> Option<&WorkerStatus> {
        self.lists.as_ref()?.workers.get(*self.workers.shown.get(self.workers.selection.place())?)
    }

    /// Returns the job that keys apply to: the one on the whole screen, or the selected one.
    pub(super) fn job_at_hand(&self) -> Option<&JobStatus> {
        match self.place() {
            View::Page => self.page.as_ref()?.status.as_ref(),
            View::Jobs => self.selected_job(),
            View::Workers => None,
        }
    }

    pub(crate) fn press(&mut self, key: KeyEvent) -> Option<Pressed> {
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return Some(Pressed::Quit);
        }
        match self.front.take() {
            Some(front) => self.press_in_front(front, key),
            None => self.press_behind(key),
        }
    }

    fn press_in_front(&mut self, front: Front, key: KeyEvent) -> Option<Pressed> {
        match front {
            Front::Question(action, _) => {
                return matches!(key.code, KeyCode::Char('y' | 'Y')).then_some(Pressed::Do(action));
            }
            Front::Help(first) => {
                self.front = match key.code {
                    KeyCode::Down | KeyCode::PageDown | KeyCode::Char('j' | ' ') => {
                        Some(Front::Help(first + 1))
                    }
                    KeyCode::Up | KeyCode::PageUp | KeyCode::Char('k') => {
                        Some(Front::Help(first.saturating_sub(1)))
                    }
                    _ => None,
                };
            }
            Front::Form(mut form) => match form.press(key) {
                Filled::NotYet => self.front = Some(Front::Form(form)),
                Filled::Do(action) => return Some(Pressed::Do(action)),
                Filled::Ask(action, question) => self.front = Some(Front::Question(action, question)),
                Filled::Dropped => {}
            },
            Front::Filter(before) => {
                let filter =
                    if self.is_at_workers { &mut self.workers.filter } else { &mut self.jobs.filter };
                match key.code {
                    KeyCode::Enter => {}
                    KeyCode::Esc => *filter = before,
                    _ => {
                        filter.input.press(key);
                        self.front = Some(Front::Filter(before));
                    }
                }
                self.settle();
            }
        }
        None
    }

    fn press_behind(&mut self, key: KeyEvent) -> Option<Pressed> {
        let is_page = self.page.is_some();
        match key.code {
            KeyCode::Char('q') => return Some(Pressed::Quit),
            KeyCode::Char('?' | 'h') => self.front = Some(Front::Help(0)),
            KeyCode::Esc | KeyCode::Backspace => self.go_back(),
            KeyCode::Tab | KeyCode::BackTab | KeyCode::Left | KeyCode::Right if !is_page => {
                self.is_at_workers = !self.is_at_workers;
            }
            KeyCode::Up | KeyCode::Char('k') => self.move_by(-1),
            KeyCode::Down | KeyCode::Char('j') => self.move_by(1),
            KeyCode::PageUp => self.move_by(-10),
            KeyCode::PageDown => self.move_by(10),
            KeyCode::Home => self.move_by(isize::MIN),
            KeyCode::End => self.move_by(isize::MAX),
            KeyCode::Enter if !is_page => self.open_page(),
            KeyCode::Char('/') if !is_page => {
                let filter = if self.is_at_workers { &self.workers.filter } else { &self.jobs.filter };
                self.front = Some(Front::Filter(filter.clone()));
            }
            KeyCode::Char(c) => self.decide(c),
            _ => {}
        }
        None
    }

    /// Leaves the job's page, or clears a filter.
    fn go_back(&mut self) {
        if self.page.take().is_none() {
            let filter = if self.is_at_workers { &mut self.workers.filter } else { &mut self.jobs.filter };
            *filter = Filter::default();
            self.settle();
        }
    }

    /// Shows one job on the whole screen: the selected one, or the selected worker's.
    fn open_page(&mut self) {
        let of_worker =
            || self.selected_worker().and_then(|worker| worker.counting).map(|counting| counting.job);
        let job = if self.is_at_workers { of_worker() } else { self.selected_job().map(|job| job.id) };
        let Some(job) = job else { return };
        let jobs = self.lists.iter().flat_map(|lists| &lists.jobs);
        let status = jobs.clone().find(|status| status.id == job).cloned();
        self.page = Some(Page { job, status, counters: None, scrolled: 0 });
    }

    fn move_by(&mut self, steps: isize) {
        if let Some(page) = &mut self.page {
            let n = page.counters.as_ref().map_or(0, |counters| counters.contributions.len());
            page.scrolled = page.scrolled.saturating_add_signed(steps).min(n.saturating_sub(1));
            return;
        }
        let Some(lists) = &self.lists else { return };
        if self.is_at_workers {
            let shown = &self.workers.shown;
            let line = |at| shown.get(at).map(|at: &usize| lists.workers[*at].id);
            self.workers.selection.move_by(steps, shown.len(), line);
        } else {
            let shown = &self.jobs.shown;
            let line = |at| shown.get(at).map(|at: &usize| lists.jobs[*at].id);
            self.jobs.selection.move_by(steps, shown.len(), line);
        }
    }

    /// Handles a key that changes something: opens a form or a question.
    fn decide(&mut self, key: char) {
        let Some(front) = self.decision(key).filter(|_| !self.asking) else { return };
        if self.is_for_viewer() {
            self.say("you were invited as a viewer: only operators can change something".to_owned(), false);
        } else {
            self.front = Some(front);
        }
    }

    fn decision(&self, key: char) -> Option<Front> {
        let action = match key {
            's' if self.page.is_none() => return Some(Front::Form(Form::submit())),
            'u' => {
                let job = self.job_at_hand().filter(|job| !is_closed(job))?;
                return Some(Front::Form(Form::priority(job.id, job.priority)));
            }
            'p' => pause_or_resume(self.job_at_hand()?)?,
            'c' => OperatorAction::Cancel(self.job_at_hand().filter(|job| !is_closed(job))?.id),
            'd' => self.worker_action(false)?,
            'b' => self.worker_action(true)?,
            _ => return None,
        };
        let workers = self.lists.as_ref().map_or(&[][..], |lists| &lists.workers);
        let question = action.question(workers);
        Some(Front::Question(action, question))
    }

    /// Drains the workers with the selected one's name, or blocks or unblocks them.
    fn worker_action(&self, block: bool) -> Option<OperatorAction> {
        let lists = self.lists.as_ref().filter(|_| self.place() == View::Workers)?;
        let name = self.selected_worker()?.name.clone();
        let action = match block {
            false => WorkersChange::Drain(Empty {}),
            true if lists.blocked.contains(&name) => WorkersChange::Unblock(Empty {}),
            true => WorkersChange::Block(Empty {}),
        };
        Some(OperatorAction::Workers(action, name))
    }
}

/// Pauses or resumes a job.
fn pause_or_resume(job: &JobStatus) -> Option<OperatorAction> {
    match job.state {
        JobState::Paused | JobState::Failed => Some(OperatorAction::Resume(job.id)),
        JobState::Done | JobState::Cancelled | JobState::Damaged => None,
        JobState::Planning
        | JobState::Queued
        | JobState::Running
        | JobState::Verifying
        | JobState::Disputed => Some(OperatorAction::Pause(job.id)),
    }
}

/// Returns whether a job can't be changed any more.
fn is_closed(job: &JobStatus) -> bool {
    matches!(job.state, JobState::Done | JobState::Cancelled)
}
