//! The colour themes of pictures.

/// The colours of a board, its queens, and its surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    pub(super) light: &'static str,
    pub(super) dark: &'static str,
    pub(super) frame: &'static str,
    /// The background around boards.
    pub(super) paper: &'static str,
    /// The fill of queens.
    pub(super) ink: &'static str,
    /// The outline of a queen's parts.
    pub(super) outline: &'static str,
    /// The names of squares, and captions.
    pub(super) text: &'static str,
}

impl Theme {
    /// A wooden board on white paper.
    pub const WOOD: Self = Self {
        light: "#f0dcb8",
        dark: "#b5835a",
        frame: "#4a2f1f",
        paper: "#ffffff",
        ink: "#1d1a18",
        outline: "#fdf8ee",
        text: "#4a2f1f",
    };

    /// For bright pages.
    pub const LIGHT: Self = Self {
        light: "#f7f9fb",
        dark: "#b9cbdc",
        frame: "#6f879d",
        paper: "#ffffff",
        ink: "#1b2a38",
        outline: "#ffffff",
        text: "#3d5266",
    };

    /// For dark pages.
    pub const DARK: Self = Self {
        light: "#4d5866",
        dark: "#2f3843",
        frame: "#8b98a8",
        paper: "#161b22",
        ink: "#f4d58a",
        outline: "#161b22",
        text: "#c5d0dc",
    };

    /// Black, white and one grey, for paper.
    pub const PRINT: Self = Self {
        light: "#ffffff",
        dark: "#c8c8c8",
        frame: "#000000",
        paper: "#ffffff",
        ink: "#000000",
        outline: "#ffffff",
        text: "#000000",
    };
}
