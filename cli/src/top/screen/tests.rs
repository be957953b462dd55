//! Tests of keys and selections.

use queens_model::{JobId, Name, Priority};
use queens_solver::BoardSize;
use ratatui::crossterm::event::KeyCode;

use super::*;
use crate::top::sample::{job, lists, news, press, progress_history, screen, typed, worker};

fn selected(screen: &Screen) -> Option<u64> {
    screen.selected_job().map(|job| job.id.0)
}

#[test]
fn the_running_job_is_selected_until_somebody_chooses_another() {
    let mut screen = screen();
    assert_eq!(selected(&screen), Some(2));
    // The selected job ends, and the next one begins.
    let next = vec![job(1, 14, JobState::Done), job(2, 21, JobState::Done), job(3, 18, JobState::Running)];
    screen.hear(lists(next, vec![]));
    assert_eq!(selected(&screen), Some(3));
    // In the order of service: 3, then the ended jobs 2 and 1.
    press(&mut screen, &[KeyCode::Down]);
    assert_eq!(selected(&screen), Some(2));
    let more = vec![job(2, 21, JobState::Done), job(3, 18, JobState::Queued), job(4, 20, JobState::Running)];
    screen.hear(lists(more, vec![]));
    assert_eq!(selected(&screen), Some(2));
    assert_eq!(screen.wanted().job, Some(JobId(2)));
}

