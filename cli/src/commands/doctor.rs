//! `queens doctor`: diagnoses this machine and the coordinators.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use queens_counting::default_threads;
use queens_model::{JobState, JobStatus, date, duration};
use queens_platform::{VERSION, available_memory, n_processors};
use queens_proto::client::{Attempt, Greeting, Problem, Route, Search};
use queens_solver::{BoardSize, Kernel, KernelChoice, Method, published};
use serde::Serialize;

use crate::flags::RemoteArgs;
use crate::present::job::{REPAIR, describe_damage};
use crate::sampling::count_board;

/// The board that tests whether a kernel counts correctly. It takes milliseconds.
const SMALL: u32 = 12;

/// The maximum memory of a thread that counts by halves, for n up to 25, in bytes.
const MEMORY_OF_A_THREAD: u64 = 128 << 20;

/// The maximum difference between clocks that leaves times comparable for people.
const CLOCKS: Duration = Duration::from_secs(2);

/// The remaining validity below which a TLS certificate should be renewed.
const SOON: Duration = Duration::from_secs(30 * 86_400);

/// Check this machine, and the connection to a coordinator
///
/// Checks kernels, processors, memory, connection, versions, role, clocks, TLS certificate and jobs: a line for each,
/// with advice if something is wrong. Of several coordinators it checks each, and names the leader. The exit status is
/// 1 if something is bad.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    remote: RemoteArgs,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    /// Works, but may not for long.
    Warn,
    /// Prevents everything else from working.
    Bad,
}

/// The result of one check, with its text.
#[derive(Debug, Serialize)]
struct Finding {
    state: State,
    of: &'static str,
    found: String,
    /// What to do, if something is wrong.
    #[serde(rename = "do")]
    advice: Option<String>,
}

impl Finding {
    fn ok(of: &'static str, found: impl Into<String>) -> Self {
        Self { state: State::Ok, of, found: found.into(), advice: None }
    }

    fn warn(of: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { state: State::Warn, of, found: found.into(), advice: Some(advice.into()) }
    }

    fn bad(of: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { state: State::Bad, of, found: found.into(), advice: Some(advice.into()) }
    }

    fn line(&self) -> String {
        let state = match self.state {
            State::Ok => "ok",
            State::Warn => "warn",
            State::Bad => "BAD",
        };
        let advice = self.advice.as_ref().map(|advice| format!(": {advice}")).unwrap_or_default();
        format!("{state:<5} {:<12} {}{advice}", self.of, self.found)
    }
}

