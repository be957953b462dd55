//! A curve: what was measured over time, in a limited number of points.

/// The maximum number of points in a curve of a job or of the fleet.
pub const MOST_POINTS: usize = 512;

/// The shortest measured time for a meaningful mean.
const SHORTEST_MS: u64 = 500;

/// The first time, in milliseconds since 1970, and the first length of a step that no curve has: sums of them do not
/// overflow.
const END_MS: u64 = 1 << 53;
const END_SECONDS: u64 = 1 << 32;

/// The size of a stored point: three numbers of 64 bits and one of 32.
const POINT_BYTES: usize = 28;

/// The progress in one step, as far as it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The time of the last measurement, in milliseconds since 1970.
    pub at_ms: u64,
    /// The measured time, in milliseconds.
    pub measured_ms: u64,
    /// The work that was recorded in that time.
    pub work: u64,
    /// The recorded share of the job's work at the end, in billionths.
    pub billionths: u32,
}

/// Points in steps of equal length, the oldest first. Steps without a measurement have no point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve {
    /// The length of a step in seconds.
    pub step_seconds: u64,
    /// The points, ascending in time.
    pub points: Vec<Point>,
}

impl Default for Curve {
    fn default() -> Self {
        Self::new(1)
    }
}

impl Curve {
    /// Returns an empty curve that begins with steps of this length.
    #[must_use]
    pub const fn new(step_seconds: u64) -> Self {
        Self { step_seconds, points: Vec::new() }
    }

    /// Adds a measurement. If there are more than `most` points then, the step is doubled, and points of the same step
    /// become one. O(points).
    pub fn add(&mut self, point: Point, most: usize) {
        // The clock was set back.
        while self.points.last().is_some_and(|last| last.at_ms > point.at_ms) {
            self.points.pop();
        }
        self.points.push(point);
        self.merge();
        while self.points.len() > most.max(1) {
            self.step_seconds *= 2;
            self.merge();
        }
    }

    fn merge(&mut self) {
        let step_ms = self.step_seconds * 1000;
        self.points.dedup_by(|point, before| {
            let is_same = point.at_ms / step_ms == before.at_ms / step_ms;
            if is_same {
                before.at_ms = point.at_ms;
                before.measured_ms = before.measured_ms.saturating_add(point.measured_ms);
                before.work = before.work.saturating_add(point.work);
                before.billionths = point.billionths;
            }
            is_same
        });
    }

    /// Returns the points as they are stored.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.points.len() * POINT_BYTES);
        for Point { at_ms, measured_ms, work, billionths } in &self.points {
            for number in [at_ms, measured_ms, work] {
                bytes.extend(number.to_le_bytes());
            }
            bytes.extend(billionths.to_le_bytes());
        }
        bytes
    }

    /// Returns the curve with these stored points, unless they are none that [`add`](Self::add) makes.
    pub(crate) fn parse(step_seconds: u64, bytes: &[u8]) -> Option<Self> {
        let (chunks, rest) = bytes.as_chunks::<POINT_BYTES>();
        let points: Vec<Point> = chunks.iter().map(parse_point).collect::<Option<_>>()?;
        let is_valid = (1..END_SECONDS).contains(&step_seconds)
            && points.last().is_some_and(|last| last.at_ms < END_MS)
            && rest.is_empty()
            && (1..=MOST_POINTS).contains(&points.len())
            && points.is_sorted_by_key(|point| point.at_ms);
        is_valid.then_some(Self { step_seconds, points })
    }
}

fn parse_point(bytes: &[u8; POINT_BYTES]) -> Option<Point> {
    let (numbers, billionths) = bytes.split_last_chunk::<4>()?;
    let [at_ms, measured_ms, work] = numbers.as_chunks::<8>().0 else { return None };
    Some(Point {
        at_ms: u64::from_le_bytes(*at_ms),
        measured_ms: u64::from_le_bytes(*measured_ms),
        work: u64::from_le_bytes(*work),
        billionths: u32::from_le_bytes(*billionths),
    })
}

impl Point {
    /// Returns the start of the measurement, in milliseconds since 1970.
    #[must_use]
    pub const fn begins_ms(&self) -> u64 {
        self.at_ms.saturating_sub(self.measured_ms)
    }
}

/// Returns the work per second of these points together; `None` if too little time was measured.
pub fn mean<'a>(points: impl IntoIterator<Item = &'a Point>) -> Option<f64> {
    let (mut work, mut measured_ms) = (0.0, 0_u64);
    for point in points {
        work += point.work as f64;
        measured_ms = measured_ms.saturating_add(point.measured_ms);
    }
    (measured_ms >= SHORTEST_MS).then(|| work * 1000.0 / measured_ms as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at_ms: u64, work: u64) -> Point {
        Point { at_ms, measured_ms: 1000, work, billionths: u32::try_from(at_ms / 1000).expect("small") }
    }

    #[test]
    fn a_full_curve_is_thinned_by_halves_and_loses_no_work() {
        let mut curve = Curve::default();
        for second in 1..=100_000 {
            curve.add(point(second * 1000, second), MOST_POINTS);
            let n_points = curve.points.len();
            assert!(n_points <= MOST_POINTS && (second < 512 || n_points >= MOST_POINTS / 2), "{n_points}");
        }
        assert_eq!(curve.step_seconds, 256);
        assert_eq!(curve.points.iter().map(|point| point.work).sum::<u64>(), 100_000 * 100_001 / 2);
        assert_eq!(curve.points.iter().map(|point| point.measured_ms).sum::<u64>(), 100_000_000);
        assert_eq!(
            curve.points.last(),
            Some(&Point { measured_ms: 161_000, work: 16_087_120, ..point(100_000_000, 0) })
        );
        assert_eq!(Curve::parse(256, &curve.bytes()), Some(curve));
    }

    #[test]
    fn times_without_a_measurement_have_no_points() {
        let mut curve = Curve::default();
        for second in (1..=300).chain(1_000_001..=1_000_300) {
            curve.add(point(second * 1000, 1), MOST_POINTS);
        }
        assert_eq!((curve.step_seconds, curve.points.len()), (2, 302));
        let gap = curve.points.windows(2).find(|pair| pair[1].begins_ms() > pair[0].at_ms + 2000);
        assert_eq!(gap.map(|pair| (pair[0].at_ms, pair[1].at_ms)), Some((300_000, 1_000_001_000)));
        // The clock is set back: nothing stays in the future.
        curve.add(point(200_500, 7), MOST_POINTS);
        assert_eq!(curve.points.last().map(|last| (last.at_ms, last.work)), Some((200_500, 7)));
    }

    #[test]
    fn bytes_that_are_no_curve_are_refused() {
        let two = Curve { step_seconds: 1, points: vec![point(1000, 1), point(2000, 2)] };
        let bytes = two.bytes();
        assert!(Curve::parse(1, &bytes).is_some());
        let wrong_order = [&bytes[POINT_BYTES..], &bytes[..POINT_BYTES]].concat();
        let late = [&bytes[..], &[0xff; POINT_BYTES]].concat();
        let too_many = bytes.repeat(MOST_POINTS);
        for (step, wrong) in [
            (0, &bytes[..]),
            (1 << 32, &bytes),
            (1, &bytes[1..]),
            (1, &[]),
            (1, &wrong_order),
            (1, &late),
            (1, &too_many),
        ] {
            assert_eq!(Curve::parse(step, wrong), None);
        }
    }
}
