//! Selects the finest resolution that covers all that is known of a curve.

use queens_store::history::{LEVELS, Level, N_LEVELS, Point};

/// Returns the finest level that goes as far back as the longest, and its points; `None` if nothing is known. Up to
/// two steps, or a fiftieth of the time, may be missing: another step may measure the start of one. O(levels).
pub fn whole(levels: &[Vec<Point>; N_LEVELS]) -> Option<(&'static Level, &[Point])> {
    let ends = levels.iter().filter_map(|points| Some((begins(points.first()?), points.last()?.at_ms())));
    let (first, last) = ends.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))?;
    let is_whole = |(level, points): &(&Level, &Vec<Point>)| {
        let late = points.first().map(|point| begins(point) - first);
        late.is_some_and(|late| late <= (2000 * level.step_seconds).max((last - first) / 50))
    };
    LEVELS.iter().zip(levels).find(is_whole).map(|(level, points)| (level, &points[..]))
}

/// Returns the start of a point's measurement, in milliseconds since 1970.
pub fn begins(point: &Point) -> u64 {
    point.at_ms().saturating_sub(point.measured_ms)
}
