//! Pictures of boards, as SVG.
//!
//! One unit is one pixel, and everything except the queens has whole coordinates, so that edges are sharp at any size.

use std::fmt::Write;

use super::grid::escaped;
use super::labels::Labels;
use super::placement::Placement;
use super::queen::Queen;
pub use super::theme::Theme;

/// Colours on light and dark squares.
pub(super) const SAFE: [&str; 2] = ["#a9d67c", "#7cb350"];
const BLUE: [&str; 2] = ["#bcd6ee", "#7fa8cf"];
const VIOLET: [&str; 2] = ["#dfc7ef", "#b795d3"];
pub(super) const ATTACKED: [&str; 2] = ["#f29a86", "#d9614c"];
/// The opacity of a queen tried on an attacked square.
pub(super) const GHOST: &str = "0.4";

/// A queen on a square of 100 units: a crown with five points, each with a ball, on a foot.
const QUEEN: &str = concat!(
    r#"<path d="M24 70L9 34L30 46L29 22L44 42L50 17L56 42L71 22L70 46L91 34L76 70Z"/>"#,
    r#"<circle cx="9" cy="30" r="6.5"/><circle cx="29" cy="17" r="6.5"/><circle cx="50" cy="12" r="6.5"/>"#,
    r#"<circle cx="71" cy="17" r="6.5"/><circle cx="91" cy="30" r="6.5"/>"#,
    r#"<path d="M24 70Q50 61 76 70L74 79Q50 72 26 79Z"/><path d="M26 79Q50 72 74 79L80 92Q50 96 20 92Z"/>"#,
);
/// On squares narrower than this many pixels, outlines would blur.
const OUTLINED_FROM: u32 = 24;

/// The look of a square during a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Look {
    /// No queen stands there.
    #[default]
    Empty,
    /// A queen stands there.
    Queen,
    /// A queen has just been placed there, or belongs to a solution. Green.
    Safe,
    /// A queen was tried there, but is attacked. Red.
    Attacked,
}

impl Look {
    /// All looks.
    pub const ALL: [Self; 4] = [Self::Empty, Self::Queen, Self::Safe, Self::Attacked];
}

/// A colour for squares that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// The first kind.
    Blue,
    /// The second kind.
    Violet,
}

impl Mark {
    /// Returns its colours on light and dark squares.
    const fn colours(self) -> [&'static str; 2] {
        match self {
            Self::Blue => BLUE,
            Self::Violet => VIOLET,
        }
    }
}

/// The lengths of a picture in pixels, which all follow from the width of a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Width of a square, at least 1.
    pub tile: u32,
}

impl Scale {
    /// Returns the width of the frame around a board.
    #[must_use]
    pub const fn frame(self) -> u32 {
        self.tile.div_ceil(4)
    }

    /// Returns the distance of the boards on a contact sheet, also from its edges.
    #[must_use]
    pub const fn gap(self) -> u32 {
        self.tile.saturating_mul(3) / 2
    }

    /// Returns the width and height of a board of size `n` with its frame. Saturates.
    #[must_use]
    pub const fn board(self, n: u32) -> u32 {
        n.saturating_mul(self.tile).saturating_add(2 * self.frame())
    }

    /// Returns the upper left corner of a square of a board.
    #[must_use]
    pub const fn corner(self, queen: Queen) -> (u32, u32) {
        (self.frame() + queen.column * self.tile, self.frame() + queen.row * self.tile)
    }
}

/// The options of drawing placements.
#[derive(Clone, Copy, Debug)]
pub struct Style<'a> {
    /// The size.
    pub scale: Scale,
    /// The colours.
    pub theme: Theme,
    /// Whether rows and columns have their names beside each board.
    pub coordinates: bool,
    /// The text below everything, in a font of the viewer.
    pub caption: Option<&'a str>,
}

