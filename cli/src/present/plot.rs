//! A line plot with a logarithmic axis, as SVG.

use std::fmt::Write;

use queens_solver::boards::grid::escaped;

/// Pixels.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 92.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 58.0;

/// Colours that most eyes can tell apart (Okabe and Ito, "Color universal design", 2008).
const COLOURS: [&str; 7] = ["#d55e00", "#e69f00", "#009e73", "#56b4e9", "#0072b2", "#cc79a7", "#000000"];

/// A line of the plot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// The text of the legend.
    pub(crate) name: String,
    /// Points from left to right: a whole number and a positive value.
    pub(crate) points: Vec<(u32, f64)>,
}

/// The texts above the plot, below the horizontal axis, and beside the vertical one.
const TITLE: &str = "Counting all solutions on one thread";
const BELOW: &str = "board size n";
const BESIDE: &str = "time (logarithmic)";

/// Draws the seconds of methods over n, on a logarithmic axis. Skips values that are not positive.
#[must_use]
pub(crate) fn log_plot(lines: &[Line]) -> String {
    let scale = Scale::new(lines);
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" "#
    );
    svg.push_str(r##"font-family="sans-serif" font-size="13" fill="#222">"##);
    svg.push_str(r##"<rect width="100%" height="100%" fill="#fff"/>"##);
    axes(&mut svg, &scale);
    for (i, line) in lines.iter().enumerate() {
        draw(&mut svg, line, COLOURS[i % COLOURS.len()], &scale);
    }
    legend(&mut svg, lines);
    svg.push_str("</svg>\n");
    svg
}

/// The visible part of the plane.
struct Scale {
    first: u32,
    last: u32,
    /// Powers of ten.
    low: i32,
    high: i32,
}

impl Scale {
    fn new(lines: &[Line]) -> Self {
        let points = || lines.iter().flat_map(Line::positive);
        let first = points().map(|(x, _)| x).min().unwrap_or(0);
        let last = points().map(|(x, _)| x).max().unwrap_or(first + 1).max(first + 1);
        let least = points().map(|(_, y)| y).fold(f64::INFINITY, f64::min);
        let greatest = points().map(|(_, y)| y).fold(0.0, f64::max);
        if greatest <= 0.0 {
            return Self { first, last, low: 0, high: 1 };
        }
        let low = power(least.log10().floor());
        Self { first, last, low, high: power(greatest.log10().ceil()).max(low + 1) }
    }

    fn x(&self, x: u32) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * f64::from(x - self.first) / f64::from(self.last - self.first)
    }

    fn y(&self, y: f64) -> f64 {
        let share = (y.log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share
    }
}

/// Returns a power of ten within the range of doubles.
#[expect(clippy::cast_possible_truncation, reason = "the logarithms of doubles are below 400")]
fn power(log: f64) -> i32 {
    log as i32
}

impl Line {
    fn positive(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.points.iter().copied().filter(|(_, y)| *y > 0.0 && y.is_finite())
    }
}

fn axes(svg: &mut String, scale: &Scale) {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let (middle_x, middle_y) = (f64::midpoint(LEFT, right), f64::midpoint(TOP, bottom));
    let below = HEIGHT - 14.0;
    _ = write!(svg, r#"<text x="{middle_x}" y="26" text-anchor="middle" font-size="16">{TITLE}</text>"#);
    _ = write!(svg, r#"<text x="{middle_x}" y="{below}" text-anchor="middle">{BELOW}</text>"#);
    _ = write!(
        svg,
        r#"<text transform="translate(18 {middle_y}) rotate(-90)" text-anchor="middle">{BESIDE}</text>"#
    );
    for power in scale.low..=scale.high {
        let y = scale.y(10_f64.powi(power));
        _ = write!(
            svg,
            r##"<path d="M{LEFT} {y:.1}H{right}" stroke="#ddd"/><text x="{}" y="{:.1}" text-anchor="end">{}</text>"##,
            LEFT - 8.0,
            y + 4.5,
            with_prefix(power)
        );
    }
    // At most 24 steps fit on the axis.
    let step = (scale.last - scale.first).div_ceil(24).max(1);
    for n in (scale.first..=scale.last).step_by(step as usize) {
        let x = scale.x(n);
        _ = write!(
            svg,
            r##"<path d="M{x:.1} {bottom}v5" stroke="#888"/><text x="{x:.1}" y="{}" text-anchor="middle">{n}</text>"##,
            bottom + 20.0
        );
    }
    _ = write!(svg, r##"<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="#888"/>"##);
}

fn draw(svg: &mut String, line: &Line, colour: &str, scale: &Scale) {
    let points: Vec<String> =
        line.positive().map(|(x, y)| format!("{:.1},{:.1}", scale.x(x), scale.y(y))).collect();
    _ = write!(
        svg,
        r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"/>"#,
        points.join(" ")
    );
    for point in &points {
        let (x, y) = point.split_once(',').unwrap_or_default();
        _ = write!(svg, r#"<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>"#);
    }
}

/// Draws the names with their colours, right of the plot.
fn legend(svg: &mut String, lines: &[Line]) {
    let x = WIDTH - RIGHT + 18.0;
    for (i, line) in lines.iter().enumerate() {
        let (y, colour) = (TOP + 14.0 + 22.0 * i as f64, COLOURS[i % COLOURS.len()]);
        let (middle, behind, foot) = (x + 11.0, x + 30.0, y + 4.5);
        _ = write!(svg, r#"<path d="M{x} {y}h22" stroke="{colour}" stroke-width="2"/>"#);
        _ = write!(svg, r#"<circle cx="{middle}" cy="{y}" r="3" fill="{colour}"/>"#);
        _ = write!(svg, r#"<text x="{behind}" y="{foot}">{}</text>"#, escaped(&line.name));
    }
}

/// Formats a power of ten of seconds with its SI prefix: 100 ns, 1 µs, 10 s.
fn with_prefix(power: i32) -> String {
    const PREFIXES: [&str; 7] = ["n", "µ", "m", "", "k", "M", "G"];
    let prefix = usize::try_from(power.div_euclid(3) + 3).ok().and_then(|i| PREFIXES.get(i));
    match prefix {
        Some(prefix) => format!("{} {prefix}s", 10_f64.powi(power.rem_euclid(3))),
        None => format!("1e{power} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_has_the_units_of_everyday() {
        for (power, expected) in [
            (-10, "1e-10 s"),
            (-9, "1 ns"),
            (-4, "100 µs"),
            (-3, "1 ms"),
            (0, "1 s"),
            (1, "10 s"),
            (5, "100 ks"),
        ] {
            assert_eq!(with_prefix(power), expected);
        }
    }

    #[test]
    fn values_of_every_size_lie_on_the_picture() {
        let line = |points| [Line { name: "a<b".to_owned(), points }];
        for points in [
            vec![],
            vec![(3, 0.0)],
            vec![(0, 1.0)],
            vec![(1, 1e-300), (2, 1e300)],
            vec![(8, 0.02), (9, 0.3), (10, f64::NAN)],
        ] {
            let svg = log_plot(&line(points));
            assert!(svg.contains("a&lt;b") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            for circle in svg.split("<circle cx=\"").skip(1) {
                let (x, rest) = circle.split_once("\" cy=\"").expect("a circle has a centre");
                let y = rest.split_once('"').expect("quoted").0;
                let [x, y] = [x, y].map(|text| text.parse::<f64>().expect("a number"));
                assert!((LEFT..=WIDTH).contains(&x) && (TOP..=HEIGHT - BOTTOM).contains(&y), "{x} {y}");
            }
        }
    }
}
