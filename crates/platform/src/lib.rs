//! All that differs between operating systems: files, secrets, signals, local sockets, the terminal, power and
//! priorities, services of users, and what a machine is called. With it, what every crate may need: the version, new
//! files, throttled log lines.
//!
//! Each function says what it does on Linux, macOS and Windows. Only this crate and the kernels have code for one
//! system.

mod files;
#[cfg(feature = "local-sockets")]
mod local_socket;
mod log_throttle;
mod machine;
mod new_file;
mod output;
mod power;
mod secrets;
#[cfg(feature = "signals")]
mod signals;
mod user_files;
mod user_idle;
mod user_service;
mod version;

pub use files::{
    FoundFile, SQLITE_WITHOUT_LOCKS, allow_many_files, check_regular_file, lock_database, open_regular_file,
    replace_private_file, shared_temporary_file, sync_directory,
};
#[cfg(feature = "local-sockets")]
pub use local_socket::{
    LocalSocket, LocalStream, connect_to_socket, read_answer, socket_directory, sockets_in,
};
pub use log_throttle::LogThrottle;
pub use machine::{
    CAN_LOAD_LIBRARIES, available_memory, host_name, machine_identity, n_processors, processor_name,
    thread_time, with_instructions,
};
pub use new_file::{NewFile, NoNewFile};
pub use output::{has_reader, is_screen, is_utf8, was_stdout_closed};
pub use power::{
    POWER_SUPPLIES, is_on_battery, lower_process_priority, lower_thread_priority, time_with_sleep,
};
pub use secrets::{Exposure, Readers, changeable, exposure, keep_files_private, new_private_file};
#[cfg(feature = "signals")]
pub use signals::{Hangups, StopSignal, StopSignals, notify_ready};
pub use user_files::{make_private_directory, user_config_dir};
pub use user_idle::user_idle_time;
pub use user_service::{Supervisor, UnusablePath, UserService, run_supervisor};
pub use version::{VERSION, version_in_full};
