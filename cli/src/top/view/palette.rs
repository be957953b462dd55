//! Colours that can be read on light and on dark terminals: no more than four of those that every terminal has, never as
//! a background, and never the only thing that says something.

use ratatui::style::{Color, Modifier, Style};

/// The colours, or none of them where somebody has set `NO_COLOR`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    has_colors: bool,
}

impl Palette {
    /// As the environment wants it.
    pub(crate) fn from_env() -> Self {
        Self { has_colors: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
    }

    pub(super) fn good(self) -> Style {
        self.of(Color::Green)
    }

    pub(super) fn bad(self) -> Style {
        self.of(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// What waits for somebody.
    pub(super) fn attention(self) -> Style {
        self.of(Color::Magenta)
    }

    pub(super) fn curve(self) -> Style {
        self.of(Color::Cyan)
    }

    /// What nobody may overlook.
    pub(super) fn alarm(self) -> Style {
        self.bad().add_modifier(Modifier::REVERSED)
    }

    fn of(self, color: Color) -> Style {
        if self.has_colors { Style::new().fg(color) } else { Style::new() }
    }
}
