//! Pictures of boards, as SVG.
//!
//! One unit is one pixel and everything but the queens has whole coordinates, so that edges are sharp at any size.

use std::fmt::Write;

use crate::placement::Placement;
use crate::queen::Queen;

const LIGHT: &str = "#f0dcb8";
const DARK: &str = "#b5835a";
const FRAME: &str = "#4a2f1f";
const PAPER: &str = "#ffffff";
/// On light and dark squares.
pub(super) const SAFE: [&str; 2] = ["#a9d67c", "#7cb350"];
const BLUE: [&str; 2] = ["#bcd6ee", "#7fa8cf"];
const VIOLET: [&str; 2] = ["#dfc7ef", "#b795d3"];
pub(super) const ATTACKED: [&str; 2] = ["#f29a86", "#d9614c"];
/// How opaque a queen is that is tried where she is attacked.
pub(super) const GHOST: &str = "0.4";

/// A queen on a square of 100 units: a crown with five points, each with a ball, on a foot.
const QUEEN: &str = concat!(
    r#"<path d="M24 70L9 34L30 46L29 22L44 42L50 17L56 42L71 22L70 46L91 34L76 70Z"/>"#,
    r#"<circle cx="9" cy="30" r="6.5"/><circle cx="29" cy="17" r="6.5"/><circle cx="50" cy="12" r="6.5"/>"#,
    r#"<circle cx="71" cy="17" r="6.5"/><circle cx="91" cy="30" r="6.5"/>"#,
    r#"<path d="M24 70Q50 61 76 70L74 79Q50 72 26 79Z"/><path d="M26 79Q50 72 74 79L80 92Q50 96 20 92Z"/>"#,
);
const INK: &str = "#1d1a18";
/// Drawn around the parts of a queen. Squares narrower than so many pixels have none: it would be a blur.
const OUTLINE: &str = "#fdf8ee";
const OUTLINED_FROM: u32 = 24;

/// How a square looks while a search goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Look {
    /// Nothing stands there.
    #[default]
    Empty,
    /// A queen stands there.
    Queen,
    /// A queen stands there: she has just been placed, or belongs to a solution. Green.
    Safe,
    /// A queen was tried there, but is attacked. Red.
    Attacked,
}

impl Look {
    /// All looks.
    pub const ALL: [Self; 4] = [Self::Empty, Self::Queen, Self::Safe, Self::Attacked];
}

/// A colour that squares have in common which belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Of the one kind.
    Blue,
    /// Of the other.
    Violet,
}

impl Mark {
    /// Its colours on light and dark squares.
    const fn colours(self) -> [&'static str; 2] {
        match self {
            Self::Blue => BLUE,
            Self::Violet => VIOLET,
        }
    }
}

/// The lengths of a picture in pixels, all that follows from the width of a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Width of a square, at least 1.
    pub tile: u32,
}

impl Scale {
    /// Width of the frame around a board.
    #[must_use]
    pub const fn frame(self) -> u32 {
        self.tile.div_ceil(4)
    }

    /// Distance of the boards on a contact sheet, also from its edges.
    #[must_use]
    pub const fn gap(self) -> u32 {
        self.tile.saturating_mul(3) / 2
    }

    /// Width and height of a board of size `n` with its frame. Saturates.
    #[must_use]
    pub const fn board(self, n: u32) -> u32 {
        n.saturating_mul(self.tile).saturating_add(2 * self.frame())
    }

    /// Width and height of a contact sheet of boards of size `n`. Saturates.
    #[must_use]
    pub fn sheet(self, n: u32, n_boards: usize) -> (u32, u32) {
        let (n_columns, n_rows) = layout(n_boards);
        let pitch = self.board(n).saturating_add(self.gap());
        let length = |boards: u32| pitch.saturating_mul(boards).saturating_add(self.gap());
        (length(n_columns), length(n_rows))
    }

    /// The upper left corner of a square of a board.
    #[must_use]
    pub const fn corner(self, queen: Queen) -> (u32, u32) {
        (self.frame() + queen.column * self.tile, self.frame() + queen.row * self.tile)
    }
}

/// Draws a placement.
///
/// ```
/// # use queens_boards::{construction, picture};
/// let placement = construction(8).expect("there is one");
/// assert!(picture::board(&placement, picture::Scale { tile: 48 }).starts_with("<svg"));
/// ```
#[must_use]
pub fn board(placement: &Placement, scale: Scale) -> String {
    let side = scale.board(placement.n());
    let mut svg = open((side, side), Some(scale));
    svg.push_str(&squares(placement.n(), scale));
    queens(&mut svg, placement, scale, (0, 0));
    svg.push_str("</svg>\n");
    svg
}

/// Draws some queens or all of a board; their squares look as asked for.
#[must_use]
pub fn position(n: u32, queens: &[(Queen, Look)], scale: Scale) -> String {
    marked_position(n, &[], queens, scale)
}

