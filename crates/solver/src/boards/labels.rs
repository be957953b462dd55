//! The names of rows and columns beside a board, as on chess boards: a, b, … from the left, 1, 2, … from the bottom.
//!
//! They are drawn as lines, so that they need no font and look the same in every viewer.

use std::fmt::Write;

/// Each letter and digit as lines between points, each with a digit for x and one for y. x goes from 0 to 4. y goes
/// from 0, the top of high letters, over 6, the base line, to 8, the bottom of descenders.
const GLYPHS: [(char, &str); 36] = [
    ('0', "10 30 41 45 36 16 05 01 10"),
    ('1', "11 20 26/16 36"),
    ('2', "01 10 30 41 42 06 46"),
    ('3', "00 40 22 32 43 45 36 16 05"),
    ('4', "36 30 04 44"),
    ('5', "40 00 02 32 43 45 36 06"),
    ('6', "30 10 01 05 16 36 45 44 33 03"),
    ('7', "00 40 16"),
    ('8', "10 30 41 42 33 13 02 01 10/13 04 05 16 36 45 44 33"),
    ('9', "16 36 45 41 30 10 01 02 13 43"),
    ('a', "12 32 43 46/44 14 05 16 46"),
    ('b', "00 06 36 45 43 32 02"),
    ('c', "42 12 03 05 16 46"),
    ('d', "40 46 16 05 03 12 42"),
    ('e', "04 44 43 32 12 03 05 16 46"),
    ('f', "40 30 21 26/02 42"),
    ('g', "46 16 05 03 12 42 47 38 08"),
    ('h', "00 06/02 32 43 46"),
    ('i', "22 26/20 20"),
    ('j', "32 37 28 18/30 30"),
    ('k', "00 06/42 04/23 46"),
    ('l', "20 25 36"),
    ('m', "06 02 32 43 46/22 26"),
    ('n', "02 06/02 32 43 46"),
    ('o', "12 32 43 45 36 16 05 03 12"),
    ('p', "08 02 32 43 45 36 06"),
    ('q', "48 42 12 03 05 16 46"),
    ('r', "02 06/03 12 42"),
    ('s', "42 12 03 14 34 45 36 06"),
    ('t', "20 25 36 46/02 42"),
    ('u', "02 05 16 46/42 46"),
    ('v', "02 26 42"),
    ('w', "02 16 23 36 42"),
    ('x', "02 46/42 06"),
    ('y', "02 26/42 18"),
    ('z', "02 42 06 46"),
];

/// The advance of a letter in the units of its points: its own width, and a gap.
const ADVANCE: u32 = 6;
const WIDTH: u32 = 4;

/// From the top of a high letter to the base line.
const HEIGHT: u32 = 6;

/// The depth of descenders below the base line.
const BELOW: u32 = 2;

/// The sizes of names beside a board, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Labels {
    n: u32,
    tile: u32,
    /// The pixels of a unit.
    unit: f64,
}

impl Labels {
    pub(super) fn new(n: u32, tile: u32) -> Self {
        let longest = u32::try_from(column_name(n.saturating_sub(1)).len()).unwrap_or(1);
        // Two fifths of a square, or less, so that neighbouring names do not touch.
        let unit = f64::from(tile) * 0.4 / f64::from(HEIGHT);
        let unit = unit.min(f64::from(tile) * 0.85 / f64::from(longest * ADVANCE));
        Self { n, tile, unit }
    }

    /// Returns the room left of the board.
    pub(super) fn left(self) -> u32 {
        let longest = u32::try_from(self.n.to_string().len()).unwrap_or(1);
        self.pixels(longest * ADVANCE + HEIGHT)
    }

    /// Returns the room below the board.
    pub(super) fn below(self) -> u32 {
        self.pixels(2 * HEIGHT + BELOW)
    }

    /// Returns the room at the other sides.
    pub(super) fn around(self) -> u32 {
        self.pixels(HEIGHT / 2)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some pixels")]
    fn pixels(self, units: u32) -> u32 {
        (f64::from(units) * self.unit).ceil() as u32
    }

    /// Draws the names beside a board, given its first square's corner and its frame's width.
    pub(super) fn draw(self, svg: &mut String, (x, y): (u32, u32), frame: u32, colour: &str) {
        let width = 0.9 * self.unit;
        _ = write!(svg, r#"<path class="names" fill="none" stroke="{colour}" stroke-width="{width:.2}" "#);
        svg.push_str(r#"stroke-linecap="round" stroke-linejoin="round" d=""#);
        let (x, y, tile) = (f64::from(x), f64::from(y), f64::from(self.tile));
        let middle = |at: u32| tile * (f64::from(at) + 0.5);
        let bottom = y + tile * f64::from(self.n) + f64::from(frame);
        let right = x - f64::from(frame) - self.unit * f64::from(HEIGHT) / 2.0;
        for at in 0..self.n {
            let name = column_name(at);
            let top = bottom + self.unit * f64::from(HEIGHT) / 2.0;
            self.name(svg, &name, (x + middle(at) - self.length(&name) / 2.0, top));
            let name = (self.n - at).to_string();
            let top = y + middle(at) - self.unit * f64::from(HEIGHT) / 2.0;
            self.name(svg, &name, (right - self.length(&name), top));
        }
        svg.push_str(r#""/>"#);
    }

    fn length(self, name: &str) -> f64 {
        let n = u32::try_from(name.len()).unwrap_or(1);
        f64::from((n * ADVANCE).saturating_sub(ADVANCE - WIDTH)) * self.unit
    }

    /// Draws the lines of a name from its upper left corner.
    fn name(self, svg: &mut String, name: &str, (left, top): (f64, f64)) {
        let mut left = left;
        for letter in name.chars() {
            let lines = GLYPHS.iter().find(|(known, _)| *known == letter).map_or("", |(_, lines)| lines);
            for line in lines.split('/').filter(|line| !line.is_empty()) {
                for (i, point) in line.split(' ').enumerate() {
                    let mut digits = point.chars().filter_map(|c| c.to_digit(10)).map(f64::from);
                    let (x, y) = (digits.next().unwrap_or(0.0), digits.next().unwrap_or(0.0));
                    let command = if i == 0 { 'M' } else { 'L' };
                    _ = write!(svg, "{command}{:.2} {:.2}", left + x * self.unit, top + y * self.unit);
                }
            }
            left += f64::from(ADVANCE) * self.unit;
        }
    }
}

/// Returns the name of a column: a to z, then aa, ab and so on.
fn column_name(column: u32) -> String {
    let mut letters = Vec::new();
    let mut left = column + 1;
    while left > 0 {
        left -= 1;
        letters.extend(char::from_digit(left % 26 + 10, 36));
        left /= 26;
    }
    letters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_on_beyond_z() {
        for (column, name) in
            [(0, "a"), (7, "h"), (25, "z"), (26, "aa"), (51, "az"), (52, "ba"), (701, "zz"), (702, "aaa")]
        {
            assert_eq!(column_name(column), name);
        }
    }
}
