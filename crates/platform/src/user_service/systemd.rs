//! Units of a user's own systemd.

use super::description::UserService;

/// Returns the unit of a service that runs these words.
///
/// It is confined by what needs no right and no namespace: on many systems, a user's systemd can make none. It may
/// lower its own priority.
pub(super) fn unit(service: &UserService, words: &[&str]) -> String {
    let UserService { name, description, mark, .. } = service;
    // The colon keeps '$' as it is.
    let command: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let command = command.join(" ");
    format!(
        "\
# {mark} It is replaced by the next 'install', and removed by 'uninstall'.

[Unit]
Description={description}
Documentation=man:{name}(1)
# A worker that is refused again and again stays stopped.
StartLimitIntervalSec=1h
StartLimitBurst=20

[Service]
Type=exec
ExecStart=:{command}
# It reports its work before it ends.
TimeoutStopSec=30
# After a drain it has ended successfully, and stays stopped until it is started again.
Restart=on-failure
RestartSec=60
# All other work of the machine comes first.
Nice=19
CPUSchedulingPolicy=idle
CPUWeight=1
IOSchedulingClass=idle

UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM

[Install]
WantedBy=default.target
"
    )
}

/// Quotes a word for a command, by systemd.service(5) and systemd.syntax(7).
fn quoted(word: &str) -> String {
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{escaped}\"")
}
