//! The machine: its name, processors and memory.

use std::time::Duration;

/// Returns the machine's name, if it has one: on Unix its node name, on Windows its NetBIOS name.
#[must_use]
pub fn host_name() -> Option<String> {
    #[cfg(unix)]
    let name = rustix::system::uname().nodename().to_string_lossy().trim().to_owned();
    #[cfg(windows)]
    let name = std::env::var("COMPUTERNAME").unwrap_or_default().trim().to_owned();
    Some(name).filter(|name| !name.is_empty())
}

/// Returns bytes that all programs on this machine share and no other machine has, or `None` if the system has none.
///
/// On Linux and macOS they are drawn at random at each boot, also for containers: the boot id, the boot session's UUID.
/// Windows draws them when it is installed (`MachineGuid`), so they are never sent or shown as they are.
#[must_use]
pub fn machine_identity() -> Option<Vec<u8>> {
    #[cfg(target_os = "macos")]
    let drawn = {
        let asked =
            std::process::Command::new("/usr/sbin/sysctl").args(["-n", "kern.bootsessionuuid"]).output();
        asked.ok().filter(|told| told.status.success()).map(|told| told.stdout)
    };
    #[cfg(windows)]
    let drawn = {
        let key = windows_registry::LOCAL_MACHINE.open(r"SOFTWARE\Microsoft\Cryptography");
        key.and_then(|key| key.get_string("MachineGuid")).ok().map(String::into_bytes)
    };
    #[cfg(not(any(target_os = "macos", windows)))]
    let drawn = std::fs::read("/proc/sys/kernel/random/boot_id").ok();
    drawn.filter(|drawn| drawn.len() >= 16)
}

/// Returns the number of the machine's processors. This process may be limited to some of them. Returns `None` on macOS
/// and Windows.
#[must_use]
pub fn n_processors() -> Option<usize> {
    let all = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    Some(all.lines().filter(|line| line.starts_with("processor")).count())
}

/// Returns the bytes of memory that this process can get, by Linux's estimate and the limit of its control group, or
/// `None` on macOS and Windows.
#[must_use]
pub fn available_memory() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let available = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available: u64 = available.trim().trim_end_matches("kB").trim().parse().ok()?;
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let limit = limit.and_then(|limit| limit.trim().parse().ok());
    let available = available.saturating_mul(1024);
    Some(limit.map_or(available, |limit| available.min(limit)))
}

/// Whether this program can load libraries while it runs: one that is linked statically can't on Linux.
pub const CAN_LOAD_LIBRARIES: bool = !cfg!(all(target_os = "linux", target_feature = "crt-static"));

/// Returns the processor's model as its maker names it, or on Linux without such a name the maker's numbers for it.
#[must_use]
pub fn processor_name() -> Option<String> {
    #[cfg(target_os = "macos")]
    let name = {
        let asked =
            std::process::Command::new("/usr/sbin/sysctl").args(["-n", "machdep.cpu.brand_string"]).output();
        asked.ok().map(|told| String::from_utf8_lossy(&told.stdout).into_owned())
    };
    #[cfg(windows)]
    let name = std::env::var("PROCESSOR_IDENTIFIER").ok();
    #[cfg(not(any(target_os = "macos", windows)))]
    let name = {
        let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            let line =
                told.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
            line.split_once(':').map(|(_, value)| value.trim().to_owned())
        };
        let numbers =
            || Some(format!("CPU implementer {} part {}", field("CPU implementer")?, field("CPU part")?));
        field("model name").or_else(numbers)
    };
    name.map(|name| name.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|name| !name.is_empty())
}

/// Runs a closure and returns how many instructions this thread executed for it, if the system counts them: on Linux,
/// where `perf_event_paranoid` allows it and the processor's counters are not hidden by a virtual machine.
pub fn with_instructions<T>(run: impl FnOnce() -> T) -> (T, Option<u64>) {
    #[cfg(target_os = "linux")]
    {
        use perf_event::Builder;
        use perf_event::events::Hardware;

        let counter = Builder::new().kind(Hardware::INSTRUCTIONS).build().ok();
        let mut counter = counter.and_then(|mut counter| counter.enable().is_ok().then_some(counter));
        let result = run();
        let counted = counter.as_mut().and_then(|counter| counter.read().ok()).filter(|counted| *counted > 0);
        (result, counted)
    }
    #[cfg(not(target_os = "linux"))]
    (run(), None)
}

/// Returns this thread's processor time. Unlike elapsed time, it hardly depends on other work on the machine. On
/// Windows it is the elapsed time since the first call: the clock of a thread has steps of 16 ms there.
#[must_use]
pub fn thread_time() -> Duration {
    #[cfg(unix)]
    {
        use rustix::time::{ClockId, clock_gettime};

        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
    }
    #[cfg(windows)]
    {
        static FIRST: std::sync::LazyLock<std::time::Instant> =
            std::sync::LazyLock::new(std::time::Instant::now);
        FIRST.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_known() {
        assert!(host_name().is_some_and(|name| name != "(none)"));
        assert_eq!(machine_identity(), machine_identity());
        let all = n_processors().unwrap_or(usize::MAX);
        assert!(all >= std::thread::available_parallelism().map_or(1, usize::from), "{all}");
        assert!(available_memory().is_none_or(|bytes| bytes > 1 << 20));
        assert!(processor_name().is_none_or(|name| !name.contains(['\n', '\t'])));
        let (answer, counted) = with_instructions(|| 6 * 7);
        assert!(answer == 42 && counted.is_none_or(|counted| counted > 0));
        let before = thread_time();
        assert!(thread_time() >= before);
    }
}
