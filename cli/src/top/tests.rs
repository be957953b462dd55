//! Tests of keys and of the drawn screen, with a made-up cluster.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use queens_model::{
    CardSensors, Contribution, CoordinatorStatus, Event, EventKind, InHand, JobId, JobState, JobStatus,
    MethodSpeeds, Name, Progress, TimeLeft, WorkerId, WorkerState, WorkerStatus,
};
use queens_proto::client::{ClientError, Greeting, Problem};
use queens_solver::{BoardSize, Method, Span};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::{Color, Modifier};

use super::list::List;
use super::requests::{Answer, Content, View};
use super::screen::{Pressed, Prompt, Screen};
use super::view::{Palette, draw};

fn job(id: u64, n: u32, state: JobState) -> JobStatus {
    let share = if state == JobState::Running { 250 } else { 0 };
    let progress = Progress {
        solutions: 1000 * u128::from(id),
        n_subproblems: 1000,
        n_recorded: share,
        estimated_work: 1000,
        estimated_work_recorded: share,
        ..Progress::default()
    };
    let running = state == JobState::Running;
    JobStatus {
        progress,
        n_parts: 300,
        n_workers: if running { 2 } else { 0 },
        active: Duration::from_secs(600),
        time_left: running.then(|| TimeLeft::new(1200.0, 1500.0, 1800.0).expect("in order")),
        ..JobStatus::new(JobId(id), BoardSize::try_from(n).expect("a size"), Method::Search, state)
    }
}

pub(crate) fn worker(id: u64, name: &str) -> WorkerStatus {
    let span = Span::new(5, 0, 10).expect("a span");
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
        counting: Some(InHand { job: JobId(2), method: Method::Search, span }),
        sensors: CardSensors::default(),
    }
}

/// Returns an answer with events of two days ago.
fn answer(view: View, content: Content, role: Option<&str>) -> Result<Answer, ClientError> {
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
    let events = vec![
        event(1, None, "coordinator started"),
        event(2, Some(2), "planned: 300 parts"),
        event(3, Some(3), &"a long story ".repeat(30)),
    ];
    let status = CoordinatorStatus {
        version: Name::of_any("0.3.0"),
        uptime: Duration::from_secs(60),
        store: Name::of_any("sqlite"),
        store_error: None,
        refuses: Vec::new(),
        slowest_step: Duration::ZERO,
    };
    let greeting = Greeting { status, now: SystemTime::now(), role: role.map(str::to_owned) };
    Ok(Answer { view, url: "http://coordinator:50051/".to_owned(), greeting, events, content })
}

fn jobs(jobs: Vec<JobStatus>) -> Result<Answer, ClientError> {
    answer(View::Jobs, Content::Jobs(jobs), None)
}

/// Returns a screen with two workers and three jobs. The second job runs.
fn screen() -> Screen {
    let mut screen = Screen::new("http://coordinator:50051/".to_owned());
    let workers = vec![worker(1, "alpha"), worker(2, "a-worker-with-a-rather-long-name-in-rack-12")];
    screen.hear(answer(View::Workers, Content::Workers(workers, vec![Name::of_any("gone")]), None));
    screen.hear(jobs(vec![
        job(1, 14, JobState::Done),
        job(2, 21, JobState::Running),
        job(3, 18, JobState::Queued),
    ]));
    screen
}

fn press(screen: &mut Screen, key: KeyCode) -> Option<Pressed> {
    screen.press(KeyEvent::new(key, KeyModifiers::NONE))
}

/// Types a text; '\n' is Enter and '\t' is Tab. Returns the request of the last key.
fn enter(screen: &mut Screen, text: &str) -> Option<Pressed> {
    let key = |c| match c {
        '\n' => KeyCode::Enter,
        '\t' => KeyCode::Tab,
        c => KeyCode::Char(c),
    };
    text.chars().map(|c| press(screen, key(c))).last().flatten()
}

