//! Tests of the drawn screen.

use queens_model::{CardSensors, JobState};
use queens_proto::client::Problem;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyCode;
use ratatui::style::Modifier;

use super::*;
use crate::top::cluster::FromCoordinator;
use crate::top::sample::{job, lists, press, progress_history, screen, typed, worker};

fn terminal(width: u16, height: u16) -> Terminal<TestBackend> {
    Terminal::new(TestBackend::new(width, height)).expect("it is in memory")
}

/// Returns the lines of the screen, without trailing spaces.
fn drawn(screen: &mut Screen, width: u16, height: u16) -> Vec<String> {
    let mut terminal = terminal(width, height);
    terminal.draw(|frame| draw(frame, screen, Palette::from_env())).expect("it is in memory");
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(line).collect()
}

#[track_caller]
fn check(screen: &mut Screen, expected: &str) {
    let found = drawn(screen, 80, 24).join("\n");
    assert!(found.trim_end() == expected.trim_matches('\n'), "{found}");
}

#[test]
fn tables_on_a_usual_terminal() {
    check(&mut screen(), TABLES);
}

#[test]
fn a_job_on_a_usual_terminal() {
    let mut screen = screen();
    press(&mut screen, &[KeyCode::Enter]);
    screen.hear(progress_history(300, Some(job(2, 21, JobState::Running))));
    check(&mut screen, PAGE);
    assert_eq!(screen.wanted().n_rates, 80);
}

#[test]
fn all_of_a_wide_terminal_is_used() {
    let mut screen = screen();
    let tables = drawn(&mut screen, 200, 50).join("\n");
    for text in [
        "a-worker-with-a-rather-long-name-in-rack-12  ready",
        "COUNTED FOR",
        "METHODS",
        "PROGRAM",
        "job 2 part 5",
        "speed of job 2 over 8 min 0 s: now 750 M nodes/s, at most 800 M nodes/s",
        "/ filter  Tab workers",
    ] {
        assert!(tables.contains(text), "no {text}:\n{tables}");
    }
    let bar = tables.lines().find(|line| line.contains("running")).expect("a job runs");
    assert!(bar.matches(['█', '░']).count() == 60, "{bar}");
    press(&mut screen, &[KeyCode::Enter]);
    screen.hear(progress_history(300, Some(job(2, 21, JobState::Running))));
    let page = drawn(&mut screen, 200, 50);
    let beside = page.iter().find(|line| line.contains("parts: 100 done")).expect("parts");
    assert!(beside.contains("contributions"), "{beside}");
}

#[test]
fn the_sensors_of_cards_are_drawn() {
    let mut screen = screen();
    let drawn_wide = |screen: &mut Screen| drawn(screen, 220, 50).join("\n");
    assert!(!drawn_wide(&mut screen).contains("SENSORS"), "no worker has a card");
    let mut card = worker(7, "anna-cuda:0");
    card.sensors = CardSensors::new(Some(46), Some(72), Some(1980));
    screen.hear(lists(Vec::new(), vec![worker(1, "anna"), card]));
    let lines = drawn_wide(&mut screen);
    assert!(lines.contains("SENSORS") && lines.contains("46 °C, 72 W, 1980 MHz"), "{lines}");
}

/// Draws every panel at every size.
#[test]
fn it_is_drawn_into_any_room() {
    for keys in ["", "?", "s", "s99\n", "u", "p", "/nobody", "\n", "\t/x\n", "s30\n"] {
        let mut screen = screen();
        for key in keys.chars() {
            let key = match key {
                '\n' => KeyCode::Enter,
                '\t' => KeyCode::Tab,
                key => KeyCode::Char(key),
            };
            press(&mut screen, &[key]);
        }
        screen.hear(progress_history(300, Some(job(2, 21, JobState::Running))));
        for (width, height) in [(1, 1), (2, 30), (300, 2), (10, 5), (40, 10), (79, 23), (121, 16), (250, 90)]
        {
            let lines = drawn(&mut screen, width, height);
            assert_eq!(lines.len(), usize::from(height), "{keys:?}");
        }
    }
}

#[test]
fn a_small_terminal_shows_the_most_important() {
    let mut screen = screen();
    let lines = drawn(&mut screen, 40, 10).join("\n");
    for text in ["  2 21 running", "25.0 %", "20 to 30 min", "alpha", "500 M nodes/s", "? help  q quit"] {
        assert!(lines.contains(text), "no {text}:\n{lines}");
    }
    press(&mut screen, &[KeyCode::Char('?')]);
    let first = drawn(&mut screen, 40, 10).join("\n");
    press(&mut screen, &[KeyCode::Down; 100]);
    let last = drawn(&mut screen, 40, 10).join("\n");
    assert!(first.contains("Esc") && first.contains("↓: more") && !last.contains("Esc"), "{first}\n{last}");
    // The first key up scrolls at once, even after too many keys down.
    press(&mut screen, &[KeyCode::Up]);
    assert_ne!(drawn(&mut screen, 40, 10).join("\n"), last);
}

