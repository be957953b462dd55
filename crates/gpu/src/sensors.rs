//! What the drivers of cards measure: temperature, power and clock. Only NVIDIA's tells, by its management library.

use std::sync::OnceLock;

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use queens_model::CardSensors;

use crate::card_id::CardId;
use crate::cuda;

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
    /// Asks the driver for its measurements. Takes some milliseconds, and some tenths of a second the first time.
    #[must_use]
    pub fn sensors(self) -> CardSensors {
        let Self::Cuda(number) = self else { return CardSensors::default() };
        let card = || library()?.device_by_uuid(cuda::uuid(number)?).ok();
        let Some(card) = card() else { return CardSensors::default() };
        let watts = card.power_usage().ok().map(|milliwatts| milliwatts.saturating_add(500) / 1000);
        CardSensors::new(
            card.temperature(TemperatureSensor::Gpu).ok(),
            watts,
            card.clock_info(Clock::SM).ok(),
        )
    }
}