/// The same on a board of which some squares are marked.
#[must_use]
pub fn marked_position(n: u32, marked: &[(Queen, Mark)], queens: &[(Queen, Look)], scale: Scale) -> String {
    let side = scale.board(n);
    let mut svg = open((side, side), Some(scale));
    svg.push_str(&squares(n, scale));
    for &(square, mark) in marked {
        let ((x, y), tile) = (scale.corner(square), scale.tile);
        let colour = mark.colours()[usize::from(is_dark(square))];
        _ = write!(svg, r#"<rect x="{x}" y="{y}" width="{tile}" height="{tile}" fill="{colour}"/>"#);
    }
    for &(queen, look) in queens.iter().filter(|(_, look)| *look != Look::Empty) {
        let ((x, y), tile, dark) = (scale.corner(queen), scale.tile, usize::from(is_dark(queen)));
        let marked = match look {
            Look::Safe => Some(SAFE[dark]),
            Look::Attacked => Some(ATTACKED[dark]),
            Look::Empty | Look::Queen => None,
        };
        if let Some(colour) = marked {
            _ = write!(svg, r#"<rect x="{x}" y="{y}" width="{tile}" height="{tile}" fill="{colour}"/>"#);
        }
        _ = write!(svg, r##"<use href="#queen" x="{x}" y="{y}"/>"##);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws several placements of one size on one contact sheet, as many in a row as rows.
#[must_use]
pub fn sheet(n: u32, placements: &[Placement], scale: Scale) -> String {
    let (n_columns, _) = layout(placements.len());
    let pitch = scale.board(n) + scale.gap();
    let mut svg = open(scale.sheet(n, placements.len()), Some(scale));
    _ = write!(svg, r#"<rect width="100%" height="100%" fill="{PAPER}"/>"#);
    _ = write!(svg, r#"<defs><g id="board">{}</g></defs>"#, squares(n, scale));
    for (i, placement) in (0..).zip(placements) {
        let (x, y) = (scale.gap() + i % n_columns * pitch, scale.gap() + i / n_columns * pitch);
        _ = write!(svg, r##"<use href="#board" x="{x}" y="{y}"/>"##);
        queens(&mut svg, placement, scale, (x, y));
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws one square.
#[must_use]
pub fn tile(dark: bool, look: Look, scale: Scale) -> String {
    let colour = match look {
        Look::Empty | Look::Queen => [LIGHT, DARK][usize::from(dark)],
        Look::Safe => SAFE[usize::from(dark)],
        Look::Attacked => ATTACKED[usize::from(dark)],
    };
    let mut svg = open((scale.tile, scale.tile), Some(scale).filter(|_| look != Look::Empty));
    _ = write!(svg, r#"<rect width="100%" height="100%" fill="{colour}"/>"#);
    match look {
        Look::Empty => {}
        Look::Queen | Look::Safe => svg.push_str(r##"<use href="#queen"/>"##),
        Look::Attacked => _ = write!(svg, r##"<use href="#queen" opacity="{GHOST}"/>"##),
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws a queen alone, on nothing.
#[must_use]
pub fn queen(scale: Scale) -> String {
    let mut svg = open((scale.tile, scale.tile), Some(scale));
    svg.push_str(r##"<use href="#queen"/></svg>"##);
    svg.push('\n');
    svg
}

/// Draws a board without queens.
#[must_use]
pub fn empty_board(n: u32, scale: Scale) -> String {
    let mut svg = open((scale.board(n), scale.board(n)), None);
    svg.push_str(&squares(n, scale));
    svg.push_str("</svg>\n");
    svg
}

/// Whether a square is a dark one; the top left one is light.
#[must_use]
pub const fn is_dark(queen: Queen) -> bool {
    (queen.row + queen.column) % 2 == 1
}

/// The root of a picture of this width and height, with the definition of a queen if there are queens of some scale.
pub(super) fn open((width, height): (u32, u32), queens: Option<Scale>) -> String {
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">"#
    );
    if let Some(Scale { tile }) = queens {
        let scale = f64::from(tile) / 100.0;
        let outline = if tile < OUTLINED_FROM { "none" } else { OUTLINE };
        _ = write!(svg, r#"<defs><g id="queen" transform="scale({scale})" fill="{INK}" stroke="{outline}" "#);
        _ = write!(svg, r#"stroke-width="2" stroke-linejoin="round">{QUEEN}</g></defs>"#);
    }
    svg
}

/// Frame and squares of a board.
pub(super) fn squares(n: u32, scale: Scale) -> String {
    let (side, frame, tile) = (scale.board(n), scale.frame(), scale.tile);
    let inner = n * tile;
    let mut svg = format!(r#"<rect width="{side}" height="{side}" fill="{FRAME}"/>"#);
    _ = write!(svg, r#"<rect x="{frame}" y="{frame}" width="{inner}" height="{inner}" fill="{LIGHT}"/>"#);
    _ = write!(svg, r#"<path shape-rendering="crispEdges" fill="{DARK}" d=""#);
    for row in 0..n {
        for column in ((row + 1) % 2..n).step_by(2) {
            let (x, y) = scale.corner(Queen { row, column });
            _ = write!(svg, "M{x} {y}h{tile}v{tile}h-{tile}z");
        }
    }
    svg.push_str(r#""/>"#);
    svg
}

/// The queens of a board that lies there on the picture.
fn queens(svg: &mut String, placement: &Placement, scale: Scale, (left, top): (u32, u32)) {
    for queen in placement.queens() {
        let (x, y) = scale.corner(queen);
        _ = write!(svg, r##"<use href="#queen" x="{}" y="{}"/>"##, left + x, top + y);
    }
}

/// Boards in a row and rows of boards on a contact sheet.
const fn layout(n_boards: usize) -> (u32, u32) {
    let root = n_boards.isqrt();
    let n_columns = if root * root < n_boards { root + 1 } else { root };
    let n_columns = if n_columns == 0 { 1 } else { n_columns };
    let n_rows = n_boards.div_ceil(n_columns);
    // The root of any number fits.
    #[expect(clippy::cast_possible_truncation, reason = "both are about the root of a 64-bit number")]
    (n_columns as u32, n_rows as u32)
}
