//! Two coordinators that share one data directory, by any path.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use queens_store::sqlite::audit;
use queens_tests::cleanup::Undo;
use queens_tests::directory::names;
use queens_tests::postgres::proved;
use queens_tests::prelude::*;

/// Starts a coordinator with some records of 16 queens.
fn counting(data_dir: &Path) -> (Coordinator, Running, String) {
    let coordinator = Coordinator::start(data_dir);
    let worker = coordinator.worker("anna");
    let job = coordinator.submit(16);
    coordinator.wait_for_records(&job);
    (coordinator, worker, job)
}

/// Checks that a second coordinator is refused on a directory, and names it.
#[track_caller]
fn check_refused(dir: &Path) {
    let second = run(coordinator_command("127.0.0.1:0", dir));
    let expected = format!("'{}' is in use by another process", dir.display());
    assert!(second.complaint(1).contains(&expected), "{second:?}");
}

/// Checks that the first coordinator was not disturbed.
#[track_caller]
fn check_total(data_dir: &Path, coordinator: Coordinator, job: &str) {
    let _fast = fast_worker(&coordinator.url());
    assert_eq!(coordinator.done(job)["solutions"], "14772512");
    coordinator.stop();
    let audits = audit(data_dir).expect("consistent records");
    assert!(audits.len() == 1 && audits[0].is_complete() && audits[0].total == 14_772_512, "{audits:?}");
}

#[test]
fn a_second_coordinator_is_refused_by_whatever_path_it_comes() {
    let scratch = TempDir::new();
    let data_dir = scratch.join("data");
    let (coordinator, _worker, job) = counting(&data_dir);
    check_refused(&data_dir);
    check_refused(&scratch.join("data/../data"));
    let link = scratch.join("link");
    symlink(&data_dir, &link).expect("linked");
    check_refused(&link);
    // Directories that link to this one's database, or to all of its files.
    for is_linked_hard in [true, false] {
        for names in [&[DATABASE][..], &[DATABASE, "queens.db-wal", "queens.db-shm", "lock"]] {
            let other = TempDir::new();
            for name in names {
                let (there, here) = (data_dir.join(name), other.path().join(name));
                if is_linked_hard { fs::hard_link(there, here) } else { symlink(there, here) }
                    .expect("linked");
            }
            check_refused(other.path());
        }
    }
    // Another file in place of the lock, and none.
    let lock = data_dir.join("lock");
    fs::copy(&lock, data_dir.join("copy")).expect("copied");
    fs::rename(data_dir.join("copy"), &lock).expect("there is a lock");
    check_refused(&data_dir);
    fs::remove_file(&lock).expect("it is there");
    check_refused(&data_dir);
    check_refused(&link);
    check_total(&data_dir, coordinator, &job);
}

#[test]
fn a_second_coordinator_is_refused_where_the_directory_is_mounted_again() {
    let scratch = TempDir::new();
    let (data_dir, mounted) = (scratch.join("data"), scratch.join("mounted"));
    fs::create_dir(&mounted).expect("created");
    let (coordinator, _worker, job) = counting(&data_dir);
    let unmount = Undo::by(|| {
        let mut unmount = Command::new("umount");
        unmount.arg("--lazy").arg(&mounted);
        unmount
    });
    let mount = Command::new("mount").arg("--bind").args([&data_dir, &mounted]).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        return skipped_without_root("a data directory by two mounts, as it takes root to mount it");
    }
    check_refused(&mounted);
    fs::remove_file(mounted.join("lock")).expect("there is a lock");
    check_refused(&mounted);
    drop(unmount);
    check_total(&data_dir, coordinator, &job);
}

/// Returns the public key of a directory.
fn key(dir: &Path) -> String {
    queens_coordinator(&["key", "--data-dir", utf8(dir)]).good().stdout
}

/// A coordinator with a PostgreSQL database keeps only its key in its data directory. Another one of the same database
/// and directory is a standby with the same key, and takes over when the first ends.
#[test]
fn coordinators_of_a_database_may_have_one_directory() {
    let Some((_postgres, address)) = Postgres::with_database("fsync = off", "shared") else { return };
    let scratch = TempDir::new();
    let data_dir = scratch.join("data");
    let command = || with_store("127.0.0.1:0", &data_dir, &address);
    let first = Coordinator::start_command(command(), &data_dir);
    let _worker = first.worker("anna");
    let job = first.submit(16);
    first.wait_for_records(&job);
    let before = key(&data_dir);
    let mut second = Service::start(command(), &scratch.join("second.log"));
    let stands_by = second.logged("standing by address=");
    first.kill();
    assert_eq!(second.logged("listening address="), stands_by);
    let url = format!("http://{stands_by}");
    let _fast = fast_worker(&url);
    let counted = run(queens(["watch", &job, "--coordinator", &url]));
    assert!(counted.stdout.contains("14772512"), "{counted:?}");
    second.stop();
    assert_eq!(key(&data_dir), before);
    assert_eq!(names(&data_dir), ["signing.key"]);
    assert!(proved(&address).contains("subproblems once: 14772512 solutions"));
}

/// A coordinator with a PostgreSQL database does not touch the jobs in its directory, and says that they exist.
#[test]
fn a_coordinator_of_a_database_leaves_the_jobs_of_a_directory_alone() {
    let Some(postgres) = Postgres::start("fsync = off") else { return };
    let scratch = TempDir::new();
    let data_dir = scratch.join("data");
    let (coordinator, _worker, job) = counting(&data_dir);
    let command = with_store("127.0.0.1:0", &data_dir, &postgres.database("other"));
    let mut second = Service::start(command, &scratch.join("second.log"));
    let address = second.logged("listening address=");
    assert!(second.log().contains("there are jobs in the data directory as well"), "{}", second.log());
    let jobs = run(queens(["jobs", "--coordinator", &format!("http://{address}")]));
    assert!(jobs.stdout.contains("no jobs"), "{jobs:?}");
    check_total(&data_dir, coordinator, &job);
    second.stop();
}
