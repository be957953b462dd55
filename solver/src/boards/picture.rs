//! Pictures of boards, as SVG.
//!
//! A square is 100 units wide, so that everything has whole coordinates; the size in pixels stands at the root.

use std::fmt::Write;

use super::{Placement, Queen};

/// Units of a square's side.
const UNITS: u32 = 100;
/// Units of the frame around a board.
const FRAME: u32 = 25;
/// Units between the boards of a contact sheet and around them.
const GAP: u32 = 150;

const LIGHT: &str = "#f0dcb8";
const DARK: &str = "#b5835a";
const FRAME_COLOUR: &str = "#4a2f1f";
const PAPER: &str = "#ffffff";
/// On light and dark squares.
const SAFE: [&str; 2] = ["#a9d67c", "#7cb350"];
const ATTACKED: [&str; 2] = ["#f29a86", "#d9614c"];
/// How much of a queen is seen that is tried where she is attacked.
const GHOST: &str = "0.4";

/// A queen on a square of 100 units: a crown with five points, each with a ball, on a foot.
const QUEEN: &str = r##"<g id="queen" fill="#1d1a18" stroke="#fdf8ee" stroke-width="2.5" stroke-linejoin="round"><path d="M26 66L13 37L33 53L31 25L46 48L50 20L54 48L69 25L67 53L87 37L74 66Z"/><circle cx="12" cy="32" r="6.5"/><circle cx="30.500" cy="20" r="6.5"/><circle cx="50" cy="15" r="6.5"/><circle cx="69.500" cy="20" r="6.5"/><circle cx="88" cy="32" r="6.5"/><path d="M26 66Q50 58 74 66L71 76Q50 70 29 76Z"/><path d="M29 76Q50 70 71 76L77 88Q50 92 23 88Z"/></g>"##;

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

/// Draws a placement, its squares `tile_px` pixels wide.
///
/// ```
/// # use queens_solver::boards::{construction, picture};
/// let placement = construction(8).expect("there is one");
/// assert!(picture::board(&placement, 48).starts_with("<svg"));
/// ```
#[must_use]
pub fn board(placement: &Placement, tile_px: u32) -> String {
    let mut svg = open(side(placement.n()), side(placement.n()), tile_px, true);
    _ = write!(svg, "<g>{}</g>", squares(placement.n()));
    queens(&mut svg, placement, FRAME, FRAME);
    svg.push_str("</svg>\n");
    svg
}

