//! Keys that the user presses while a command has the terminal.

use queens_program::note_ctrl_c;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use tokio::sync::mpsc;

/// The capacity of the queue of keys.
const QUEUE: usize = 64;

/// Returns the events of a terminal in raw mode, until Ctrl-C. A thread reads them, because reading blocks. It ends with
/// the process.
pub(crate) fn keys() -> mpsc::Receiver<Event> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if is_ctrl_c(&event) {
                return note_ctrl_c();
            }
            if sender.blocking_send(event).is_err() {
                return;
            }
        }
    });
    receiver
}

fn is_ctrl_c(event: &Event) -> bool {
    let key = event.as_key_press_event();
    key.is_some_and(|key| key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL))
}
