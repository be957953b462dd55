//! `queens top`: a coordinator's jobs and workers on the whole screen, and what operators do about them.

mod view;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use queens_messages::{CoordinatorStatus, JobId, JobState, JobStatus, Name, WorkerStatus, plain};
use queens_process::{cancel_on_signal, is_screen, stdout};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::widgets::TableState;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::args::TopArgs;
use crate::progress::TakenScreen;
use crate::remote::{Remote, WorkerAction};

/// How often the coordinator is asked, and the screen drawn though nothing has happened.
const REFRESH: Duration = Duration::from_secs(1);

/// How long the answer to a key stays on the screen.
const MESSAGE: Duration = Duration::from_secs(6);

/// Answers and keys that may wait to be looked at.
const QUEUE: usize = 64;

/// `queens top`
pub(crate) async fn run(args: &TopArgs) -> anyhow::Result<ExitCode> {
    if !is_screen(&stdout()?) || !io::stdin().is_terminal() {
        bail!("'queens top' needs a terminal; 'queens jobs' and 'queens workers' print the same once");
    }
    let stop = CancellationToken::new();
    cancel_on_signal(stop.clone()).context("failed to listen to signals")?;
    // First, so that a wrong address is an error like everywhere else.
    let remote = Remote::connect(&args.coordinator).await?;
    let _taken = TakenScreen::take();
    // Installs a hook that gives the terminal back should this process panic.
    let mut terminal = ratatui::try_init().context("failed to take over the terminal")?;
    let mut screen = Screen::new(args.coordinator.uri().to_string());
    let shown = show(&mut terminal, &mut screen, remote, &stop).await;
    ratatui::restore();
    shown?;
    Ok(ExitCode::SUCCESS)
}

async fn show(
    terminal: &mut ratatui::DefaultTerminal,
    screen: &mut Screen,
    remote: Remote,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let (to_remote, actions) = mpsc::channel(QUEUE);
    let (to_screen, mut answers) = mpsc::channel(QUEUE);
    let asking = tokio::spawn(ask(remote, actions, to_screen));
    let mut keys = keys();
    let mut redraw = tokio::time::interval(REFRESH);
    loop {
        terminal.draw(|frame| view::draw(frame, screen)).context("failed to draw")?;
        tokio::select! {
            () = stop.cancelled() => break,
            _ = redraw.tick() => {}
            answer = answers.recv() => if let Some(answer) = answer { screen.hear(answer) },
            event = keys.recv() => match event {
                // The terminal is gone.
                None => break,
                Some(Event::Key(key)) if key.kind != KeyEventKind::Release => match screen.press(key) {
                    Some(Pressed::Quit) => break,
                    Some(Pressed::Do(action)) => screen.asking = to_remote.try_send(action).is_ok(),
                    None => {}
                },
                // Drawn again in its new size.
                Some(_) => {}
            },
        }
    }
    asking.abort();
    Ok(())
}

/// What the terminal says, read by a thread, as reading it blocks. The thread ends with the process.
fn keys() -> mpsc::Receiver<Event> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if sender.blocking_send(event).is_err() {
                return;
            }
        }
    });
    receiver
}

/// What is known of the coordinator.
#[derive(Debug)]
struct State {
    jobs: Vec<JobStatus>,
    workers: Vec<WorkerStatus>,
    /// Blocked names.
    blocked: Vec<Name>,
    /// The oldest first.
    events: Vec<queens_messages::Event>,
    /// The coordinator itself; `None` if it is of an older version.
    coordinator: Option<CoordinatorStatus>,
    /// Why nothing is recorded at present.
    store_error: Option<String>,
}

/// What comes from the coordinator.
#[derive(Debug)]
enum Answer {
    State(State),
    /// It can't be reached, and why.
    Away(String),
    /// What became of an action.
    Done(Result<String, String>),
}

/// What an operator wants done.
#[derive(Clone, Debug, PartialEq)]
enum Action {
    Pause(JobId),
    Resume(JobId),
    Workers(WorkerAction, Name),
}

/// Asks the coordinator how it stands, again and again, and does what operators want. Connects anew by itself.
async fn ask(remote: Remote, mut actions: mpsc::Receiver<Action>, to_screen: mpsc::Sender<Answer>) {
    let mut refresh = tokio::time::interval(REFRESH);
    refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let action = tokio::select! {
            action = actions.recv() => match action {
                Some(action) => Some(action),
                None => return,
            },
            _ = refresh.tick() => None,
        };
        if let Some(action) = action {
            let done = carry_out(&remote, &action).await.map_err(|error| format!("{error:#}"));
            if to_screen.send(Answer::Done(done)).await.is_err() {
                return;
            }
        }
        let answer =
            state(&remote).await.map_or_else(|error| Answer::Away(format!("{error:#}")), Answer::State);
        if to_screen.send(answer).await.is_err() {
            return;
        }
    }
}

async fn state(remote: &Remote) -> anyhow::Result<State> {
    let mut jobs = remote.jobs().await?;
    // As they are served; below, what is over, the latest first.
    jobs.sort_by_key(|job| match job.state.is_over() {
        false => (false, -job.priority.get(), job.id.0),
        true => (true, 0, u64::MAX - job.id.0),
    });
    let (mut workers, blocked) = remote.workers_and_blocked().await?;
    workers.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
    let events = remote.events().await?;
    let coordinator = remote.coordinator().await?;
    let store_error = match &coordinator {
        Some(coordinator) => coordinator.store_error.clone(),
        None => remote.heard_store_error(),
    };
    Ok(State { jobs, workers, blocked, events, coordinator, store_error })
}

