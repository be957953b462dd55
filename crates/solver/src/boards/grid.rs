//! A heat map of counts in rows and columns, as SVG.
//!
//! The same counts give the same text: nothing depends on the time or the order of the cells.

use std::fmt::Write;

/// Pixels. The texts can be read on a phone, which shows the picture at two thirds of its size.
const WIDTH: u32 = 560;
const SIDE: u32 = 480;
const LEFT: u32 = 60;
const LINE: u32 = 22;
/// The most characters of a line.
const LONGEST: usize = 62;
/// The narrowest column that has its number.
const NUMBERED: u32 = 20;

/// The shades from the fewest to the most, by red, green and blue.
const FEWEST: [u32; 3] = [0xd3, 0xe3, 0xf4];
const MOST: [u32; 3] = [0x08, 0x30, 0x6b];
const N_SHADES: u32 = 8;
/// The colour of a cell with count 0.
const NOTHING: &str = "#ece8df";

/// The texts around a grid.
#[derive(Clone, Debug)]
pub struct Labels<'a> {
    /// The title above everything.
    pub title: &'a str,
    /// The lines below the title.
    pub lines: &'a [String],
    /// The name of the column axis.
    pub across: &'a str,
    /// The name of the row axis.
    pub down: &'a str,
    /// The legend's text for cells with count 0, if there are any.
    pub nothing: &'a str,
}

/// A cell with its count. Missing cells stay blank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// 0 is the top row.
    pub row: u8,
    /// 0 is the left column.
    pub column: u8,
    /// The number to show.
    pub count: u128,
}

