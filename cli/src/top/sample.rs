//! A made-up cluster for tests.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use queens_model::{
    CardSensors, Contribution, CoordinatorStatus, Event, EventKind, Fraction, InHand, JobId, JobState,
    JobStatus, MethodSpeeds, Name, PartGroup, Progress, ProgressHistory, TimeLeft, WorkerId, WorkerState,
    WorkerStatus,
};
use queens_proto::client::Greeting;
use queens_solver::{BoardSize, Method, Span};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::top::cluster::{Counters, FromCoordinator, JobNews, Lists, News};
use crate::top::screen::{Pressed, Screen};

pub(super) fn job(id: u64, n: u32, state: JobState) -> JobStatus {
    let share = if state == JobState::Running { 250 } else { 0 };
    let progress = Progress {
        solutions: 1000 * u128::from(id),
        n_subproblems: 1000,
        n_recorded: share,
        estimated_work: 1000,
        estimated_work_recorded: share,
        ..Progress::default()
    };
    let n = BoardSize::try_from(n).expect("a board size");
    let running = state == JobState::Running;
    JobStatus {
        progress,
        n_parts: 300,
        n_workers: if running { 2 } else { 0 },
        active: Duration::from_secs(600),
        time_left: running.then(|| TimeLeft::new(1200.0, 1500.0, 1800.0).expect("in order")),
        ..JobStatus::new(JobId(id), n, Method::Search, state)
    }
}

pub(crate) fn worker(id: u64, name: &str) -> WorkerStatus {
    WorkerStatus {
        id: WorkerId(id),
        name: Name::of_any(name),
        build: Name::of_any("0.3.0"),
        kernel: Name::of_any("avx512"),
        methods: vec![Method::Search],
        n_threads: 4,
        connected: true,
        silent: Duration::ZERO,
        speed: Some(MethodSpeeds { search: 500_000_000.into(), halves: 0.into() }),
        n_leases: 8,
        n_recorded: 77,
        state: WorkerState::Ready,
        failure: None,
        counting: Some(InHand {
            job: JobId(2),
            method: Method::Search,
            span: Span::new(5, 0, 10).expect("a span"),
        }),
        sensors: CardSensors::default(),
    }
}

pub(super) fn lists(jobs: Vec<JobStatus>, workers: Vec<WorkerStatus>) -> FromCoordinator {
    FromCoordinator::Lists(Lists::new(jobs, workers, Vec::new()))
}

/// Returns a coordinator's data with events of two days ago.
pub(super) fn news(role: Option<&str>) -> FromCoordinator {
    let ago = Duration::from_secs(2 * 86_400 + 1800);
    let at = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970") - ago;
    let at_ms = u64::try_from(at.as_millis()).expect("it fits");
    let event = |number, job: Option<u64>, text: &str| Event {
        number,
        at_ms,
        kind: EventKind::Job,
        job: job.map(JobId),
        text: text.to_owned(),
    };
    let status = CoordinatorStatus {
        version: Name::of_any("0.3.0"),
        uptime: Duration::from_secs(60),
        store: Name::of_any("sqlite"),
        store_error: None,
        refuses: Vec::new(),
        slowest_step: Duration::ZERO,
    };
    FromCoordinator::News(News {
        url: "http://coordinator:50051/".to_owned(),
        events: vec![
            event(1, None, "coordinator started"),
            event(2, Some(2), "planned: 300 parts"),
            event(3, Some(3), &"a long story ".repeat(30)),
        ],
        greeting: Greeting { status, now: SystemTime::now(), role: role.map(str::to_owned) },
    })
}

/// Returns the progress history of job 2, with 100 of its parts done and 50 begun, in this many groups.
pub(super) fn progress_history(n_groups: u32, status: Option<JobStatus>) -> FromCoordinator {
    let per_group = 300 / n_groups;
    let group = |at: u32| {
        let (done, begun) = match at * 300 / n_groups {
            ..100 => (per_group, 0),
            100..150 => (0, per_group),
            _ => (0, 0),
        };
        let fraction = if done > 0 { 1.0 } else { 0.5 * f64::from(u8::from(begun > 0)) };
        let fraction = Fraction::try_from(fraction).expect("a share");
        PartGroup { n_parts: per_group, n_done: done, n_begun: begun, fraction }
    };
    let rates = (1..=8_u32).map(|rate| Some((rate * 100_000_000).into())).collect();
    let progress_history = ProgressHistory {
        span: Duration::from_secs(480),
        rates,
        now: Some(750_000_000.into()),
        groups: (0..n_groups).map(group).collect(),
    };
    let contribution = |name: &str, work| Contribution {
        worker: Name::of_any(name),
        kernel: Name::of_any("avx512"),
        n_spans: 12,
        work,
        time: Duration::from_secs(3600),
    };
    let contributions = vec![contribution("alpha", 3_000_000), contribution("beta", 1_000_000)];
    let counters = status.is_some().then(|| Counters { contributions, verdicts: Vec::new() });
    FromCoordinator::Job(Box::new(JobNews { id: JobId(2), status, progress_history, counters }))
}

/// Returns a screen with two workers and three jobs. The second job runs.
pub(super) fn screen() -> Screen {
    let mut screen = Screen::new("http://coordinator:50051/".to_owned());
    let jobs = vec![job(1, 14, JobState::Done), job(2, 21, JobState::Running), job(3, 18, JobState::Queued)];
    let workers = vec![worker(1, "alpha"), worker(2, "a-worker-with-a-rather-long-name-in-rack-12")];
    screen.hear(lists(jobs, workers));
    screen.hear(progress_history(1, None));
    screen.hear(news(None));
    screen
}

/// Presses keys one after the other; returns the request of the last.
pub(super) fn press(screen: &mut Screen, keys: &[KeyCode]) -> Option<Pressed> {
    let mut pressed = None;
    for key in keys {
        pressed = screen.press(KeyEvent::new(*key, KeyModifiers::NONE));
    }
    pressed
}

/// Returns the keys that type a text.
pub(super) fn typed(text: &str) -> Vec<KeyCode> {
    text.chars().map(KeyCode::Char).collect()
}