#[test]
fn what_is_old_is_marked_and_stays() {
    let mut screen = screen();
    screen.hear(FromCoordinator::Away(Problem::Silent));
    let mut terminal = terminal(80, 24);
    terminal.draw(|frame| draw(frame, &mut screen, Palette::from_env())).expect("it is in memory");
    let buffer = terminal.backend().buffer();
    let text = |y| (0..80).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    assert!(text(0).contains("no state from the coordinator for 1 s: no answer"), "{}", text(0));
    let running = (0..24).find(|y| text(*y).contains("running")).expect("it stays");
    assert!(buffer[(10, running)].modifier.contains(Modifier::DIM));
}

/// No colour is the only carrier of information, and none is a background.
#[test]
fn nothing_has_a_background() {
    let mut screen = screen();
    screen.hear(FromCoordinator::Away(Problem::Silent));
    press(&mut screen, &typed("s"));
    let mut terminal = terminal(80, 24);
    terminal.draw(|frame| draw(frame, &mut screen, Palette::from_env())).expect("it is in memory");
    let mut cells = terminal.backend().buffer().content().iter();
    assert!(cells.all(|cell| cell.bg == ratatui::style::Color::Reset));
}

#[test]
fn of_ten_thousand_workers_those_are_drawn_there_is_room_for() {
    let mut screen = screen();
    let workers = (0..10_000).map(|id| worker(id, &format!("worker-{id:05}"))).collect();
    screen.hear(lists((0..1000).map(|id| job(id, 20, JobState::Queued)).collect(), workers));
    press(&mut screen, &[KeyCode::Tab, KeyCode::End]);
    let lines = drawn(&mut screen, 80, 24).join("\n");
    assert!(lines.contains("workers: 10000   threads: 40000") && lines.contains("worker-09999"), "{lines}");
    assert!(!lines.contains("worker-00000"), "{lines}");
}

const TABLES: &str = "
 http://coordinator:50051/   jobs: 3   workers: 2   threads: 8   1,000 M nodes/s
 coordinator: 0.3.0   up 1 min 0 s   store: sqlite   slowest step: 0.00 s
 jobs ──────────────────────────────────────────────────────────────────────────
JOB  N METHOD STATE   PRIO DONE                   LEFT         WORKERS SOLUTIONS
  2 21 search running    0 ███░░░░░░░░░    25.0 % 20 to 30 min       2      2000
  3 18 search queued     0 ░░░░░░░░░░░░       0 % unknown            0      3000
  1 14 search done       0 ████████████     100 % -                  0      1000
 speed of job 2 over 8 min 0 s: now 750 M nodes/s, at most 800 M nodes/s ───────
                                        ▂▂▂▂▂▂▂▂▂▂▄▄▄▄▄▄▄▄▄▄▆▆▆▆▆▆▆▆▆▆██████████
▂▂▂▂▂▂▂▂▂▂▄▄▄▄▄▄▄▄▄▄▆▆▆▆▆▆▆▆▆▆██████████████████████████████████████████████████
 workers ───────────────────────────────────────────────────────────────────────
NAME                 STATE KERNEL THREADS         SPEED LEASES RECORDED HEARD OF
a-worker-with-a-rat… ready avx512       4 500 M nodes/s      8       77  0 s ago
alpha                ready avx512       4 500 M nodes/s      8       77  0 s ago
 events ────────────────────────────────────────────────────────────────────────
    2 d 0 h ago  job 3: a long story a long story a long story a long story a l…
    2 d 0 h ago  job 2: planned: 300 parts
    2 d 0 h ago  coordinator started





 Enter look  s submit  p pause/resume  u priority  c cancel  ? help  q quit
";

const PAGE: &str = "
 job 2   n = 21   search   running   priority 0
 ███████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░    25.0 %   left: 20 to 30 min
 found so far 2000   workers 2   counted for 10 min 0 s
 speed of job 2 over 8 min 0 s: now 750 M nodes/s, at most 800 M nodes/s ───────
                                        ▂▂▂▂▂▂▂▂▂▂▄▄▄▄▄▄▄▄▄▄▆▆▆▆▆▆▆▆▆▆██████████
▂▂▂▂▂▂▂▂▂▂▄▄▄▄▄▄▄▄▄▄▆▆▆▆▆▆▆▆▆▆██████████████████████████████████████████████████
 parts: 100 done █, 50 begun ░▒▓, 150 not begun ·, one in a cell ───────────────
████████████████████████████████████████████████████████████████████████████████
████████████████████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒··········
················································································
····························································
 contributions ─────────────────────────────────────────────────────────────────
WORKER KERNEL SPANS      WORK CORE-HOURS  SHARE
alpha  avx512    12 3,000,000        1.0 75.0 %
beta   avx512    12 1,000,000        1.0 25.0 %
 events of job 2 ───────────────────────────────────────────────────────────────
    2 d 0 h ago  planned: 300 parts






 Esc back  p pause/resume  u priority  c cancel  ? help  q quit
";
