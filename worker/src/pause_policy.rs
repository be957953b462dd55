//! Decides whether a worker may count now, and why not.

use std::fmt;
use std::time::Duration;

use jiff::Zoned;

use crate::schedule::Schedule;

/// The rules of the person who lends a machine.
#[derive(Clone, Debug, Default)]
pub struct PausePolicy {
    /// The hours in which the worker counts; all if there is none.
    pub schedule: Option<Schedule>,
    /// Whether it pauses while the machine runs on battery.
    pub pauses_on_battery: bool,
    /// How long nobody must have used the machine.
    pub when_idle: Option<Duration>,
}

/// What sensors know at one moment.
#[derive(Clone, Debug)]
pub struct Sensed {
    /// The local time.
    pub now: Zoned,
    /// Whether the machine runs on battery.
    pub is_on_battery: bool,
    /// For how long nobody has used the machine.
    pub idle_for: Duration,
}

/// Why a worker does not count. Several reasons may hold at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseReason {
    /// The user has paused it.
    ByUser,
    /// The schedule does not contain this time.
    OutsideSchedule {
        /// When it does next.
        next: Option<Zoned>,
    },
    /// The machine runs on battery.
    OnBattery,
    /// Somebody uses the machine, or did so a short time ago.
    InUse,
}

/// The interval between looks at battery and user.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// The longest wait for the schedule: clocks are set, and machines sleep.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

impl PausePolicy {
    /// Returns all reasons not to count; none if the worker may count.
    #[must_use]
    pub fn reasons(&self, sensed: &Sensed, is_paused_by_user: bool) -> Vec<PauseReason> {
        let outside = self.schedule.as_ref().filter(|schedule| !schedule.contains(sensed.now.datetime()));
        let outside =
            outside.map(|schedule| PauseReason::OutsideSchedule { next: schedule.next_change(&sensed.now) });
        let is_used = self.when_idle.is_some_and(|least| sensed.idle_for < least);
        let on_battery = self.pauses_on_battery && sensed.is_on_battery;
        [
            is_paused_by_user.then_some(PauseReason::ByUser),
            outside,
            on_battery.then_some(PauseReason::OnBattery),
            is_used.then_some(PauseReason::InUse),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns after which time the reasons may be others; `None` if only the user changes them.
    #[must_use]
    pub fn look_again_after(&self, now: &Zoned) -> Option<Duration> {
        if self.pauses_on_battery || self.when_idle.is_some() {
            return Some(LOOK_AGAIN);
        }
        let next = self.schedule.as_ref()?.next_change(now);
        let until = next.map_or(LONGEST_WAIT, |next| now.duration_until(&next).unsigned_abs());
        Some(until.clamp(Duration::from_millis(1), LONGEST_WAIT))
    }
}

impl fmt::Display for PauseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByUser => f.write_str("paused by you"),
            Self::OutsideSchedule { next: None } => f.write_str("outside of its schedule"),
            Self::OutsideSchedule { next: Some(next) } => {
                write!(f, "outside of its schedule, next at {}", next.strftime("%a %Y-%m-%d %H:%M"))
            }
            Self::OnBattery => f.write_str("on battery"),
            Self::InUse => f.write_str("somebody uses this machine"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> Sensed {
        Sensed {
            now: format!("{time}+01:00[+01:00]").parse().expect("a time"),
            is_on_battery: false,
            idle_for: Duration::ZERO,
        }
    }

    #[track_caller]
    fn check(policy: &PausePolicy, sensed: &Sensed, by_user: bool, expected: &[&str]) {
        let reasons: Vec<String> = policy.reasons(sensed, by_user).iter().map(ToString::to_string).collect();
        assert_eq!(reasons, expected, "{sensed:?}");
    }

    #[test]
    fn several_reasons_hold_at_once() {
        let strict = PausePolicy {
            schedule: Some("Mon-Fri 19:00-07:00".parse().expect("a schedule")),
            pauses_on_battery: true,
            when_idle: Some(Duration::from_secs(300)),
        };
        let outside = "outside of its schedule, next at Thu 2026-11-26 19:00";
        let noon = Sensed { is_on_battery: true, ..at("2026-11-26T12:00:00") };
        check(&strict, &noon, true, &["paused by you", outside, "on battery", "somebody uses this machine"]);
        let idle_for = Duration::from_secs(299);
        check(
            &strict,
            &Sensed { idle_for, ..at("2026-11-26T20:00:00") },
            false,
            &["somebody uses this machine"],
        );
        let idle_for = Duration::from_secs(300);
        check(&strict, &Sensed { idle_for, ..at("2026-11-26T20:00:00") }, false, &[]);
        check(&strict, &Sensed { idle_for, ..at("2026-11-26T12:00:00") }, false, &[outside]);
        // Without rules only the user decides.
        check(
            &PausePolicy::default(),
            &Sensed { is_on_battery: true, ..at("2026-11-26T12:00:00") },
            false,
            &[],
        );
        check(&PausePolicy::default(), &noon, true, &["paused by you"]);
    }

    #[test]
    fn it_looks_again_at_the_end_of_hours_and_once_a_minute() {
        let schedule = Some("19:00-07:00".parse().expect("a schedule"));
        let nightly = PausePolicy { schedule, ..PausePolicy::default() };
        let after = |policy: &PausePolicy, time: &str| policy.look_again_after(&at(time).now);
        assert_eq!(after(&nightly, "2026-11-26T18:59:48"), Some(Duration::from_secs(12)));
        assert_eq!(after(&nightly, "2026-11-26T12:00:00"), Some(LONGEST_WAIT));
        assert_eq!(
            after(&PausePolicy { pauses_on_battery: true, ..nightly }, "2026-11-26T12:00:00"),
            Some(LOOK_AGAIN)
        );
        assert_eq!(after(&PausePolicy::default(), "2026-11-26T12:00:00"), None);
    }
}