#[test]
fn what_changes_something_is_asked_before_it_is_done() {
    let mut screen = screen();
    for (key, question, action) in [
        ('p', "Pause job 2?", OperatorAction::Pause(JobId(2))),
        ('c', "Give up job 2 for good?", OperatorAction::Cancel(JobId(2))),
    ] {
        press(&mut screen, &[KeyCode::Char(key)]);
        let asked = match &screen.front {
            Some(Front::Question(_, asked)) => asked.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(asked, question);
        assert_eq!(press(&mut screen, &[KeyCode::Char('n')]), None);
        assert_eq!(press(&mut screen, &[KeyCode::Char(key), KeyCode::Enter]), None);
        assert_eq!(press(&mut screen, &typed(&format!("{key}y"))), Some(Pressed::Do(action)));
    }
    // Workers are in the order of their names.
    press(&mut screen, &[KeyCode::Tab, KeyCode::Down]);
    let name: Name = "alpha".parse().expect("a name");
    let drain = OperatorAction::Workers(WorkersChange::Drain(Empty {}), name);
    assert_eq!(press(&mut screen, &typed("dy")), Some(Pressed::Do(drain)));
    // A job that has ended can't be changed.
    press(&mut screen, &[KeyCode::Tab, KeyCode::End]);
    assert_eq!(selected(&screen), Some(1));
    for key in ["p", "c", "u"] {
        press(&mut screen, &typed(key));
        assert!(screen.front.is_none(), "{key}: {:?}", screen.front);
    }
}

#[test]
fn a_job_is_submitted_by_a_form_that_says_what_is_wrong() {
    let mut screen = screen();
    press(&mut screen, &typed("s"));
    press(&mut screen, &[KeyCode::Enter]);
    let wrong = |screen: &Screen| match &screen.front {
        Some(Front::Form(form)) => form.wrong.clone(),
        other => panic!("{other:?}"),
    };
    assert!(wrong(&screen).is_some());
    press(&mut screen, &typed("33"));
    press(&mut screen, &[KeyCode::Enter]);
    assert!(wrong(&screen).expect("it is wrong").contains("33"));
    press(&mut screen, &[KeyCode::Backspace, KeyCode::Backspace]);
    press(&mut screen, &typed("20"));
    press(&mut screen, &[KeyCode::Tab, KeyCode::Right, KeyCode::Right, KeyCode::Tab, KeyCode::Backspace]);
    press(&mut screen, &typed("-7"));
    let method = "halves".parse().expect("a method");
    let n = BoardSize::new(20).expect("a board size");
    let priority = Priority::try_from(-7).expect("a priority");
    let submit = |recount: Option<&str>, recount_by: Option<&str>| {
        let recount = recount.map(|share| share.parse().expect("a share"));
        let recount_by = recount_by.map(|party| party.parse().expect("a name"));
        Some(Pressed::Do(OperatorAction::Submit { n, method, priority, recount, recount_by }))
    };
    assert_eq!(press(&mut screen, &[KeyCode::Enter]), submit(None, None));
    // The share to recount, and the recounting party.
    press(&mut screen, &typed("s20"));
    press(&mut screen, &[KeyCode::Tab, KeyCode::Right, KeyCode::Right, KeyCode::Tab, KeyCode::Backspace]);
    press(&mut screen, &typed("-7"));
    press(&mut screen, &[KeyCode::Tab]);
    press(&mut screen, &typed("1000"));
    press(&mut screen, &[KeyCode::Tab]);
    press(&mut screen, &typed("rack 3"));
    assert_eq!(press(&mut screen, &[KeyCode::Enter]), None);
    assert!(wrong(&screen).expect("it is wrong").contains("1000"));
    press(&mut screen, &[KeyCode::Backspace]);
    assert_eq!(press(&mut screen, &[KeyCode::Enter]), submit(Some("100"), Some("rack 3")));
    // From the first field, one back is the last.
    press(&mut screen, &typed("s"));
    press(&mut screen, &[KeyCode::BackTab]);
    press(&mut screen, &typed(" "));
    press(&mut screen, &[KeyCode::Tab]);
    press(&mut screen, &typed("20"));
    press(&mut screen, &[KeyCode::Tab, KeyCode::Right, KeyCode::Right, KeyCode::Tab, KeyCode::Backspace]);
    press(&mut screen, &typed("-7"));
    assert_eq!(press(&mut screen, &[KeyCode::Enter]), submit(None, None), "spaces name nobody");
    // A job of years needs confirmation.
    press(&mut screen, &typed("s30"));
    assert_eq!(press(&mut screen, &[KeyCode::Enter]), None);
    assert!(matches!(&screen.front, Some(Front::Question(_, asked)) if asked.contains("core-years")));
    assert_eq!(press(&mut screen, &[KeyCode::Esc]), None);
    assert!(screen.front.is_none());
}

#[test]
fn a_priority_is_typed() {
    let mut screen = screen();
    press(&mut screen, &typed("u"));
    press(&mut screen, &[KeyCode::Backspace]);
    press(&mut screen, &typed("1001"));
    assert_eq!(press(&mut screen, &[KeyCode::Enter]), None);
    press(&mut screen, &[KeyCode::Backspace]);
    let priority = Priority::try_from(100).expect("a priority");
    let action = OperatorAction::Priority(JobId(2), priority);
    assert_eq!(press(&mut screen, &[KeyCode::Enter]), Some(Pressed::Do(action)));
}

#[test]
fn a_viewer_is_told_that_only_operators_decide() {
    let mut screen = screen();
    screen.hear(news(Some("viewer")));
    for key in ["s", "p", "u", "c"] {
        assert_eq!(press(&mut screen, &typed(key)), None);
        assert!(screen.front.is_none(), "{key}");
        assert!(screen.message().is_some_and(|(text, good)| !good && text.contains("viewer")), "{key}");
    }
    screen.hear(news(Some("operator")));
    press(&mut screen, &typed("p"));
    assert!(screen.front.is_some());
}

#[test]
fn filters_are_typed_kept_and_dropped() {
    let mut screen = screen();
    press(&mut screen, &typed("/queued"));
    assert_eq!((screen.jobs.shown.len(), screen.workers.shown.len()), (1, 2));
    // 'q' is a letter here.
    assert_eq!(selected(&screen), Some(3));
    press(&mut screen, &[KeyCode::Enter, KeyCode::Tab]);
    press(&mut screen, &typed("/RACK"));
    assert_eq!((screen.jobs.shown.len(), screen.workers.shown.len()), (1, 1));
    press(&mut screen, &[KeyCode::Esc]);
    assert_eq!((screen.jobs.shown.len(), screen.workers.shown.len()), (1, 2));
    press(&mut screen, &[KeyCode::Tab, KeyCode::Esc]);
    assert_eq!((screen.jobs.shown.len(), selected(&screen)), (3, Some(2)));
}

#[test]
fn a_job_takes_the_whole_screen_and_goes_again() {
    let mut screen = screen();
    press(&mut screen, &[KeyCode::Enter]);
    assert_eq!((screen.wanted().job, screen.wanted().is_page), (Some(JobId(2)), true));
    assert_eq!(screen.job_at_hand().map(|job| job.state), Some(JobState::Running));
    screen.hear(progress_history(10, Some(job(2, 21, JobState::Paused))));
    assert_eq!(press(&mut screen, &typed("py")), Some(Pressed::Do(OperatorAction::Resume(JobId(2)))));
    // A busy coordinator omits the progress of parts: the last known progress stays.
    let mut busy = progress_history(10, None);
    if let FromCoordinator::Job(news) = &mut busy {
        news.progress_history.groups.clear();
    }
    screen.hear(busy);
    let n_groups = |screen: &Screen| screen.job.as_ref().map(|news| news.progress_history.groups.len());
    assert_eq!(n_groups(&screen), Some(10));
    assert_eq!(press(&mut screen, &[KeyCode::Esc]), None);
    assert!(!screen.wanted().is_page);
    // Via a worker that counts it.
    press(&mut screen, &[KeyCode::Tab, KeyCode::Enter]);
    assert_eq!((screen.wanted().job, screen.wanted().is_page), (Some(JobId(2)), true));
    screen.hear(FromCoordinator::Gone("there is no job 2".to_owned()));
    assert!(screen.page.is_none());
    assert_eq!(screen.message(), Some(("there is no job 2", false)));
}

#[test]
fn what_is_refused_is_told() {
    let mut screen = screen();
    screen.asking = true;
    press(&mut screen, &typed("p"));
    assert!(screen.front.is_none());
    screen.hear(FromCoordinator::Done(Err("no".to_owned())));
    assert_eq!((screen.message(), screen.asking), (Some(("no", false)), false));
}

#[test]
fn ten_thousand_workers_are_gone_through_by_keys() {
    let mut screen = screen();
    let workers = (0..10_000).map(|id| worker(id, &format!("worker-{id:05}"))).collect();
    screen.hear(lists(vec![], workers));
    press(&mut screen, &[KeyCode::Tab, KeyCode::End]);
    assert_eq!(screen.selected_worker().map(|it| it.name.to_string()), Some("worker-09999".to_owned()));
    press(&mut screen, &typed("/worker-00042"));
    assert_eq!(screen.workers.shown, [42]);
}
