//! Animated pictures of the backtracking search, as SVG.

use std::fmt::Write;

use super::backtracking::{Backtracking, Step};
use super::given::Given;
use super::picture::{ATTACKED, GHOST, Look, SAFE, Scale, Theme, empty_board, is_dark, open, squares};
use super::queen::Queen;

/// The most pictures of a search: all of n = 8, or half an hour at the usual pace.
pub const MOST_FRAMES: usize = 20_000;

/// One picture of the search: the changes on the board since the previous one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Squares, each at most once, and their new looks. The first picture is the empty board and changes nothing.
    pub changes: Vec<(Queen, Look)>,
    /// Whether the board shows a solution, which stays longer.
    pub solved: bool,
}

/// Iterates over pictures of the search on boards of size `n`, to the first solution or through `all`.
///
/// A tried queen stands on a green square if she is safe there, on a red one if not. The next picture removes the mark.
/// A solution has all its squares green.
#[derive(Clone, Debug)]
pub struct Frames {
    search: Backtracking,
    all: bool,
    /// The queens on the board.
    queens: Vec<Queen>,
    /// The marked squares, and their looks without the mark.
    marked: Vec<(Queen, Look)>,
    begun: bool,
    over: bool,
}

impl Frames {
    /// Starts before the first picture, the empty board.
    #[must_use]
    pub fn new(n: u32, all: bool) -> Self {
        let search =
            Backtracking::new(n, &Given::default()).unwrap_or_else(|_| unreachable!("no queen is given"));
        Self { search, all, queens: Vec::new(), marked: Vec::new(), begun: false, over: false }
    }

    fn frame(&mut self, step: Step) -> Frame {
        let mut changes = std::mem::take(&mut self.marked);
        match step {
            Step::Try { queen, safe: true } => {
                self.queens.push(queen);
                self.marked.push((queen, Look::Queen));
                changes.push((queen, Look::Safe));
            }
            Step::Try { queen, safe: false } => {
                self.marked.push((queen, Look::Empty));
                changes.push((queen, Look::Attacked));
            }
            Step::TakeBack(queen) => {
                self.queens.pop();
                changes.retain(|&(marked, _)| marked != queen);
                changes.push((queen, Look::Empty));
            }
            Step::Solved => {
                changes.clear();
                changes.extend(self.queens.iter().map(|&queen| (queen, Look::Safe)));
                self.marked.extend(self.queens.iter().map(|&queen| (queen, Look::Queen)));
                self.over = !self.all;
            }
        }
        Frame { changes, solved: step == Step::Solved }
    }
}

impl Iterator for Frames {
    type Item = Frame;

    fn next(&mut self) -> Option<Frame> {
        if !self.begun {
            self.begun = true;
            return Some(Frame { changes: Vec::new(), solved: false });
        }
        if self.over {
            return None;
        }
        let step = self.search.next();
        if let Some(step) = step {
            return Some(self.frame(step));
        }
        // The mark of the last square still needs removing.
        self.over = true;
        let changes = std::mem::take(&mut self.marked);
        (!changes.is_empty()).then_some(Frame { changes, solved: false })
    }
}

/// The durations of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Milliseconds of a usual picture.
    pub delay_ms: u32,
    /// Milliseconds of a solution and of the last picture.
    pub rest_ms: u32,
}

impl Timing {
    /// Returns the milliseconds of a picture.
    #[must_use]
    pub const fn of(self, frame: &Frame, is_last: bool) -> u32 {
        if frame.solved || is_last { self.rest_ms } else { self.delay_ms }
    }
}

