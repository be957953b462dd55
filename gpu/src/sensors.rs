//! What the drivers of cards measure: temperature, power and clock. Only NVIDIA's tells, by its management library.

use std::sync::OnceLock;

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};

use crate::card_id::CardId;
use crate::cuda;

/// What a card's driver measures at this moment. What it does not tell is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sensors {
    /// The temperature in degrees Celsius.
    pub celsius: Option<u32>,
    /// The power in watts.
    pub watts: Option<f64>,
    /// The clock of the multiprocessors in megahertz.
    pub megahertz: Option<u32>,
}

/// Returns the library, loaded once; `None` if it is not here.
fn library() -> Option<&'static Nvml> {
    static LIBRARY: OnceLock<Option<Nvml>> = OnceLock::new();
    LIBRARY.get_or_init(|| Nvml::init().ok()).as_ref()
}

/// Returns the version of NVIDIA's driver, if it is here.
pub(crate) fn driver_version() -> Option<String> {
    library()?.sys_driver_version().ok()
}

impl CardId {
    /// Asks the driver for what it measures. Takes some milliseconds, and some tenths of a second the first time.
    #[must_use]
    pub fn sensors(self) -> Sensors {
        let Self::Cuda(number) = self else { return Sensors::default() };
        let card = || library()?.device_by_uuid(cuda::uuid(number)?).ok();
        let Some(card) = card() else { return Sensors::default() };
        Sensors {
            celsius: card.temperature(TemperatureSensor::Gpu).ok(),
            watts: card.power_usage().ok().map(|milliwatts| f64::from(milliwatts) / 1e3),
            megahertz: card.clock_info(Clock::SM).ok(),
        }
    }
}
