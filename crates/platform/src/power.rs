//! The machine's power, and its priorities.

use std::io;
use std::path::Path;
use std::time::Duration;

/// The directory in which Linux describes batteries and power supplies.
pub const POWER_SUPPLIES: &str = "/sys/class/power_supply";

/// Returns whether the machine runs on battery; `false` where the system does not tell.
///
/// On Linux, `supplies` is [`POWER_SUPPLIES`]: no mains supply is connected, and a battery discharges. Batteries of
/// devices, such as mice, do not count. On macOS `pmset` tells it, on Windows the system.
#[must_use]
pub fn is_on_battery(supplies: &Path) -> bool {
    #[cfg(target_os = "macos")]
    {
        _ = supplies;
        let asked = std::process::Command::new("/usr/bin/pmset").args(["-g", "ps"]).output();
        asked.is_ok_and(|told| String::from_utf8_lossy(&told.stdout).contains("'Battery Power'"))
    }
    #[cfg(windows)]
    {
        use windows_sys::Win32::System::Power::{GetSystemPowerStatus, SYSTEM_POWER_STATUS};

        _ = supplies;
        let mut status = SYSTEM_POWER_STATUS::default();
        // SAFETY: the function writes into `status`, which is a valid value of its type before and after.
        let is_known = unsafe { GetSystemPowerStatus(&raw mut status) } != 0;
        is_known && status.ACLineStatus == 0
    }
    #[cfg(not(any(target_os = "macos", windows)))]
    {
        let read = |supply: &Path, file: &str| {
            let text = std::fs::read_to_string(supply.join(file)).unwrap_or_default();
            text.trim().to_owned()
        };
        let all = std::fs::read_dir(supplies).into_iter().flatten().flatten().map(|entry| entry.path());
        let (mut discharges, mut may_discharge, mut is_mains_off) = (false, false, false);
        for supply in all.filter(|supply| read(supply.as_path(), "scope") != "Device") {
            match (read(&supply, "type").as_str(), read(&supply, "online").as_str()) {
                ("Battery", _) => match read(&supply, "status").as_str() {
                    "Discharging" => discharges = true,
                    "Charging" | "Full" => {}
                    _ => may_discharge = true,
                },
                // A supply of any other type: mains, or one by USB.
                (_, "0") => is_mains_off = true,
                (_, "") => {}
                (_, _) => return false,
            }
        }
        discharges || (may_discharge && is_mains_off)
    }
}

/// Returns the time since some fixed moment, including the time for which the machine slept. An `Instant` stands still
/// meanwhile on Linux and macOS.
#[must_use]
pub fn time_with_sleep() -> Duration {
    #[cfg(windows)]
    {
        use windows_sys::Win32::System::SystemInformation::GetTickCount64;

        // SAFETY: the function takes nothing, and returns a number.
        Duration::from_millis(unsafe { GetTickCount64() })
    }
    #[cfg(unix)]
    {
        use rustix::time::{ClockId, clock_gettime};

        // On macOS, the monotonic clock goes on during sleep.
        #[cfg(target_os = "linux")]
        let clock = ClockId::Boottime;
        #[cfg(not(target_os = "linux"))]
        let clock = ClockId::Monotonic;
        let time = clock_gettime(clock);
        let (seconds, nanoseconds) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
        Duration::new(seconds.unwrap_or_default(), nanoseconds.unwrap_or_default())
    }
}

/// Gives this process the lowest priority for processors: on Unix a nice value of 19, on Windows the class `IDLE`.
/// Threads that start later have it, too.
///
/// # Errors
/// If the system refuses it.
pub fn lower_process_priority() -> io::Result<()> {
    #[cfg(unix)]
    return Ok(rustix::process::setpriority_process(None, 19)?);
    #[cfg(windows)]
    {
        use windows_sys::Win32::System::Threading::{
            GetCurrentProcess, IDLE_PRIORITY_CLASS, SetPriorityClass,
        };

        // SAFETY: both functions take any values; the first returns a handle that is always valid.
        match unsafe { SetPriorityClass(GetCurrentProcess(), IDLE_PRIORITY_CLASS) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

/// Lets this thread run only when processors have nothing else to do: on Linux by the policy `SCHED_IDLE`. Does nothing
/// elsewhere.
///
/// # Errors
/// If the system refuses it.
pub fn lower_thread_priority() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: the system call reads `parameters`, which lives until it returns, and changes only this thread. The C
        // library's function of this name does not do so with musl.
        let result = unsafe {
            libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &raw const parameters)
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;
    use std::thread;

    use super::*;

    /// Checks a machine with these supplies, each a name and its files.
    #[track_caller]
    fn check(supplies: &[(&str, &[(&str, &str)])], expected: bool) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for (name, files) in supplies {
            fs::create_dir(dir.path().join(name)).expect("created");
            for (file, text) in *files {
                fs::write(dir.path().join(name).join(file), format!("{text}\n")).expect("written");
            }
        }
        assert_eq!(is_on_battery(dir.path()), expected, "{supplies:?}");
    }

    #[test]
    fn a_machine_runs_on_battery_if_nothing_else_supplies_it() {
        let mains = |online| [("type", "Mains"), ("online", online)];
        let battery = |status| [("type", "Battery"), ("status", status)];
        check(&[], false);
        check(&[("AC", &mains("1")), ("BAT0", &battery("Charging"))], false);
        check(&[("AC", &mains("0")), ("BAT0", &battery("Discharging"))], true);
        // The kernel does not know the battery's state for some seconds.
        check(&[("AC", &mains("0")), ("BAT0", &battery("Unknown"))], true);
        // A weak supply: the battery helps.
        check(&[("AC", &mains("1")), ("BAT0", &battery("Discharging"))], false);
        let usb = [("type", "USB"), ("online", "1")];
        check(&[("AC", &mains("0")), ("BAT0", &battery("Not charging")), ("ucsi", &usb)], false);
        // A tablet that does not describe its supply, and a PC with a wireless mouse.
        check(&[("BAT0", &battery("Discharging"))], true);
        check(&[("BAT0", &battery("Full"))], false);
        let mouse = [("type", "Battery"), ("status", "Discharging"), ("scope", "Device")];
        check(&[("hidpp_battery_0", &mouse)], false);
        check(&[("AC", &mains("0"))], false);
        check(&[("BAT0", &[("type", "\u{1b}[31m")])], false);
        assert!(!is_on_battery(Path::new("/nowhere")));
    }

    /// On a thread of its own, because the priority can't be raised again.
    #[test]
    fn a_thread_gets_the_lowest_priority() {
        let policy = || {
            let stat = fs::read_to_string("/proc/thread-self/stat").expect("readable");
            let fields: Vec<String> =
                stat.rsplit(") ").next().unwrap_or_default().split(' ').map(str::to_owned).collect();
            // Nice value and policy: the fields 19 and 41 in proc(5), of which two are before the parenthesis.
            (fields[16].clone(), fields[38].clone())
        };
        let lowered = thread::spawn(move || {
            lower_process_priority().expect("it is lowered");
            lower_thread_priority().expect("it is lowered");
            policy()
        });
        assert_eq!(lowered.join().expect("no panic"), ("19".to_owned(), "5".to_owned()));
    }
}