/// Draws the pictures as one animated SVG that repeats. Without animation, as in print, it shows the last solution, or
/// the last picture if there is no solution.
#[must_use]
pub fn svg(n: u32, frames: &[Frame], scale: Scale, timing: Timing) -> String {
    if frames.is_empty() {
        return empty_board(n, scale);
    }
    let mut timelines = vec![Vec::new(); (n * n) as usize];
    let (mut now_ms, mut still_ms) = (0_u64, None);
    for (i, frame) in frames.iter().enumerate() {
        for &(queen, look) in &frame.changes {
            timelines[(queen.row * n + queen.column) as usize].push((now_ms, look));
        }
        if frame.solved {
            still_ms = Some(now_ms);
        }
        now_ms += u64::from(timing.of(frame, i + 1 == frames.len()));
    }
    let mut svg = open((scale.board(n), scale.board(n)), Some(scale), &Theme::WOOD);
    svg.push_str(&squares(n, scale, &Theme::WOOD));
    let times = Times { still_ms: still_ms.unwrap_or(now_ms), end_ms: now_ms };
    for (i, timeline) in (0..).zip(&timelines) {
        if !timeline.is_empty() {
            square(&mut svg, Queen { row: i / n, column: i % n }, timeline, times, scale);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Milliseconds from the beginning.
#[derive(Clone, Copy)]
struct Times {
    /// The time of the picture to show without animation.
    still_ms: u64,
    end_ms: u64,
}

/// Draws one square: its mark changes colour and its queen becomes visible, at the times of its timeline.
fn square(svg: &mut String, queen: Queen, timeline: &[(u64, Look)], times: Times, scale: Scale) {
    let ((x, y), tile) = (scale.corner(queen), scale.tile);
    let dark = usize::from(is_dark(queen));
    let colour = |look| match look {
        Look::Empty | Look::Queen => "none",
        Look::Safe => SAFE[dark],
        Look::Attacked => ATTACKED[dark],
    };
    let opacity = |look| match look {
        Look::Empty => "0",
        Look::Queen | Look::Safe => "1",
        Look::Attacked => GHOST,
    };
    let shown = timeline.iter().rev().find(|(at_ms, _)| *at_ms <= times.still_ms);
    let still = shown.map_or(Look::Empty, |&(_, look)| look);
    let fill = colour(still);
    _ = write!(svg, r#"<rect x="{x}" y="{y}" width="{tile}" height="{tile}" fill="{fill}">"#);
    animate(svg, "fill", timeline, times.end_ms, colour);
    _ = write!(svg, r##"</rect><use href="#queen" x="{x}" y="{y}" opacity="{}">"##, opacity(still));
    animate(svg, "opacity", timeline, times.end_ms, opacity);
    svg.push_str("</use>");
}

/// Writes one attribute over time, with an entry only where it changes.
fn animate<'a>(
    svg: &mut String,
    attribute: &str,
    timeline: &[(u64, Look)],
    end_ms: u64,
    value: impl Fn(Look) -> &'a str,
) {
    let (mut values, mut times) = (value(Look::Empty).to_owned(), "0".to_owned());
    let mut before = value(Look::Empty);
    for &(at, look) in timeline {
        let now = value(look);
        if now != before {
            _ = write!(values, ";{now}");
            _ = write!(times, ";{}", (at as f64 / end_ms as f64 * 1e8).round() / 1e8);
            before = now;
        }
    }
    let seconds = end_ms as f64 / 1000.0;
    _ = write!(
        svg,
        r#"<animate attributeName="{attribute}" calcMode="discrete" dur="{seconds}s" repeatCount="indefinite" "#
    );
    _ = write!(svg, r#"values="{values}" keyTimes="{times}"/>"#);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::BoardSize;
    use crate::boards::solutions::Solutions;

    /// The boards shown as solved are the solutions. Only they have marks on more than one square.
    #[test]
    fn the_pictures_tell_the_search() {
        for n in 0..=7_u32 {
            for all in [false, true] {
                let mut board = vec![Look::Empty; (n * n) as usize];
                let mut solved = Vec::new();
                for frame in Frames::new(n, all) {
                    for &(queen, look) in &frame.changes {
                        board[(queen.row * n + queen.column) as usize] = look;
                    }
                    let marked: Vec<&Look> =
                        board.iter().filter(|look| matches!(look, Look::Safe | Look::Attacked)).collect();
                    if frame.solved {
                        assert_eq!(marked, vec![&Look::Safe; n as usize]);
                        let queens = (0..n * n).filter(|&i| board[i as usize] == Look::Safe);
                        solved.push(queens.map(|i| i % n).collect::<Vec<_>>());
                    } else {
                        assert!(marked.len() <= 1, "{frame:?}");
                    }
                }
                let size = BoardSize::new(u8::try_from(n).expect("small")).expect("a board size");
                let limit = if all { usize::MAX } else { 1 };
                let expected: Vec<_> =
                    Solutions::new(size).take(limit).map(|solution| solution.columns().to_vec()).collect();
                assert_eq!(solved, expected, "n = {n}");
                let all_taken_back = board.iter().all(|look| *look == Look::Empty);
                assert_eq!(all_taken_back, all || expected.is_empty() || n == 0, "n = {n}");
            }
        }
    }
}