/// Draws several placements of one size on one sheet, which is about as high as wide.
#[must_use]
pub fn sheet(n: u32, placements: &[Placement], tile_px: u32) -> String {
    let (n_columns, n_rows) = layout(placements.len());
    let pitch = side(n) + GAP;
    let mut svg = open(n_columns * pitch + GAP, n_rows * pitch + GAP, tile_px, true);
    _ = write!(svg, r#"<rect width="100%" height="100%" fill="{PAPER}"/>"#);
    _ = write!(svg, r#"<defs><g id="board">{}</g></defs>"#, squares(n));
    for (i, placement) in (0..).zip(placements) {
        let (x, y) = (GAP + i % n_columns * pitch, GAP + i / n_columns * pitch);
        _ = write!(svg, r##"<use href="#board" x="{x}" y="{y}"/>"##);
        queens(&mut svg, placement, x + FRAME, y + FRAME);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Width and height of a contact sheet of `n_boards` boards of size `n` in pixels.
#[must_use]
pub fn sheet_px(n: u32, n_boards: usize, tile_px: u32) -> (u32, u32) {
    let (n_columns, n_rows) = layout(n_boards);
    let pitch = side(n) + GAP;
    (px(n_columns * pitch + GAP, tile_px), px(n_rows * pitch + GAP, tile_px))
}

/// Width and height of a board in pixels.
#[must_use]
pub fn board_px(n: u32, tile_px: u32) -> u32 {
    px(side(n), tile_px)
}

/// Width of a board's frame in pixels.
#[must_use]
pub fn frame_px(tile_px: u32) -> u32 {
    px(FRAME, tile_px)
}

/// Draws one square, `tile_px` pixels wide.
#[must_use]
pub fn tile(dark: bool, look: Look, tile_px: u32) -> String {
    let colour = match look {
        Look::Empty | Look::Queen => [LIGHT, DARK][usize::from(dark)],
        Look::Safe => SAFE[usize::from(dark)],
        Look::Attacked => ATTACKED[usize::from(dark)],
    };
    let mut svg = open(UNITS, UNITS, tile_px, look != Look::Empty);
    _ = write!(svg, r#"<rect width="{UNITS}" height="{UNITS}" fill="{colour}"/>"#);
    match look {
        Look::Empty => {}
        Look::Queen | Look::Safe => svg.push_str(r##"<use href="#queen"/>"##),
        Look::Attacked => _ = write!(svg, r##"<use href="#queen" opacity="{GHOST}"/>"##),
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws a board without queens.
#[must_use]
pub fn empty_board(n: u32, tile_px: u32) -> String {
    let mut svg = open(side(n), side(n), tile_px, false);
    svg.push_str(&squares(n));
    svg.push_str("</svg>\n");
    svg
}

/// Units of a board's side, its frame included.
pub(super) fn side(n: u32) -> u32 {
    n * UNITS + 2 * FRAME
}

/// The root of a picture of so many units, with the definition of a queen if there will be any.
pub(super) fn open(width: u32, height: u32, tile_px: u32, with_queens: bool) -> String {
    let (width_px, height_px) = (px(width, tile_px), px(height, tile_px));
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width_px}" height="{height_px}" viewBox="0 0 {width} {height}">"#
    );
    if with_queens {
        _ = write!(svg, "<defs>{QUEEN}</defs>");
    }
    svg
}

/// Frame and squares of a board.
pub(super) fn squares(n: u32) -> String {
    let (side, inner) = (side(n), n * UNITS);
    let mut svg = format!(
        r#"<rect width="{side}" height="{side}" fill="{FRAME_COLOUR}"/><rect x="{FRAME}" y="{FRAME}" width="{inner}" height="{inner}" fill="{LIGHT}"/>"#
    );
    _ = write!(svg, r#"<path shape-rendering="crispEdges" fill="{DARK}" d=""#);
    for row in 0..n {
        for column in ((row + 1) % 2..n).step_by(2) {
            let (x, y) = at(Queen { row, column });
            _ = write!(svg, "M{x} {y}h{UNITS}v{UNITS}h-{UNITS}z");
        }
    }
    svg.push_str(r#""/>"#);
    svg
}

/// Whether a square is a dark one; the top left one is light.
#[must_use]
pub const fn is_dark(queen: Queen) -> bool {
    (queen.row + queen.column) % 2 == 1
}

/// The upper left corner of a square on a board.
pub(super) fn at(queen: Queen) -> (u32, u32) {
    (FRAME + queen.column * UNITS, FRAME + queen.row * UNITS)
}

fn queens(svg: &mut String, placement: &Placement, x: u32, y: u32) {
    for queen in placement.queens() {
        let (x, y) = (x + queen.column * UNITS, y + queen.row * UNITS);
        _ = write!(svg, r##"<use href="#queen" x="{x}" y="{y}"/>"##);
    }
}

/// The colours of an animation's marks on a square.
pub(super) fn marks(queen: Queen) -> (&'static str, &'static str) {
    let dark = usize::from(is_dark(queen));
    (SAFE[dark], ATTACKED[dark])
}

/// How much of a queen is seen that is tried where she is attacked.
pub(super) const fn ghost() -> &'static str {
    GHOST
}

/// Boards beside each other and below each other on a contact sheet.
fn layout(n_boards: usize) -> (u32, u32) {
    let n_boards = u32::try_from(n_boards).unwrap_or(u32::MAX);
    let n_columns = n_boards.isqrt() + u32::from(n_boards.isqrt().pow(2) < n_boards);
    (n_columns.max(1), n_boards.div_ceil(n_columns.max(1)).max(1))
}

/// Units as pixels, to the nearest.
fn px(units: u32, tile_px: u32) -> u32 {
    let px = (u64::from(units) * u64::from(tile_px) + u64::from(UNITS / 2)) / u64::from(UNITS);
    u32::try_from(px).unwrap_or(u32::MAX)
}
