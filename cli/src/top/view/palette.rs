//! Colours for light and dark terminals: at most four of those that every terminal has. They are never a background,
//! and never the only carrier of information.

use ratatui::style::{Color, Modifier, Style};

/// The colours; none with `NO_COLOR`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    has_colors: bool,
}

impl Palette {
    /// Creates the palette that the environment asks for.
    pub(crate) fn from_env() -> Self {
        Self { has_colors: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
    }

    pub(super) fn good(self) -> Style {
        self.of(Color::Green)
    }

    pub(super) fn bad(self) -> Style {
        self.of(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// Returns the style of an item that needs attention.
    pub(super) fn attention(self) -> Style {
        self.of(Color::Magenta)
    }

    pub(super) fn curve(self) -> Style {
        self.of(Color::Cyan)
    }

    /// Returns the style of an alarm.
    pub(super) fn alarm(self) -> Style {
        self.bad().add_modifier(Modifier::REVERSED)
    }

    fn of(self, color: Color) -> Style {
        if self.has_colors { Style::new().fg(color) } else { Style::new() }
    }
}
