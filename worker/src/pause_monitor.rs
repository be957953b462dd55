//! Watches the conditions of a [`PausePolicy`], and tells the worker's sessions when they may count.

use std::sync::Arc;
use std::time::Duration;

use jiff::Zoned;
use queens_counting::PauseFlag;
use tokio::sync::watch;
use tracing::info;

use crate::pause_policy::{PausePolicy, PauseReason, Sensed};

/// A source of the conditions besides the user's wish. It may block for a moment.
pub type Sensors = Arc<dyn Fn() -> Sensed + Send + Sync>;

/// Lets the user pause the worker, and tells why it does not count. Clones are of the same worker.
#[derive(Clone, Debug)]
pub struct PauseControl {
    is_paused_by_user: watch::Sender<bool>,
    reasons: watch::Sender<Vec<PauseReason>>,
    flag: watch::Sender<bool>,
}

impl Default for PauseControl {
    fn default() -> Self {
        let [is_paused_by_user, flag] = [(), ()].map(|()| watch::Sender::new(false));
        Self { is_paused_by_user, reasons: watch::Sender::new(Vec::new()), flag }
    }
}

impl PauseControl {
    /// Returns the flag for the worker's sessions.
    #[must_use]
    pub fn flag(&self) -> PauseFlag {
        self.flag.subscribe().into()
    }

    /// Pauses the worker by the user's wish, or ends that. Waits until the monitor has applied it.
    pub async fn pause(&self, is_paused: bool) {
        self.is_paused_by_user.send_replace(is_paused);
        let is_applied = |reasons: &Vec<PauseReason>| reasons.contains(&PauseReason::ByUser) == is_paused;
        _ = self.reasons.subscribe().wait_for(is_applied).await;
    }

    /// Returns why the worker does not count; nothing if it may.
    #[must_use]
    pub fn reasons(&self) -> Vec<PauseReason> {
        self.reasons.borrow().clone()
    }

    /// Applies a policy until it is dropped.
    pub async fn monitor(&self, policy: &PausePolicy, sensors: &Sensors) {
        let mut by_user = self.is_paused_by_user.subscribe();
        loop {
            by_user.mark_unchanged();
            let look_again = self.check(policy, sensors).await;
            let changed = by_user.changed();
            match look_again {
                // The monotonic clock may stand still while the machine sleeps: so no wait is long.
                Some(after) => _ = tokio::time::timeout(after, changed).await,
                None => _ = changed.await,
            }
        }
    }

    /// Applies a policy once. Returns after which time the sensors may tell something else; `None` if they never do.
    pub async fn check(&self, policy: &PausePolicy, sensors: &Sensors) -> Option<Duration> {
        let sensed = sense(sensors).await;
        let is_paused_by_user = *self.is_paused_by_user.borrow();
        let look_again = policy.look_again_after(&sensed.now);
        self.apply(policy.reasons(&sensed, is_paused_by_user));
        look_again
    }

    fn apply(&self, reasons: Vec<PauseReason>) {
        let is_paused = !reasons.is_empty();
        if self.reasons.send_replace(reasons.clone()) != reasons {
            let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            match is_paused {
                true => info!("not counting: {}", reasons.join("; ")),
                false => info!("counting again"),
            }
        }
        self.flag.send_if_modified(|flag| std::mem::replace(flag, is_paused) != is_paused);
    }
}

/// Asks the sensors, on a thread that may block.
async fn sense(sensors: &Sensors) -> Sensed {
    let asked = sensors.clone();
    match tokio::task::spawn_blocking(move || asked()).await {
        Ok(sensed) => sensed,
        // It panicked or the process ends.
        Err(_) => Sensed { now: Zoned::now(), is_on_battery: false, idle_for: Duration::ZERO },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use jiff::{SignedDuration, Span};
    use tokio::time::{Instant, sleep, timeout};

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// A machine's clock and battery.
    fn fake(start: &str) -> (Arc<Mutex<Sensed>>, Sensors) {
        let now = format!("{start}+01:00[+01:00]").parse().expect("a time");
        let sensed = Sensed { now, is_on_battery: false, idle_for: Duration::ZERO };
        let (sensed, began) = (Arc::new(Mutex::new(sensed)), Instant::now());
        let asked = sensed.clone();
        let sensors = move || {
            let mut sensed = asked.lock().expect("no panic").clone();
            sensed.now += SignedDuration::try_from(began.elapsed()).expect("short");
            sensed
        };
        (sensed, Arc::new(sensors))
    }

    fn nightly() -> PausePolicy {
        let schedule = Some("19:00-07:00".parse().expect("a schedule"));
        PausePolicy { schedule, ..PausePolicy::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_counts_in_its_hours_even_if_the_clock_jumps() {
        let (sensed, sensors) = fake("2026-11-26T18:00:00");
        let (control, policy) = (PauseControl::default(), nightly());
        let (flag, began) = (control.flag(), Instant::now());
        tokio::select! {
            () = control.monitor(&policy, &sensors) => {}
            () = async {
                flag.set().await;
                flag.cleared().await;
                let after = began.elapsed();
                assert!(after >= 60 * MINUTE && after < 60 * MINUTE + Duration::from_secs(1), "{after:?}");
                // The machine slept until the next noon, and somebody sets the clock back.
                for (jump, is_paused) in [(Span::new().hours(17), true), (Span::new().hours(-17), false)] {
                    let jumped = Instant::now();
                    sensed.lock().expect("no panic").now += jump;
                    if is_paused { flag.set().await } else { flag.cleared().await }
                    assert!(jumped.elapsed() <= MINUTE, "{:?}", jumped.elapsed());
                }
            } => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_pauses_at_once_and_other_reasons_stay() {
        let (sensed, sensors) = fake("2026-11-26T20:00:00");
        let control = PauseControl::default();
        let policy = PausePolicy { pauses_on_battery: true, ..nightly() };
        control.check(&policy, &sensors).await;
        assert!(!control.flag().is_set());
        let told = |control: &PauseControl| {
            control.reasons().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        tokio::select! {
            () = control.monitor(&policy, &sensors) => {}
            () = async {
                let began = Instant::now();
                control.pause(true).await;
                assert_eq!((told(&control), control.flag().is_set()), ("paused by you".to_owned(), true));
                assert!(began.elapsed() < Duration::from_secs(1));
                sensed.lock().expect("no panic").is_on_battery = true;
                sleep(MINUTE).await;
                assert_eq!(told(&control), "paused by you; on battery");
                control.pause(false).await;
                assert_eq!((told(&control), control.flag().is_set()), ("on battery".to_owned(), true));
                sensed.lock().expect("no panic").is_on_battery = false;
                timeout(MINUTE, control.flag().cleared()).await.expect("it counts again");
            } => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn without_rules_nothing_is_watched() {
        let asked = Arc::new(Mutex::new(0));
        let counts = asked.clone();
        let sensors: Sensors = Arc::new(move || {
            *counts.lock().expect("no panic") += 1;
            Sensed { now: Zoned::now(), is_on_battery: true, idle_for: Duration::ZERO }
        });
        let control = PauseControl::default();
        let day = 24 * 60 * MINUTE;
        timeout(day, control.monitor(&PausePolicy::default(), &sensors)).await.expect_err("it goes on");
        assert_eq!((*asked.lock().expect("no panic"), control.flag().is_set()), (1, false));
    }
}