fn away() -> Result<Answer, ClientError> {
    Err(ClientError { coordinator: "http://coordinator:50051/".to_owned(), problem: Problem::Silent })
}

fn drawn(screen: &mut Screen, width: u16, height: u16) -> Terminal<TestBackend> {
    drawn_with(Palette { is_utf8: true, ..Palette::from_env() }, screen, width, height)
}

fn drawn_with(palette: Palette, screen: &mut Screen, width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("it is in memory");
    terminal.draw(|frame| draw(frame, screen, palette)).expect("it is in memory");
    terminal
}

/// Returns the lines of the screen, without trailing spaces.
fn text(screen: &mut Screen, width: u16, height: u16) -> String {
    let terminal = drawn(screen, width, height);
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(line).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

#[test]
fn a_selection_stays_with_what_was_chosen_and_is_visible() {
    let mut list = List::default();
    let replaced = |list: &mut List<char>, rows: &str| {
        list.replace(rows.chars().collect(), |row| *row, |row| *row == 'c');
        list.selected().copied()
    };
    assert_eq!(replaced(&mut list, "abc"), Some('c'));
    assert_eq!(replaced(&mut list, "cab"), Some('c'));
    list.move_by(1);
    assert_eq!(replaced(&mut list, "xyabc"), Some('a'));
    assert_eq!(replaced(&mut list, "xy"), Some('y'));
    assert_eq!(replaced(&mut list, ""), None);
    assert_eq!(list.window(5), (0..0, 0));
    let mut list = List::default();
    list.replace((0..100).collect(), |row: &usize| *row, |_| true);
    let mut window = |steps, room| {
        list.move_by(steps);
        list.window(room)
    };
    assert_eq!(window(7, 5), (3..8, 4));
    assert_eq!(window(-2, 5), (3..8, 2));
    assert_eq!(window(-4, 5), (1..6, 0));
    assert_eq!(window(isize::MAX, 5), (95..100, 4));
    assert_eq!(window(0, 20), (80..100, 19));
    assert_eq!(window(isize::MIN, 0), (0..0, 0));
}

#[test]
fn what_changes_something_is_asked_before_it_is_done() {
    let mut screen = screen();
    for (key, question) in [('p', "Pause job 2?"), ('c', "Cancel job 2 for good?")] {
        assert!(enter(&mut screen, &key.to_string()).is_none());
        assert!(text(&mut screen, 80, 24).contains(question));
        assert!(enter(&mut screen, "n").is_none());
        assert!(enter(&mut screen, &format!("{key}\n")).is_none());
        let Some(Pressed::Do(action)) = enter(&mut screen, &format!("{key}y")) else { panic!("{key}") };
        assert_eq!(action.question(), question);
    }
    enter(&mut screen, "\tj");
    let Some(Pressed::Do(action)) = enter(&mut screen, "dy") else { panic!("the worker is not drained") };
    assert_eq!(action.question(), "Drain all workers named 'alpha'?");
    // An action runs: no other begins.
    screen.is_acting = true;
    enter(&mut screen, "b");
    assert!(screen.prompt.is_none());
    screen.hear_result(Err(anyhow::Error::msg("no")));
    assert_eq!((screen.message(), screen.is_acting), (Some(("no", false)), false));
}

#[test]
fn values_are_typed_and_what_is_wrong_is_told() {
    let mut screen = screen();
    for (typed, wrong) in [
        ("s33\n", "33"),
        ("s30\n", "if you mean it, add --yes"),
        ("s20-22 --parts 0..3\n", "submit each by itself"),
        ("s20 --recount 1000\n", "1000"),
        ("u1001\n", "1001"),
        ("v101\n", "101"),
    ] {
        assert!(enter(&mut screen, typed).is_none(), "{typed}");
        assert!(
            screen.message().is_some_and(|(text, good)| !good && text.contains(wrong)),
            "{typed}: {:?}",
            screen.message()
        );
        press(&mut screen, KeyCode::Esc);
    }
    for (typed, expected) in [
        ("s20 --method halves --priority -7 --recount 5 --recount-by rack3\n", "Halves"),
        ("s30 --yes\n", "yes: true"),
        ("u-5\n", "Priority(-5)"),
        ("v10 --second-pass\n", "Same"),
    ] {
        let Some(Pressed::Do(action)) = enter(&mut screen, typed) else { panic!("{:?}", screen.message()) };
        assert!(format!("{action:?}").contains(expected), "{action:?}");
    }
}

#[test]
fn a_viewer_is_told_that_only_operators_decide() {
    let mut screen = screen();
    screen.hear(answer(View::Jobs, Content::Jobs(vec![job(2, 21, JobState::Running)]), Some("viewer")));
    assert!(!text(&mut screen, 80, 24).contains("submit"));
    for key in ["s", "p", "u", "v", "c"] {
        enter(&mut screen, key);
        assert!(screen.prompt.is_none(), "{key}");
        assert!(screen.message().is_some_and(|(text, good)| !good && text.contains("viewer")), "{key}");
    }
}

#[test]
fn a_job_is_opened_and_left() {
    let mut screen = screen();
    enter(&mut screen, "\n");
    assert_eq!(screen.view, View::Job(JobId(2)));
    let contribution = Contribution {
        worker: Name::of_any("alpha"),
        kernel: Name::of_any("avx512"),
        n_spans: 12,
        work: 3_000_000,
        time: Duration::from_secs(3600),
    };
    let running = Content::Job(Box::new(job(2, 21, JobState::Running)), Some(vec![contribution]));
    screen.hear(answer(View::Job(JobId(2)), running, None));
    let shown = text(&mut screen, 80, 28);
    assert!(shown.contains("alpha   avx512     12  3,000,000"), "{shown}");
    let paused = Content::Job(Box::new(job(2, 21, JobState::Paused)), None);
    screen.hear(answer(View::Job(JobId(2)), paused, None));
    enter(&mut screen, "p");
    assert!(matches!(&screen.prompt, Some(Prompt::Question(action)) if action.question() == "Resume job 2?"));
    enter(&mut screen, "n");
    press(&mut screen, KeyCode::Esc);
    assert_eq!(screen.view, View::Jobs);
    // Via a worker that counts it, and it is gone.
    enter(&mut screen, "\t\n");
    assert_eq!(screen.view, View::Job(JobId(2)));
    let problem = Problem::Refused("there is no job 2".to_owned());
    screen.hear(Err(ClientError { coordinator: String::new(), problem }));
    assert_eq!((screen.view, screen.message()), (View::Workers, Some(("there is no job 2", false))));
}

#[test]
fn a_terminal_without_utf_8_gets_ascii() {
    let mut screen = screen();
    enter(&mut screen, "s20");
    let ascii = Palette { is_utf8: false, ..Palette::from_env() };
    let terminal = drawn_with(ascii, &mut screen, 80, 24);
    let cells = &terminal.backend().buffer().content;
    assert!(cells.iter().all(|cell| cell.symbol().is_ascii()), "{terminal:?}");
    assert!(!text(&mut screen, 80, 24).is_ascii());
}

#[test]
fn it_is_drawn_into_any_room() {
    for keys in ["", "s99\n", "u", "p", "\n", "\t", "\tb"] {
        let mut screen = screen();
        enter(&mut screen, keys);
        for (width, height) in [(1, 1), (2, 30), (300, 2), (10, 5), (40, 10), (79, 23), (250, 90)] {
            drawn(&mut screen, width, height);
        }
    }
}

#[test]
fn what_is_old_is_marked_and_nothing_has_a_background() {
    let mut screen = screen();
    screen.hear(away());
    enter(&mut screen, "s");
    let shown = text(&mut screen, 80, 24);
    assert!(shown.starts_with(" no state from the coordinator for 1 s: no answer"), "{shown}");
    let row = shown.lines().position(|line| line.contains("running")).expect("it stays");
    let terminal = drawn(&mut screen, 80, 24);
    let buffer = terminal.backend().buffer();
    let row = u16::try_from(row).expect("24 lines");
    assert!(buffer[(10, row)].modifier.contains(Modifier::DIM));
    assert!(buffer.content().iter().all(|cell| cell.bg == Color::Reset));
    let mut full = jobs(Vec::new()).expect("an answer");
    full.greeting.status.store_error = Some("the disk is full".to_owned());
    screen.hear(Ok(full));
    let shown = text(&mut screen, 80, 24);
    assert!(shown.starts_with(" nothing is recorded at present: the disk is full"), "{shown}");
}

#[test]
fn of_ten_thousand_workers_those_are_drawn_there_is_room_for() {
    let mut screen = screen();
    let workers = (0..10_000).map(|id| worker(id, &format!("worker-{id:05}"))).collect();
    screen.hear(answer(View::Workers, Content::Workers(workers, Vec::new()), None));
    enter(&mut screen, "\t");
    press(&mut screen, KeyCode::End);
    let shown = text(&mut screen, 80, 24);
    assert!(shown.contains("workers: 10000   threads: 40000") && shown.contains("worker-09999"), "{shown}");
    assert!(!shown.contains("worker-00000"), "{shown}");
}

#[test]
fn views_on_a_usual_terminal() {
    let mut screen = screen();
    let mut shown = text(&mut screen, 80, 20);
    enter(&mut screen, "\t");
    shown += &format!("\n{}", text(&mut screen, 80, 20));
    enter(&mut screen, "\t\n");
    shown += &format!("\n{}", text(&mut screen, 80, 28));
    assert!(shown == VIEWS.trim_matches('\n'), "{shown}");
}

const VIEWS: &str = "
 http://coordinator:50051/   0.3.0   store: sqlite   up 1 min 0 s   slowest ste…
 jobs: 3 ───────────────────────────────────────────────────────────────────────
JOB   N  METHOD  PRIORITY  STATE      DONE  SOLUTIONS SO FAR          LEFT  WOR…
  2  21  search         0  running  25.0 %              2000  20 to 30 min     …
  3  18  search         0  queued      0 %              3000       unknown     …
  1  14  search         0  done      100 %              1000             -     …







 events ────────────────────────────────────────────────────────────────────────
    2 d 0 h ago  job 3: a long story a long story a long story a long story a l…
    2 d 0 h ago  job 2: planned: 300 parts
    2 d 0 h ago  coordinator started

q quit  Enter show  Tab workers  p pause/resume  s submit  u priority  v
verify-more  c cancel
 http://coordinator:50051/   0.3.0   store: sqlite   up 1 min 0 s   slowest ste…
 workers: 2   threads: 8   1,000 M nodes/s ─────────────────────────────────────
NAME                                         STATE    KERNEL  THREADS          …
a-worker-with-a-rather-long-name-in-rack-12  ready    avx512        4  500 M no…
alpha                                        ready    avx512        4  500 M no…
gone                                         blocked                           …








 events ────────────────────────────────────────────────────────────────────────
    2 d 0 h ago  job 3: a long story a long story a long story a long story a l…
    2 d 0 h ago  job 2: planned: 300 parts
    2 d 0 h ago  coordinator started

q quit  Enter show job  Tab jobs  d drain  b block/unblock  s submit
 http://coordinator:50051/   0.3.0   store: sqlite   up 1 min 0 s   slowest ste…
 job 2: running ────────────────────────────────────────────────────────────────
job           2
n             21
method        search
state         running
priority      0
found so far  2000
work done     25.0 % (250 of 1000 subproblems)
counted for   10 min 0 s
left          20 to 30 min
workers       2








 events of job 2 ───────────────────────────────────────────────────────────────
    2 d 0 h ago  job 2: planned: 300 parts





q quit  Esc back  ↑↓ scroll  p pause/resume  u priority  v verify-more  c cancel
";