/// Runs the command and returns its exit status.
pub(crate) async fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let mut findings = vec![kernels(), processors(), memory()];
    findings.extend(coordinators(args).await);
    findings.extend(jobs(args).await);
    let lines = || findings.iter().map(Finding::line).collect::<Vec<_>>().join("\n");
    args.remote.output().print(&findings, lines)?;
    let is_bad = findings.iter().any(|finding| finding.state == State::Bad);
    Ok(if is_bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn kernels() -> Finding {
    let here: Vec<Kernel> = Kernel::ALL.into_iter().filter(|kernel| kernel.is_available()).collect();
    let names = here.iter().map(|kernel| kernel.name()).collect::<Vec<_>>().join(", ");
    let (small, never) = (BoardSize::try_from(SMALL).ok(), AtomicBool::new(false));
    let right = small.and_then(published).map(|known| known.solutions);
    let counted_by = |kernel: Kernel| count_board(small?, Method::Search, kernel, &never);
    let wrong = here.iter().find(|kernel| right.is_none() || counted_by(**kernel) != right);
    match wrong {
        Some(kernel) => Finding::bad(
            "kernels",
            format!("{kernel} counts n = {SMALL} wrong"),
            "this processor, or its memory, can't be trusted: let it count nothing",
        ),
        None => Finding::ok(
            "kernels",
            format!(
                "{names} count n = {SMALL} right; '{}' is what 'auto' takes",
                KernelChoice::AUTO.kernel()
            ),
        ),
    }
}

fn processors() -> Finding {
    let usable = default_threads().get();
    let n_all = n_processors().unwrap_or(usable);
    if n_all > usable {
        let found = format!("{usable} of {n_all} may be used");
        return Finding::warn("processors", found, "a limit of the container, the scheduler or taskset");
    }
    Finding::ok("processors", format!("{usable} may be used"))
}

fn memory() -> Finding {
    let Some(available) = available_memory() else {
        return Finding::ok("memory", "this system does not tell how much is available".to_owned());
    };
    let found = format!("{:.1} GiB are available", available as f64 / f64::from(1 << 30));
    let wanted = MEMORY_OF_A_THREAD * default_threads().get() as u64;
    if available < wanted {
        let advice = "counting by halves takes up to 128 MiB a thread for n = 25, and more beyond: start fewer --threads";
        return Finding::warn("memory", found, advice);
    }
    Finding::ok("memory", found)
}

/// Checks all coordinators given, and those that they name.
async fn coordinators(args: &DoctorArgs) -> Vec<Finding> {
    let coordinator = &args.remote.coordinator;
    let routes = match coordinator.routes() {
        Ok(routes) => routes,
        Err(error) => {
            let found = format!("{}: {error:#}", coordinator.urls());
            return vec![Finding::bad("coordinator", found, "mend the options")];
        }
    };
    let mut is_one_of_several = routes.are_several();
    let mut search = Search::new(routes);
    let (mut findings, mut leaders, mut down) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(Attempt { route, .. }) = search.next(true) {
        let url = route.uri().to_string();
        let began = Instant::now();
        match route.greeting().await {
            Ok(greeting) => {
                findings.extend(greeted(&url, &greeting, began.elapsed()));
                leaders.push(url);
            }
            Err(problem) => {
                is_one_of_several |= matches!(problem, Problem::StandsBy { .. });
                search.failed(&route, &problem);
                let finding = refused(&url, &problem);
                if finding.state == State::Ok && !matches!(problem, Problem::StandsBy { .. }) {
                    leaders.push(url);
                }
                if matches!(problem, Problem::Connection(_) | Problem::Silent) {
                    down.push(findings.len());
                }
                findings.push(finding);
            }
        }
        findings.extend(certificate(&route, is_one_of_several).await);
    }
    if is_one_of_several {
        // The cluster works without the coordinators that are down, as long as one leads.
        for place in down.into_iter().filter(|_| !leaders.is_empty()) {
            findings[place].state = State::Warn;
        }
        findings.push(leader(&leaders));
    }
    findings
}

/// Checks whether the leader's jobs are held up. Returns nothing if it does not answer, which is another finding.
async fn jobs(args: &DoctorArgs) -> Option<Finding> {
    let jobs = args.remote.connect().await.ok()?.jobs().await.ok()?;
    Some(of_jobs(&jobs, &args.remote.coordinator.how_to_add_a_worker()))
}

fn of_jobs(jobs: &[JobStatus], how_to_add_a_worker: &str) -> Finding {
    let damaged = jobs.iter().filter(|job| job.state == JobState::Damaged);
    if let Some(job) = damaged.clone().next() {
        let n_more = damaged.count() - 1;
        let more = if n_more == 0 { String::new() } else { format!(", and {n_more} more are damaged") };
        let found = format!("job {} is damaged: {}{more}", job.id, describe_damage(job));
        return Finding::bad("jobs", found, REPAIR);
    }
    let waits = |job: &JobStatus| Some((job.id, job.waits_for.clone()?));
    let waiting = jobs.iter().filter(|job| !job.state.is_over()).filter_map(waits);
    // Other jobs come first as long as there are any.
    let mut held_up = waiting.filter(|(_, whom)| !whom.starts_with("its turn"));
    let Some((job, whom)) = held_up.next() else { return Finding::ok("jobs", "none is held up") };
    let more = match held_up.count() {
        0 => String::new(),
        n_more => format!(", and {n_more} more wait"),
    };
    let advice = match whom.as_str() {
        "a worker: none is connected" => how_to_add_a_worker.to_owned(),
        // A name: this worker alone holds leases.
        whom if whom.starts_with('\'') => {
            "its leases go to others by themselves; 'queens workers block NAME' gives it no more".to_owned()
        }
        _ => format!("other jobs go on meanwhile; 'queens status {job}' shows this one"),
    };
    Finding::warn("jobs", format!("job {job} waits for {whom}{more}"), advice)
}

/// Reports the leader of several coordinators.
fn leader(leaders: &[String]) -> Finding {
    match leaders {
        [] => Finding::bad(
            "leader",
            "none of the coordinators leads",
            "another takes over within ten seconds of a leader's end; if it stays so, their logs say why",
        ),
        [one] => Finding::ok("leader", format!("{one} leads")),
        several => Finding::bad(
            "leader",
            format!("{} all lead", several.join(" and ")),
            "they are not on one database, and each counts for itself: name those of one alone",
        ),
    }
}

fn refused(url: &str, problem: &Problem) -> Finding {
    let found = format!("{url}: {problem}");
    let advice = match problem {
        // A worker may not query the coordinator's status.
        Problem::Refused(reason) if reason.contains("is that of a worker") => {
            return Finding::ok("coordinator", format!("{url} answers; you were invited as a worker"));
        }
        Problem::StandsBy { words, .. } => return Finding::ok("coordinator", format!("{url}: {words}")),
        Problem::Connection(_) | Problem::Silent | Problem::Unconfirmed(_) | Problem::NoneLeads(_) => {
            "is it running there, and does a firewall let you through? 'queens-coordinator' starts one"
        }
        Problem::Untrusted(_) => {
            "check --ca or --pin against the line that 'queens-coordinator invite' printed"
        }
        Problem::SpeaksHttp | Problem::SpeaksOtherwise(_) => {
            "check port and scheme: http where it does not encrypt, https where it does"
        }
        Problem::Unimplemented => "bring both programs to the same version",
        Problem::Refused(_) => "ask who runs it for an invitation, and give its token by --token-file",
        Problem::Unavailable(_) | Problem::NumberTaken(_) => "try again soon; its log says more",
        Problem::Nonsense(_) => "use the same version of both programs, and check for a proxy between them",
    };
    Finding::bad("coordinator", found, advice)
}

fn greeted(url: &str, greeting: &Greeting, took: Duration) -> Vec<Finding> {
    let Greeting { status, now, role } = greeting;
    let up = duration(status.uptime.as_secs_f64());
    let found = format!("{url} answers after {:.1} ms; up for {up}", took.as_secs_f64() * 1e3);
    let mut findings = vec![match &status.store_error {
        Some(reason) => Finding::bad(
            "coordinator",
            format!("{url} can record nothing: {reason}"),
            "check its disk; it continues by itself",
        ),
        None => Finding::ok("coordinator", found),
    }];
    findings.push(match status.version.as_str() {
        VERSION => Finding::ok("versions", format!("both are {VERSION}")),
        theirs => Finding::warn(
            "versions",
            format!("this is {VERSION}, the coordinator {theirs}"),
            "they understand each other as far as docs/operations/backup.md says; bring them to the same when you can",
        ),
    });
    findings.push(match role {
        Some(role) => Finding::ok("role", format!("you were invited as {role}")),
        None => Finding::ok("role", "the coordinator has no log-in: everybody may do everything"),
    });
    findings.push(clocks(*now, SystemTime::now() - took / 2));
    findings
}

fn clocks(theirs: SystemTime, ours: SystemTime) -> Finding {
    let (gap, here_is) = match ours.duration_since(theirs) {
        Ok(gap) => (gap, "ahead of"),
        Err(error) => (error.duration(), "behind"),
    };
    if gap < CLOCKS {
        return Finding::ok("clock", "the same as the coordinator's");
    }
    let found = format!("{} {here_is} the coordinator's", duration(gap.as_secs_f64()));
    Finding::warn(
        "clock",
        found,
        "set both by NTP; counts are right all the same, times that are shown are not",
    )
}

async fn certificate(route: &Route, is_one_of_several: bool) -> Option<Finding> {
    let whose =
        if is_one_of_several { format!("that of {}", route.uri()) } else { "the coordinator's".to_owned() };
    route.certificate_end().await.ok().flatten().map(|end| ending(&whose, end, SystemTime::now()))
}

fn ending(whose: &str, end: SystemTime, now: SystemTime) -> Finding {
    let day = date(end.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs());
    let renew =
        "make another with 'queens-coordinator certs', or have your authority renew it; no restart is needed";
    let Ok(left) = end.duration_since(now) else {
        return Finding::bad("certificate", format!("{whose} has ended on {day}"), renew);
    };
    let found = format!("{whose} ends on {day}, in {}", duration(left.as_secs_f64()));
    if left < SOON { Finding::warn("certificate", found, renew) } else { Finding::ok("certificate", found) }
}

#[cfg(test)]
mod tests {
    use queens_model::{JobId, JobState};

    use super::*;

    #[test]
    fn clocks_may_differ_by_a_little() {
        let now = UNIX_EPOCH + Duration::from_secs(1_790_000_000);
        let told = |theirs| clocks(theirs, now).line();
        assert_eq!(told(now - Duration::from_secs(1)), "ok    clock        the same as the coordinator's");
        let ahead = told(now - Duration::from_secs(3600));
        assert!(
            ahead.starts_with("warn  clock        1 h 0 min ahead of the coordinator's: set both"),
            "{ahead}"
        );
        let behind = told(now + Duration::from_secs(5));
        assert!(behind.starts_with("warn  clock        5 s behind the coordinator's: set both"), "{behind}");
    }

    #[test]
    fn a_job_that_waits_for_somebody_is_named() {
        let job = |id, waits_for: Option<&str>, state| JobStatus {
            waits_for: waits_for.map(str::to_owned),
            ..JobStatus::new(JobId(id), BoardSize::new(8).expect("a board size"), Method::Search, state)
        };
        let counted = [job(1, None, JobState::Running), job(2, None, JobState::Done)];
        let said = |jobs: &[JobStatus]| of_jobs(jobs, "start one").line();
        assert_eq!(said(&counted), "ok    jobs         none is held up");
        let in_turn = [job(1, Some("its turn: the workers are at other jobs"), JobState::Queued)];
        assert_eq!(said(&in_turn), "ok    jobs         none is held up");
        let alone = [job(1, Some("a worker: none is connected"), JobState::Queued)];
        assert_eq!(said(&alone), "warn  jobs         job 1 waits for a worker: none is connected: start one");
        let party = [job(1, Some("another invitation than 'anna'"), JobState::Verifying)];
        assert!(said(&party).contains("other jobs go on") && !said(&party).contains("block"), "{party:?}");
        let held_up = [
            job(1, None, JobState::Running),
            job(2, Some("'slow'"), JobState::Running),
            job(3, Some("a worker"), JobState::Queued),
        ];
        let line = said(&held_up);
        assert!(
            line.starts_with(
                "warn  jobs         job 2 waits for 'slow', and 1 more wait: its leases go to others"
            ),
            "{line}"
        );
    }

    #[test]
    fn one_of_several_leads() {
        let said = |leaders: &[&str]| {
            leader(&leaders.iter().map(|url| (*url).to_owned()).collect::<Vec<_>>()).line()
        };
        assert_eq!(said(&["http://a:1/"]), "ok    leader       http://a:1/ leads");
        assert!(
            said(&[]).starts_with("BAD   leader       none of the coordinators leads: another takes over")
        );
        let two = said(&["http://a:1/", "http://b:1/"]);
        assert!(
            two.starts_with("BAD   leader       http://a:1/ and http://b:1/ all lead: they are not on"),
            "{two}"
        );
    }

    #[test]
    fn a_certificate_that_ends_soon_wants_to_be_made_anew() {
        let now = UNIX_EPOCH + Duration::from_secs(1_790_000_000);
        let day = Duration::from_secs(86_400);
        let state = |end| ending("the coordinator's", end, now).state;
        assert_eq!(
            [now + 365 * day, now + 29 * day, now - day].map(state),
            [State::Ok, State::Warn, State::Bad]
        );
        let line = ending("the coordinator's", now - day, now).line();
        assert!(line.starts_with("BAD   certificate  the coordinator's has ended on 2026-09-20"), "{line}");
    }
}
