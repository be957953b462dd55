//! The temperature, power and clock of a graphics card.

use std::fmt;

use serde::Serialize;

/// The measurements of a graphics card. A value that its driver does not tell is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CardSensors {
    /// The temperature in degrees Celsius.
    celsius: Option<u32>,
    /// The power in watts.
    watts: Option<u32>,
    /// The clock of the multiprocessors in megahertz.
    megahertz: Option<u32>,
}

impl CardSensors {
    /// The highest values that any card may have: 1000 °C, 100 kW and 100 GHz.
    const MOST: [u32; 3] = [1000, 100_000, 100_000];

    /// Returns these measurements, without those that no card can have. A driver that errs, or a worker that lies, does
    /// not end a session.
    #[must_use]
    pub fn new(celsius: Option<u32>, watts: Option<u32>, megahertz: Option<u32>) -> Self {
        let [of_celsius, of_watts, of_megahertz] = Self::MOST;
        Self {
            celsius: celsius.filter(|value| *value <= of_celsius),
            watts: watts.filter(|value| *value <= of_watts),
            megahertz: megahertz.filter(|value| *value <= of_megahertz),
        }
    }

    /// Returns the temperature in degrees Celsius.
    #[must_use]
    pub const fn celsius(self) -> Option<u32> {
        self.celsius
    }

    /// Returns the power in watts.
    #[must_use]
    pub const fn watts(self) -> Option<u32> {
        self.watts
    }

    /// Returns the clock of the multiprocessors in megahertz.
    #[must_use]
    pub const fn megahertz(self) -> Option<u32> {
        self.megahertz
    }

    /// Returns whether no value is known.
    #[must_use]
    pub fn is_unknown(self) -> bool {
        self == Self::default()
    }
}

/// Lists the known values, such as "46 °C, 72 W, 1980 MHz". Empty if no value is known.
impl fmt::Display for CardSensors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = [(self.celsius, "°C"), (self.watts, "W"), (self.megahertz, "MHz")];
        let known = values.iter().filter_map(|(value, unit)| Some((value.as_ref()?, unit)));
        for (i, (value, unit)) in known.enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            write!(f, "{separator}{value} {unit}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_values_are_left_out() {
        let text = |celsius, watts, megahertz| CardSensors::new(celsius, watts, megahertz).to_string();
        assert_eq!(text(Some(46), Some(72), Some(345)), "46 °C, 72 W, 345 MHz");
        assert_eq!(text(Some(46), None, Some(345)), "46 °C, 345 MHz");
        assert_eq!(text(None, Some(0), None), "0 W");
        assert_eq!(text(None, None, None), "");
    }

    #[test]
    fn values_that_no_card_can_have_are_unknown() {
        let all = |most: [u32; 3]| CardSensors::new(Some(most[0]), Some(most[1]), Some(most[2]));
        assert_eq!(all(CardSensors::MOST).to_string(), "1000 °C, 100000 W, 100000 MHz");
        assert!(all(CardSensors::MOST.map(|most| most + 1)).is_unknown());
        assert!(all([u32::MAX; 3]).is_unknown());
    }
}