impl Style<'_> {
    /// Returns the width and height of a picture of one board. Saturates.
    #[must_use]
    pub fn board(&self, n: u32) -> (u32, u32) {
        let (width, height) = self.place(n);
        (width, height.saturating_add(self.below()))
    }

    /// Returns the width and height of a contact sheet of boards of size `n`. Saturates.
    #[must_use]
    pub fn sheet(&self, n: u32, n_boards: usize) -> (u32, u32) {
        let (n_columns, n_rows) = layout(n_boards);
        let (width, height) = self.place(n);
        let gap = self.scale.gap();
        let length = |boards: u32, of: u32| of.saturating_add(gap).saturating_mul(boards).saturating_add(gap);
        (length(n_columns, width), length(n_rows, height).saturating_add(self.below()))
    }

    /// Returns the width and height of a board with its names.
    fn place(&self, n: u32) -> (u32, u32) {
        let side = self.scale.board(n);
        let Some(labels) = self.labels(n) else { return (side, side) };
        let around = |one: u32, other: u32| side.saturating_add(one).saturating_add(other);
        (around(labels.left(), labels.around()), around(labels.below(), labels.around()))
    }

    /// Returns the room for the caption.
    const fn below(&self) -> u32 {
        if self.caption.is_some() { self.scale.gap() } else { 0 }
    }

    fn labels(&self, n: u32) -> Option<Labels> {
        self.coordinates.then(|| Labels::new(n, self.scale.tile))
    }

    /// Returns the position of a board in its place.
    fn origin(&self, n: u32) -> (u32, u32) {
        self.labels(n).map_or((0, 0), |labels| (labels.left(), labels.around()))
    }

    /// Draws the frame, the squares and their names.
    fn empty(&self, svg: &mut String, n: u32) {
        let (left, top) = self.origin(n);
        let squares = squares(n, self.scale, &self.theme);
        match self.labels(n) {
            None => svg.push_str(&squares),
            Some(labels) => {
                _ = write!(svg, r#"<g transform="translate({left} {top})">{squares}</g>"#);
                let frame = self.scale.frame();
                labels.draw(svg, (left + frame, top + frame), frame, self.theme.text);
            }
        }
    }

    fn write_caption(&self, svg: &mut String, (width, height): (u32, u32)) {
        let Some(caption) = self.caption else { return };
        let n = caption.chars().count().max(1);
        // Letters are a little more than half as wide as high.
        let room = f64::from(width) * 0.92 / (0.6 * f64::from(u32::try_from(n).unwrap_or(u32::MAX)));
        let size = room.min(f64::from(self.scale.gap()) * 0.35);
        let (x, y) = (f64::from(width) / 2.0, f64::from(height) - f64::from(self.below()) * 0.4);
        let text = escaped(caption);
        _ = write!(svg, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="middle" font-family="sans-serif" "#);
        _ = write!(svg, r#"font-size="{size:.1}" fill="{}">{text}</text>"#, self.theme.text);
    }
}

/// Draws a placement.
///
/// ```
/// # use queens_solver::boards::{construction, picture::{self, Scale, Style, Theme}};
/// let placement = construction(8).expect("there is one");
/// let style = Style { scale: Scale { tile: 48 }, theme: Theme::WOOD, coordinates: false, caption: None };
/// assert!(picture::board(&placement, &style).starts_with("<svg"));
/// ```
#[must_use]
pub fn board(placement: &Placement, style: &Style<'_>) -> String {
    let n = placement.n();
    let size = style.board(n);
    let mut svg = open(size, Some(style.scale), &style.theme);
    if style.coordinates || style.caption.is_some() {
        _ = write!(svg, r#"<rect width="100%" height="100%" fill="{}"/>"#, style.theme.paper);
    }
    style.empty(&mut svg, n);
    queens(&mut svg, placement, style.scale, style.origin(n));
    style.write_caption(&mut svg, size);
    svg.push_str("</svg>\n");
    svg
}

/// Draws some or all queens of a board with marked squares, with a look for each square.
#[must_use]
pub fn marked_position(n: u32, marked: &[(Queen, Mark)], queens: &[(Queen, Look)], scale: Scale) -> String {
    let side = scale.board(n);
    let mut svg = open((side, side), Some(scale), &Theme::WOOD);
    svg.push_str(&squares(n, scale, &Theme::WOOD));
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

/// Draws several placements of one size on one contact sheet, with as many in a row as rows.
#[must_use]
pub fn sheet(n: u32, placements: &[Placement], style: &Style<'_>) -> String {
    let (n_columns, _) = layout(placements.len());
    let (width, height) = style.place(n);
    let (gap, (left, top)) = (style.scale.gap(), style.origin(n));
    let size = style.sheet(n, placements.len());
    let mut svg = open(size, Some(style.scale), &style.theme);
    _ = write!(svg, r#"<rect width="100%" height="100%" fill="{}"/>"#, style.theme.paper);
    svg.push_str(r#"<defs><g id="board">"#);
    style.empty(&mut svg, n);
    svg.push_str("</g></defs>");
    for (i, placement) in (0..).zip(placements) {
        let (x, y) = (gap + i % n_columns * (width + gap), gap + i / n_columns * (height + gap));
        _ = write!(svg, r##"<use href="#board" x="{x}" y="{y}"/>"##);
        queens(&mut svg, placement, style.scale, (x + left, y + top));
    }
    style.write_caption(&mut svg, size);
    svg.push_str("</svg>\n");
    svg
}

/// Draws one square.
#[must_use]
pub fn tile(dark: bool, look: Look, scale: Scale) -> String {
    let colour = match look {
        Look::Empty | Look::Queen => [Theme::WOOD.light, Theme::WOOD.dark][usize::from(dark)],
        Look::Safe => SAFE[usize::from(dark)],
        Look::Attacked => ATTACKED[usize::from(dark)],
    };
    let mut svg = open((scale.tile, scale.tile), Some(scale).filter(|_| look != Look::Empty), &Theme::WOOD);
    _ = write!(svg, r#"<rect width="100%" height="100%" fill="{colour}"/>"#);
    match look {
        Look::Empty => {}
        Look::Queen | Look::Safe => svg.push_str(r##"<use href="#queen"/>"##),
        Look::Attacked => _ = write!(svg, r##"<use href="#queen" opacity="{GHOST}"/>"##),
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws a queen alone, without background.
#[must_use]
pub fn queen(scale: Scale) -> String {
    let mut svg = open((scale.tile, scale.tile), Some(scale), &Theme::WOOD);
    svg.push_str(r##"<use href="#queen"/></svg>"##);
    svg.push('\n');
    svg
}

/// Draws a board without queens.
#[must_use]
pub fn empty_board(n: u32, scale: Scale) -> String {
    let mut svg = open((scale.board(n), scale.board(n)), None, &Theme::WOOD);
    svg.push_str(&squares(n, scale, &Theme::WOOD));
    svg.push_str("</svg>\n");
    svg
}

/// Returns whether a square is dark; the top left one is light.
#[must_use]
pub const fn is_dark(queen: Queen) -> bool {
    (queen.row + queen.column) % 2 == 1
}

/// Returns the start of an SVG of this width and height. It defines a queen if `queens` has a scale.
pub(super) fn open((width, height): (u32, u32), queens: Option<Scale>, theme: &Theme) -> String {
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">"#
    );
    if let Some(Scale { tile }) = queens {
        let scale = f64::from(tile) / 100.0;
        let outline = if tile < OUTLINED_FROM { "none" } else { theme.outline };
        _ = write!(
            svg,
            r#"<defs><g id="queen" transform="scale({scale})" fill="{}" stroke="{outline}" "#,
            theme.ink
        );
        _ = write!(svg, r#"stroke-width="2" stroke-linejoin="round">{QUEEN}</g></defs>"#);
    }
    svg
}

/// Draws the frame and the squares of a board.
pub(super) fn squares(n: u32, scale: Scale, theme: &Theme) -> String {
    let Theme { light, dark, frame: around, .. } = theme;
    let (side, frame, tile) = (scale.board(n), scale.frame(), scale.tile);
    let inner = n * tile;
    let mut svg = format!(r#"<rect width="{side}" height="{side}" fill="{around}"/>"#);
    _ = write!(svg, r#"<rect x="{frame}" y="{frame}" width="{inner}" height="{inner}" fill="{light}"/>"#);
    _ = write!(svg, r#"<path shape-rendering="crispEdges" fill="{dark}" d=""#);
    for row in 0..n {
        for column in ((row + 1) % 2..n).step_by(2) {
            let (x, y) = scale.corner(Queen { row, column });
            _ = write!(svg, "M{x} {y}h{tile}v{tile}h-{tile}z");
        }
    }
    svg.push_str(r#""/>"#);
    svg
}

/// Draws the queens of a board at this position of the picture.
fn queens(svg: &mut String, placement: &Placement, scale: Scale, (left, top): (u32, u32)) {
    for queen in placement.queens() {
        let (x, y) = scale.corner(queen);
        _ = write!(svg, r##"<use href="#queen" x="{}" y="{}"/>"##, left + x, top + y);
    }
}

/// Returns the boards in a row, and the rows of boards, of a contact sheet.
const fn layout(n_boards: usize) -> (u32, u32) {
    let root = n_boards.isqrt();
    let n_columns = if root * root < n_boards { root + 1 } else { root };
    let n_columns = if n_columns == 0 { 1 } else { n_columns };
    let n_rows = n_boards.div_ceil(n_columns);
    // The root of any number fits.
    #[expect(clippy::cast_possible_truncation, reason = "both are about the root of a 64-bit number")]
    (n_columns as u32, n_rows as u32)
}
