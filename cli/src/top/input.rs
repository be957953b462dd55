//! A one-line text input.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The maximum number of characters.
const LONGEST: usize = 100;

/// A one-line text input, with the cursor at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Input(String);

impl Input {
    pub(super) fn of(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// Handles a key that writes or deletes; returns whether it was one.
    pub(super) fn press(&mut self, key: KeyEvent) -> bool {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('u') if is_control => self.0.clear(),
            KeyCode::Char(c) if !is_control && !c.is_control() => {
                if self.0.chars().count() < LONGEST {
                    self.0.push(c);
                }
            }
            KeyCode::Backspace => _ = self.0.pop(),
            _ => return false,
        }
        true
    }
}
