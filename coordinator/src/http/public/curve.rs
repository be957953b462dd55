//! The curve of a person's core-hours, as inline SVG.

use std::fmt::Write;
use std::time::Duration;

use super::super::html::{core_hours, day, hours};

const DAY_MS: u64 = 86_400_000;

/// The drawn area; the page stretches it.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 300.0;

/// The thread time of a person at the ends of days.
#[derive(Debug)]
pub(super) struct Curve {
    /// By day since 1970, ascending, from before the first count on.
    points: Vec<(u32, Duration)>,
}

impl Curve {
    /// Completes the days on which something changed. `since_ms` is when the person joined, `now` is today's time.
    pub(super) fn new(days: &[(u32, Duration)], since_ms: u64, now: (u64, Duration)) -> Self {
        let number = |at_ms: u64| u32::try_from(at_ms / DAY_MS).unwrap_or(u32::MAX);
        let (today, time) = (number(now.0), now.1);
        let first = days.first().map_or(today, |(day, _)| *day);
        // The day before the first has nothing, unless earlier days were dropped.
        let mut points = vec![(number(since_ms).min(first).saturating_sub(1), Duration::ZERO)];
        for &(day, time) in days.iter().chain([&(today, time)]) {
            let Some(&(last, before)) = points.last() else { continue };
            if day == last {
                points.pop();
            } else if day > last + 1 {
                points.push((day - 1, before));
            }
            points.push((day, time));
        }
        Self { points }
    }

    /// Returns the days with the time at the end of each. Between them it changes evenly.
    pub(super) fn points(&self) -> impl Iterator<Item = (String, f64)> {
        self.points.iter().map(|(number, time)| (date_of(*number), hours(*time)))
    }

    /// Draws it. The texts stand beside the drawing, so that the page may stretch it.
    pub(super) fn html(&self) -> String {
        let ((first, _), (last, total)) = match (self.points.first(), self.points.last()) {
            (Some(first), Some(last)) => (*first, *last),
            _ => return String::new(),
        };
        let most = self.points.iter().map(|(_, time)| *time).max().unwrap_or_default();
        let (n_days, scale) = (f64::from((last - first).max(1)), hours(most).max(f64::MIN_POSITIVE));
        let mut line = String::new();
        for (day, time) in &self.points {
            let x = WIDTH * f64::from(day - first) / n_days;
            let y = HEIGHT * (1.0 - hours(*time) / scale);
            _ = write!(line, "{}{x:.1} {y:.1}", if line.is_empty() { "M" } else { " L" });
        }
        let (first, last, most) = (date_of(first), date_of(last), core_hours(most));
        format!(
            "<figure class=\"curve-figure chart\">\n<figcaption>{most} core-hours</figcaption>\n\
             <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
             aria-label=\"Core-hours by day: 0 on {first}, {} on {last}\">\
             <path class=\"area\" d=\"{line} L{WIDTH} {HEIGHT} L0 {HEIGHT} Z\"/>\
             <path class=\"curve\" d=\"{line}\" vector-effect=\"non-scaling-stroke\"/></svg>\n\
             <p class=\"ends\"><span>{first}</span><span>{last}</span></p>\n</figure>",
            core_hours(total)
        )
    }
}

fn date_of(number: u32) -> String {
    day(u64::from(number) * DAY_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_without_change_are_level_and_today_is_the_last() {
        let hours = |hours: u64| Duration::from_secs(3600 * hours);
        let ms = |day: u64| day * DAY_MS + 1000;
        let check = |days: &[(u32, Duration)], expected: &[(u32, Duration)]| {
            let curve = Curve::new(days, ms(10), (ms(20), hours(9)));
            assert_eq!(curve.points, expected);
            let html = curve.html();
            assert!(
                html.contains("9.00 core-hours") && !html.contains("NaN") && !html.contains("inf"),
                "{html}"
            );
        };
        check(&[], &[(9, hours(0)), (19, hours(0)), (20, hours(9))]);
        let days = [(12, hours(1)), (13, hours(3)), (16, hours(4))];
        check(
            &days,
            &[
                (9, hours(0)),
                (11, hours(0)),
                (12, hours(1)),
                (13, hours(3)),
                (15, hours(3)),
                (16, hours(4)),
                (19, hours(4)),
                (20, hours(9)),
            ],
        );
        check(
            &[(10, hours(1)), (20, hours(2))],
            &[(9, hours(0)), (10, hours(1)), (19, hours(1)), (20, hours(9))],
        );
        let nothing = Curve::new(&[], ms(20), (ms(20), hours(0))).html();
        assert!(!nothing.contains("NaN") && !nothing.contains("inf"), "{nothing}");
    }
}
