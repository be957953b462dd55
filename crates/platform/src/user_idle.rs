//! For how long nobody has used keyboard or mouse.

#[cfg(target_os = "linux")]
mod logind;
#[cfg(any(target_os = "macos", test))]
mod macos;
#[cfg(target_os = "linux")]
mod x11;

use std::io;
use std::time::Duration;

/// Returns for how long nobody has used this machine; zero while somebody does.
///
/// - On Linux, the X server tells it, if this session has one of this machine. Otherwise systemd-logind does (its
///   `IdleHint`): desktops tell logind some minutes after the last input, and logind itself looks at text terminals.
/// - On macOS, `ioreg` tells it.
/// - On Windows, the system tells it of the session in which this program runs.
///
/// It takes some milliseconds, or on Linux up to six seconds if neither server answers.
///
/// # Errors
/// If the system does not tell it.
pub fn user_idle_time() -> io::Result<Duration> {
    #[cfg(target_os = "linux")]
    {
        // A server that ended or hangs is no reason to stop asking logind.
        x11::display().and_then(|display| x11::idle_time(display).ok()).map_or_else(logind::idle_time, Ok)
    }
    #[cfg(target_os = "macos")]
    return macos::idle_time();
    #[cfg(windows)]
    {
        use windows_sys::Win32::System::SystemInformation::GetTickCount;
        use windows_sys::Win32::UI::Input::KeyboardAndMouse::{GetLastInputInfo, LASTINPUTINFO};

        let size = u32::try_from(size_of::<LASTINPUTINFO>()).unwrap_or_default();
        let mut last = LASTINPUTINFO { cbSize: size, dwTime: 0 };
        // SAFETY: the function writes into `last`, whose size it is told, and which is valid before and after.
        if unsafe { GetLastInputInfo(&raw mut last) } == 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the function takes nothing, and returns a number.
        let now = unsafe { GetTickCount() };
        // Both count milliseconds, and begin again at zero after 49 days.
        Ok(Duration::from_millis(now.wrapping_sub(last.dwTime).into()))
    }
    #[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
    Err(io::Error::new(io::ErrorKind::Unsupported, "this program can't tell it on this system"))
}

#[cfg(test)]
#[cfg(windows)]
mod tests {
    use std::thread::sleep;

    use super::*;

    #[test]
    fn time_without_input_grows() {
        let before = user_idle_time().expect("Windows tells it");
        sleep(Duration::from_millis(100));
        let after = user_idle_time().expect("Windows tells it");
        assert!(after >= before + Duration::from_millis(60), "{before:?}, {after:?}");
    }
}
