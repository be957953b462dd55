//! What macOS knows of its keyboards, mice and touchpads.

use std::time::Duration;

/// Asks the system's registry of devices, by `ioreg`.
#[cfg(target_os = "macos")]
pub(super) fn idle_time() -> std::io::Result<Duration> {
    use std::io::Error;
    use std::process::{Command, Stdio};

    let mut command = Command::new("/usr/sbin/ioreg");
    let told = command.args(["-c", "IOHIDSystem"]).stdin(Stdio::null()).output()?;
    let answer = String::from_utf8_lossy(&told.stdout);
    parse(&answer).ok_or_else(|| Error::other("'ioreg -c IOHIDSystem' does not tell its HIDIdleTime"))
}

/// Finds the time in a listing of devices, in nanoseconds: the shortest, if there are several.
fn parse(listing: &str) -> Option<Duration> {
    let values = listing.lines().filter_map(|line| line.split_once("\"HIDIdleTime\" = "));
    values.filter_map(|(_, value)| value.trim().parse().ok()).map(Duration::from_nanos).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_understood_or_refused() {
        let listing = r#"
    | +-o IOHIDSystem  <class IOHIDSystem, id 0x1000003c5, registered, matched, active, busy 0 (0 ms), retain 25>
    | | | {
    | | |   "HIDParameters" = {"HIDIdleTime" = x, "HIDClickTime" = 500000000}
    | | |   "HIDIdleTime" = 1539083583
    | | |   "CFBundleIdentifier" = "com.apple.iokit.IOHIDSystem"
    | | | }
"#;
        assert_eq!(parse(listing), Some(Duration::from_nanos(1_539_083_583)));
        let two = listing.replace("HIDParameters\" = {", "HIDIdleTime\" = 42\n");
        assert_eq!(parse(&two), Some(Duration::from_nanos(42)));
        for wrong in
            ["", "HIDIdleTime", "\"HIDIdleTime\" = ", "\"HIDIdleTime\" = -1", "\"HIDIdleTime\" = 1.5"]
        {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }
}