/// Draws counts, with stronger shades for more, with a legend of each shade's upper bound.
///
/// ```
/// # use queens_solver::boards::grid::{Cell, Labels, svg};
/// let labels = Labels { title: "a & b", lines: &[], across: "columns", down: "rows", nothing: "none" };
/// let drawn = svg(&labels, &[Cell { row: 0, column: 2, count: 1_234 }]);
/// assert!(drawn.contains("a &amp; b") && drawn.contains("1,234"));
/// ```
#[must_use]
pub fn svg(labels: &Labels<'_>, cells: &[Cell]) -> String {
    let n_rows = cells.iter().map(|cell| u32::from(cell.row) + 1).max().unwrap_or(1);
    let n_columns = cells.iter().map(|cell| u32::from(cell.column) + 1).max().unwrap_or(1);
    let lines: Vec<String> = [labels.title]
        .into_iter()
        .chain(labels.lines.iter().map(|line| &**line))
        .flat_map(wrapped)
        .take(9)
        .collect();
    let top = 12 + LINE * u32::try_from(lines.len()).unwrap_or(0) + 2 * LINE + 12;
    let frame = Frame { tile: SIDE / n_rows.max(n_columns), n_rows, n_columns, top };
    let shades = Shades::up_to(cells.iter().map(|cell| cell.count).max().unwrap_or(0));
    let foot = top + frame.tile * n_rows + 16;
    let n_entries = u32::try_from(shades.ranges().count()).unwrap_or(N_SHADES) + 1;
    let height = foot + (LINE + 4) * n_entries.div_ceil(2) + 8;
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img" "#
    );
    let title = escaped(labels.title);
    svg.push_str(r##"font-family="sans-serif" font-size="16" fill="#222">"##);
    _ = write!(svg, r##"<title>{title}</title><rect width="100%" height="100%" fill="#fff"/>"##);
    for (y, line) in (0..).map(|i| 28 + LINE * i).zip(&lines) {
        _ = write!(svg, r#"<text x="20" y="{y}">{}</text>"#, escaped(line));
    }
    frame.write_axes(&mut svg, labels);
    for (shade, colour) in (0..).zip(shades.colours()) {
        let mut path = String::new();
        let mut of_shade: Vec<_> = cells.iter().filter(|cell| shades.of(cell.count) == shade).collect();
        of_shade.sort_by_key(|cell| (cell.row, cell.column));
        for cell in of_shade {
            let ((x, y), inner) = (frame.corner(cell), frame.tile - 1);
            _ = write!(path, "M{x} {y}h{inner}v{inner}h-{inner}z");
        }
        if !path.is_empty() {
            _ = write!(svg, r#"<path shape-rendering="crispEdges" fill="{colour}" d="{path}"/>"#);
        }
    }
    let has_nothing = cells.iter().any(|cell| cell.count == 0);
    shades.write_legend(&mut svg, labels, foot, has_nothing);
    svg.push_str("</svg>\n");
    svg
}

/// The position of the cells.
struct Frame {
    tile: u32,
    n_rows: u32,
    n_columns: u32,
    top: u32,
}

impl Frame {
    fn corner(&self, cell: &Cell) -> (u32, u32) {
        (LEFT + u32::from(cell.column) * self.tile, self.top + u32::from(cell.row) * self.tile)
    }

    fn write_axes(&self, svg: &mut String, labels: &Labels<'_>) {
        let (middle_x, middle_y) =
            (LEFT + self.tile * self.n_columns / 2, self.top + self.tile * self.n_rows / 2);
        let [across, down] = [labels.across, labels.down].map(escaped);
        let y = self.top - 22;
        _ = write!(svg, r#"<text x="{middle_x}" y="{y}" text-anchor="middle">{across}</text>"#);
        _ = write!(
            svg,
            r#"<text transform="translate(18 {middle_y}) rotate(-90)" text-anchor="middle">{down}</text>"#
        );
        svg.push_str(r##"<g font-size="14" fill="#555">"##);
        let (y, every) = (self.top - 6, if self.tile < NUMBERED { 2 } else { 1 });
        for column in (0..self.n_columns).step_by(every) {
            let x = LEFT + self.tile * column + self.tile / 2;
            _ = write!(svg, r#"<text x="{x}" y="{y}" text-anchor="middle">{column}</text>"#);
        }
        let x = LEFT - 6;
        for row in (0..self.n_rows).step_by(every) {
            let y = self.top + self.tile * row + self.tile / 2 + 5;
            _ = write!(svg, r#"<text x="{x}" y="{y}" text-anchor="end">{row}</text>"#);
        }
        svg.push_str("</g>");
    }
}

/// Ranges of counts with equal width, each with its shade. The first shade is that of count 0.
struct Shades {
    most: u128,
    width: u128,
}

impl Shades {
    const fn up_to(most: u128) -> Self {
        let width = most.div_ceil(N_SHADES as u128);
        Self { most, width: if width == 0 { 1 } else { width } }
    }

    /// Returns the number of a count's shade.
    fn of(&self, count: u128) -> u32 {
        u32::try_from(count.div_ceil(self.width)).unwrap_or(N_SHADES).min(N_SHADES)
    }

    /// Returns the ranges from the fewest, each with its least and largest count.
    fn ranges(&self) -> impl Iterator<Item = (u128, u128)> + '_ {
        let first =
            (0..u128::from(N_SHADES)).map(|i| i * self.width + 1).take_while(|first| *first <= self.most);
        first.map(|first| (first, self.most.min(first + self.width - 1)))
    }

    /// Returns the colour of count 0, then those of the ranges from the fewest.
    fn colours(&self) -> impl Iterator<Item = String> + '_ {
        let last = u32::try_from(self.ranges().count()).unwrap_or(N_SHADES).max(2) - 1;
        let of = move |i: u32| {
            let mut colour = "#".to_owned();
            for (few, many) in FEWEST.into_iter().zip(MOST) {
                _ = write!(colour, "{:02x}", (few * (last - i) + many * i) / last);
            }
            colour
        };
        std::iter::once(NOTHING.to_owned()).chain((0..=last).map(of))
    }

    /// Writes the legend in two columns below the grid.
    fn write_legend(&self, svg: &mut String, labels: &Labels<'_>, top: u32, has_nothing: bool) {
        let ranges = self.ranges().map(|(_, last)| format!("up to {}", grouped(last)));
        let nothing = has_nothing.then(|| (NOTHING.to_owned(), escaped(labels.nothing)));
        let entries = nothing.into_iter().chain(self.colours().skip(1).zip(ranges));
        for (i, (colour, text)) in (0..).zip(entries) {
            let (x, y) = (LEFT + SIDE / 2 * (i % 2), top + (LINE + 4) * (i / 2));
            let (behind, foot) = (x + 24, y + 13);
            _ = write!(svg, r#"<rect x="{x}" y="{y}" width="16" height="16" fill="{colour}"/>"#);
            _ = write!(svg, r#"<text x="{behind}" y="{foot}">{text}</text>"#);
        }
    }
}

/// Breaks a text into lines between its words.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last().map_or(0, |line| line.chars().count());
        match lines.last_mut() {
            Some(line) if last == 0 => line.push_str(word),
            Some(line) if last + 1 + word.chars().count() <= LONGEST => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Formats a number with thousands separators.
#[must_use]
pub fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.char_indices() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Escapes text for HTML, SVG and other XML, also within quoted attributes.
#[must_use]
pub fn escaped(text: &str) -> String {
    let escapes = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")];
    escapes.into_iter().fold(text.to_owned(), |text, (character, escape)| text.replace(character, escape))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_in_thousands() {
        for (number, expected) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (234_907_967_154_122_528, "234,907,967,154,122,528")]
        {
            assert_eq!(grouped(number), expected);
        }
    }

    #[test]
    fn texts_do_no_harm_in_a_page() {
        let escaped = escaped("<script>alert('&\"')</script>");
        assert_eq!(escaped, "&lt;script&gt;alert(&#39;&amp;&quot;&#39;)&lt;/script&gt;");
    }

    /// Every count above 0 is in the range of its shade, and no two ranges overlap.
    #[test]
    fn every_count_has_the_shade_that_the_legend_says() {
        for most in (0..=40).chain([1_000, u128::from(u64::MAX), u128::MAX / 16]) {
            let shades = Shades::up_to(most);
            let ranges: Vec<_> = shades.ranges().collect();
            assert!(ranges.len() <= 8 && shades.colours().count() > ranges.len(), "{most}");
            assert_eq!(shades.of(0), 0);
            assert!(
                most == 0 || ranges[0].0 == 1 && ranges.last().is_some_and(|last| last.1 == most),
                "{most}"
            );
            assert!(ranges.windows(2).all(|two| two[0].1 + 1 == two[1].0), "{most}");
            for (shade, (first, last)) in (1..).zip(ranges) {
                assert_eq!((shades.of(first), shades.of(last)), (shade, shade), "{most}");
            }
        }
    }

    #[test]
    fn the_order_of_the_cells_does_not_matter() {
        let labels = Labels { title: "<a>", lines: &["b".to_owned()], across: "c", down: "d", nothing: "e" };
        let cell = |row, column, count| Cell { row, column, count };
        let mut cells = vec![cell(0, 1, 7), cell(2, 0, 90), cell(1, 1, 0), cell(1, 2, 8)];
        let drawn = svg(&labels, &cells);
        cells.reverse();
        assert_eq!(drawn, svg(&labels, &cells));
        assert!(
            drawn.contains("&lt;a&gt;") && drawn.contains(">e</text>") && drawn.contains(">up to 90</text>"),
            "{drawn}"
        );
        assert_eq!(drawn.matches("h159v159").count(), 4);
    }

    #[test]
    fn long_lines_are_broken_between_words() {
        let text = ["word"; 30].join(" ");
        let lines = wrapped(&text);
        assert!(lines.len() == 3 && lines.iter().all(|line| line.len() <= LONGEST), "{lines:?}");
        assert_eq!(lines.join(" "), text);
    }

    #[test]
    fn no_cells_are_a_picture_too() {
        let labels = Labels { title: "", lines: &[], across: "", down: "", nothing: "" };
        assert!(svg(&labels, &[]).ends_with("</svg>\n"));
    }
}
