//! Options of `queens-worker` for people who lend their machines.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Zoned};
use queens_platform::{POWER_SUPPLIES, is_on_battery, user_idle_time};
use queens_worker::pause_monitor::Sensors;
use queens_worker::pause_policy::{PausePolicy, Sensed};
use queens_worker::schedule::Schedule;

/// When the worker counts, for people who lend their machines.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "When to count")]
pub(crate) struct MannersArgs {
    /// Count only in these hours, in local time, such as 'Mon-Fri 19:00-07:00, Sat-Sun'. Hours over midnight belong to
    /// the day on which they begin [default: always]
    #[arg(long, env = "QUEENS_SCHEDULE", value_name = "HOURS")]
    pub(crate) schedule: Option<Schedule>,

    /// Whether to count while the machine runs on battery
    #[arg(long, env = "QUEENS_ON_BATTERY", value_name = "ACTION", default_value = "count")]
    pub(crate) on_battery: OnBattery,

    /// Count only after nobody has used keyboard or mouse for this long, such as 5m. On Linux, the X server or
    /// systemd-logind tells it [default: always]
    #[arg(long, env = "QUEENS_WHEN_IDLE", value_name = "TIME", value_parser = time)]
    pub(crate) when_idle: Option<Duration>,

    /// Give way to all other programs: the lowest priority, on Linux also the policy SCHED_IDLE
    #[arg(long)]
    pub(crate) nice: bool,

    /// End, successfully, after this time without anything to count, connected or not, such as 10m. Pauses do not count
    /// [default: never]
    #[arg(long, env = "QUEENS_IDLE_TIMEOUT", value_name = "TIME", value_parser = time)]
    pub(crate) idle_timeout: Option<Duration>,
}

impl MannersArgs {
    /// Checks that this system can tell what the options depend on.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if self.schedule.is_some() {
            TimeZone::try_system().context(
                "the local time zone, which --schedule needs, is not known: set TZ, such as TZ=Europe/Berlin or \
                 TZ=CET-1CEST,M3.5.0,M10.5.0/3",
            )?;
        }
        if self.when_idle.is_some() {
            user_idle_time().context(
                "whether somebody uses this machine, which --when-idle needs, is not known: use --schedule instead",
            )?;
        }
        Ok(())
    }

    /// Chooses what suits somebody else's machine: the lowest priority, and pauses on battery.
    pub(crate) fn of_a_guest(&mut self) {
        (self.nice, self.on_battery) = (true, OnBattery::Pause);
    }

    /// Returns when the worker may count.
    pub(crate) fn policy(&self) -> PausePolicy {
        PausePolicy {
            schedule: self.schedule.clone(),
            pauses_on_battery: self.on_battery == OnBattery::Pause,
            when_idle: self.when_idle,
        }
    }

    /// Returns the sources of what the policy depends on.
    pub(crate) fn sensors(&self) -> Sensors {
        let (asks_battery, asks_idle) = (self.on_battery == OnBattery::Pause, self.when_idle.is_some());
        Arc::new(move || Sensed {
            now: Zoned::now(),
            is_on_battery: asks_battery && is_on_battery(Path::new(POWER_SUPPLIES)),
            // Without an answer, somebody may use it.
            idle_for: if asks_idle { user_idle_time().unwrap_or_default() } else { Duration::ZERO },
        })
    }
}

/// What to do while the machine runs on battery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnBattery {
    /// Count
    Count,
    /// Give all leases back, and wait for mains power
    Pause,
}

/// Parses a time of a second or more.
fn time(text: &str) -> Result<Duration, String> {
    let time = text.parse::<SignedDuration>().ok().and_then(|time| Duration::try_from(time).ok());
    let time = time.filter(|time| *time >= Duration::from_secs(1));
    time.ok_or_else(|| "expected a time of a second or more, such as 90s, 10m or 1h30m".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, seconds) in [("90s", 90), ("10m", 600), ("1h30m", 5400), ("1s", 1)] {
            assert_eq!(time(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "10", "0s", "500ms", "-10m", "9999999999999999h", "ten minutes", "\u{1b}[31m"] {
            time(text).expect_err(text);
        }
    }
}