async fn carry_out(remote: &Remote, action: &Action) -> anyhow::Result<String> {
    Ok(match action {
        Action::Pause(job) => {
            remote.pause(*job).await?;
            format!("job {job} is paused")
        }
        Action::Resume(job) => {
            remote.resume(*job).await?;
            format!("job {job} goes on")
        }
        Action::Workers(action, name) => {
            let n_workers = remote.change_workers(*action, name).await?;
            action.describe(n_workers, name)
        }
    })
}

/// One of the two tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pane {
    Jobs,
    Workers,
}

/// What a key wants beyond the screen.
#[derive(Debug, PartialEq)]
enum Pressed {
    Quit,
    Do(Action),
}

/// What is on the screen.
#[derive(Debug)]
struct Screen {
    url: String,
    state: Option<State>,
    /// Why the coordinator can't be reached, and since when.
    away: Option<(String, Instant)>,
    pane: Pane,
    job_table: TableState,
    worker_table: TableState,
    /// What is done if the next key is 'y'.
    question: Option<Action>,
    /// Whether the coordinator was asked to do something and has not answered.
    asking: bool,
    help: bool,
    /// What became of the last action, when, and whether it was done.
    message: Option<(String, Instant, bool)>,
}

impl Screen {
    fn new(url: String) -> Self {
        Self {
            url,
            state: None,
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

    fn hear(&mut self, answer: Answer) {
        match answer {
            Answer::State(state) => {
                self.away = None;
                let before = self.state.replace(state);
                self.keep_selection(before);
            }
            Answer::Away(reason) => {
                let since = self.away.take().map_or_else(Instant::now, |(_, since)| since);
                self.away = Some((plain::line(&reason).into_owned(), since));
            }
            Answer::Done(done) => {
                self.asking = false;
                let good = done.is_ok();
                let message = done.unwrap_or_else(|error| plain::line(&error).into_owned());
                self.message = Some((message, Instant::now(), good));
            }
        }
    }

    /// Selects what was selected before, wherever it is now.
    fn keep_selection(&mut self, before: Option<State>) {
        let Some(state) = &self.state else { return };
        let place = |table: &TableState, n: usize| table.selected().unwrap_or(0).min(n.saturating_sub(1));
        let job =
            before.as_ref().and_then(|before| before.jobs.get(self.job_table.selected()?)).map(|job| job.id);
        let job = job.and_then(|id| state.jobs.iter().position(|job| job.id == id));
        self.job_table.select(Some(job.unwrap_or_else(|| place(&self.job_table, state.jobs.len()))));
        let worker = before.as_ref().and_then(|before| before.workers.get(self.worker_table.selected()?));
        let worker = worker.and_then(|worker| state.workers.iter().position(|now| now.id == worker.id));
        let place = place(&self.worker_table, state.workers.len());
        self.worker_table.select(Some(worker.unwrap_or(place)));
    }

    /// The message that is fresh enough to be shown.
    fn message(&self) -> Option<(&str, bool)> {
        let (text, at, good) = self.message.as_ref()?;
        (at.elapsed() < MESSAGE).then_some((text, *good))
    }

    fn press(&mut self, key: KeyEvent) -> Option<Pressed> {
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
        let Some(state) = &self.state else { return };
        let (table, n) = match self.pane {
            Pane::Jobs => (&mut self.job_table, state.jobs.len()),
            Pane::Workers => (&mut self.worker_table, state.workers.len()),
        };
        let place = table.selected().unwrap_or(0).saturating_add_signed(steps);
        table.select(Some(place.min(n.saturating_sub(1))));
    }

    /// Pauses the selected job, or lets it go on.
    fn pause_or_resume(&self) -> Option<Action> {
        let job =
            self.state.as_ref()?.jobs.get(self.job_table.selected()?).filter(|_| self.pane == Pane::Jobs)?;
        match job.state {
            JobState::Paused | JobState::Failed => Some(Action::Resume(job.id)),
            JobState::Done | JobState::Cancelled => None,
            JobState::Planning | JobState::Queued | JobState::Running => Some(Action::Pause(job.id)),
        }
    }

    /// Drains the workers of the selected one's name, or blocks or unblocks them.
    fn worker_action(&self, block: bool) -> Option<Action> {
        let state = self.state.as_ref().filter(|_| self.pane == Pane::Workers)?;
        let name = state.workers.get(self.worker_table.selected()?)?.name.clone();
        let action = match block {
            false => WorkerAction::Drain,
            true if state.blocked.contains(&name) => WorkerAction::Unblock,
            true => WorkerAction::Block,
        };
        Some(Action::Workers(action, name))
    }

    /// What the operator is asked before something is done.
    fn question(&self) -> Option<String> {
        let what = match self.question.as_ref()? {
            Action::Pause(job) => format!("Pause job {job}"),
            Action::Resume(job) => format!("Let job {job} go on"),
            Action::Workers(action, name) => self.workers_question(*action, name),
        };
        Some(format!("{what}? y: yes, any other key: no"))
    }

    fn workers_question(&self, action: WorkerAction, name: &Name) -> String {
        let workers = self.state.iter().flat_map(|state| &state.workers);
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
