//! A PostgreSQL server with an archive of its log, for point-in-time recovery.

use std::fs::{self, File};

use super::Postgres;
use crate::process::wait_for;

/// A segment gets its name in the archive when it is complete.
const ARCHIVES: &str = "archive_mode = on\n\
    archive_command = 'mkdir -p ../archive && cp %p ../archive/%f.part && mv ../archive/%f.part ../archive/%f'\n";

impl Postgres {
    /// Starts a server with an archive; `None` if PostgreSQL is not installed.
    ///
    /// # Panics
    /// Panics if it can't be started.
    #[must_use]
    pub fn start_archiving() -> Option<Self> {
        Self::start(&format!("fsync = off\n{ARCHIVES}"))
    }

    /// Makes the base backup for [`go_back`](Self::go_back).
    ///
    /// # Panics
    /// Panics if that fails.
    pub fn back_up(&self) {
        let port = self.port.number().to_string();
        let from = ["-h", "127.0.0.1", "-p", &port, "-U", super::USER];
        self.carry_out("pg_basebackup", &[&from[..], &["-D", "backup", "-X", "none", "-c", "fast"]].concat());
    }

    /// Names the present moment, and waits until the archive contains the log up to it.
    ///
    /// # Panics
    /// Panics if that fails.
    pub fn mark(&self, point: &str) {
        let made = self.sql("postgres", &format!("SELECT pg_create_restore_point('{point}')"));
        made.expect("makes a restore point");
        let segment = self.sql("postgres", "SELECT pg_walfile_name(pg_switch_wal())").expect("switches");
        let archived = format!("SELECT last_archived_wal >= '{segment}' FROM pg_stat_archiver");
        wait_for("the log to be archived", || self.sql("postgres", &archived).as_deref() == Ok("t"));
    }

    /// Kills the server and restarts it at the same address, with its state at a named moment.
    ///
    /// # Panics
    /// Panics if that fails.
    pub fn go_back(&mut self, point: &str) {
        self.kill();
        let [data, backup] = ["data", "backup"].map(|name| self.path().join(name));
        fs::remove_dir_all(&data).expect("it is there");
        fs::rename(backup, &data).expect("a base backup");
        let settings = data.join("postgresql.auto.conf");
        let before = fs::read_to_string(&settings).expect("a file of settings");
        let recovers = format!(
            "restore_command = 'cp ../archive/%f %p'\nrecovery_target_name = '{point}'\n\
             recovery_target_action = 'promote'\n"
        );
        fs::write(settings, format!("{before}\n{recovers}")).expect("a file of settings");
        let signal = data.join("recovery.signal");
        drop(File::create(&signal).expect("a file"));
        self.give(&signal);
        self.run();
        wait_for("the end of the recovery", || {
            self.sql("postgres", "SELECT pg_is_in_recovery()").as_deref() == Ok("f")
        });
    }
}
