//! Reads the sensors of a worker's card from time to time, so that nobody waits for the card's driver.
//!
//! The reading has a thread of its own. A driver may hang, and a runtime ends only after its blocking tasks.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use queens_gpu::CardId;
use queens_model::CardSensors;

/// The time between two readings.
const INTERVAL: Duration = Duration::from_secs(10);

/// The age at which a reading no longer counts, because the driver hangs.
const STALE: Duration = Duration::from_secs(60);

/// The longest wait for a reading when the monitor ends. It keeps a driver from being unloaded while it is used.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// The last reading of a card's sensors. Clones share it. Without a monitor it is unknown.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastSensors(Arc<Mutex<Option<Reading>>>);

#[derive(Clone, Copy, Debug)]
struct Reading {
    sensors: CardSensors,
    stale_from: Instant,
}

impl LastSensors {
    /// Returns the last reading; unknown if there is none, or if it is stale. Never waits for the driver.
    pub(crate) fn get(&self) -> CardSensors {
        let reading = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = reading.filter(|reading| Instant::now() < reading.stale_from);
        fresh.map(|reading| reading.sensors).unwrap_or_default()
    }

    fn set(&self, sensors: CardSensors, stale: Duration) {
        let reading = Reading { sensors, stale_from: Instant::now() + stale };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(reading);
    }
}

/// A thread that reads a card's sensors, until this is dropped.
#[derive(Debug)]
pub(crate) struct SensorMonitor {
    /// Ends the thread when it is dropped.
    stop: Option<Sender<()>>,
    /// Is disconnected when the thread ends.
    ended: Receiver<()>,
}

impl SensorMonitor {
    /// Starts to read a card's sensors into `last`.
    ///
    /// # Errors
    /// If the thread can't be started.
    pub(crate) fn start(card: CardId, last: LastSensors) -> io::Result<Self> {
        Self::of(move || card.sensors(), last, INTERVAL)
    }

    fn of(
        mut read: impl FnMut() -> CardSensors + Send + 'static,
        last: LastSensors,
        interval: Duration,
    ) -> io::Result<Self> {
        let ((stop, stopped), (end, ended)) = (channel::<()>(), channel());
        let run = move || {
            let _end: Sender<()> = end;
            loop {
                last.set(read(), STALE);
                match stopped.recv_timeout(interval) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        thread::Builder::new().name("sensors".to_owned()).spawn(run)?;
        Ok(Self { stop: Some(stop), ended })
    }
}

impl Drop for SensorMonitor {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A driver that hangs holds nobody up for long.
        _ = self.ended.recv_timeout(END_TIMEOUT);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    const PATIENCE: Duration = Duration::from_secs(30);

    impl LastSensors {
        /// Sets the last reading.
        pub(crate) fn measure(&self, sensors: CardSensors) {
            self.set(sensors, STALE);
        }
    }

    /// Returns measurements with this temperature.
    pub(crate) fn at(celsius: u32) -> CardSensors {
        CardSensors::new(Some(celsius), Some(72), None)
    }

    /// Returns a monitor of a card that measures each temperature sent, and hangs while nothing is sent.
    fn monitor() -> (Sender<u32>, LastSensors, SensorMonitor) {
        let ((driver, readings), last) = (channel(), LastSensors::default());
        let read = move || readings.recv().map_or_else(|_| CardSensors::default(), at);
        let monitor = SensorMonitor::of(read, last.clone(), MILLISECOND).expect("a thread");
        (driver, last, monitor)
    }

    #[track_caller]
    fn wait_for(last: &LastSensors, expected: CardSensors) {
        let began = Instant::now();
        while last.get() != expected {
            assert!(began.elapsed() < PATIENCE, "{:?} instead of {expected:?}", last.get());
            thread::sleep(MILLISECOND);
        }
    }

    #[test]
    fn the_last_reading_is_kept() {
        let (driver, last, monitor) = monitor();
        assert_eq!(last.get(), CardSensors::default());
        for celsius in [46, 47, 46] {
            driver.send(celsius).expect("the thread reads");
            wait_for(&last, at(celsius));
        }
        drop((driver, monitor));
    }

    #[test]
    fn a_stale_reading_does_not_count() {
        let last = LastSensors::default();
        last.set(at(46), Duration::ZERO);
        assert_eq!(last.get(), CardSensors::default());
        last.set(at(46), STALE);
        assert_eq!(last.get(), at(46));
    }

    #[test]
    fn the_thread_ends_with_the_monitor_unless_the_driver_hangs() {
        let (driver, last, monitor) = monitor();
        let began = Instant::now();
        drop(monitor);
        assert!(began.elapsed() >= END_TIMEOUT, "it waits for the driver");
        assert!(began.elapsed() < 30 * END_TIMEOUT, "but not for ever");
        driver.send(46).expect("the thread waits for the driver");
        wait_for(&last, at(46));
        let is_gone = || driver.send(47).is_err();
        let began = Instant::now();
        while !is_gone() {
            assert!(began.elapsed() < PATIENCE, "the thread goes on");
            thread::sleep(MILLISECOND);
        }
        assert_ne!(last.get(), at(47), "and reads no more");
    }
}
