//! A rehearsal of a campaign, with everything that its operator has to do: strangers join by a link, one of them lies
//! under two names, the database goes back to a dump, the leader is killed, workers are drained, and all coordinators
//! are replaced one by one. It ends with certificates of both parts, which somebody else merges and checks.
//!
//! With the environment variable `QUEENS_CAMPAIGN`, for example 21, it counts that many queens by the fastest kernel.
//! `--nocapture` prints the transcript, which `.ci/long` keeps in `target`.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::{env, fs};

use queens_solver::{BoardSize, Method, Plan};
use queens_tests::liar::Liar;
use queens_tests::prelude::*;
use std::process::Command;

/// The people who join. The last one lies.
const PEOPLE: [&str; 10] =
    ["anna", "bert", "carol", "dora", "emil", "fritz", "gerda", "hanna", "ida", "mallory"];

/// Those who start workers, and how many each starts. In full, everybody does.
const COUNTING: [&str; 5] = ["anna", "carol", "dora", "ida", "mallory"];
const N_EACH: usize = 2;

/// Of a hundred spans, the liar falsifies about this many.
const LIES: u64 = 5;

/// The limit of a wait, far longer than any takes.
const LIMIT: Duration = Duration::from_secs(3000);

/// The jobs: each counts a part of the board.
const JOBS: [&str; 2] = ["1", "2"];

struct Rehearsal {
    began: Instant,
    postgres: Postgres,
    scratch: TempDir,
    ports: [[Port; 2]; 2],
    coordinators: [Option<Service>; 2],
    operator: String,
}

impl Rehearsal {
    fn dir(&self, number: usize) -> std::path::PathBuf {
        self.scratch.join(format!("coordinator-{number}"))
    }

    fn store(&self) -> String {
        self.postgres.address_of("campaign")
    }

    fn url(&self, number: usize) -> String {
        format!("http://{}", self.ports[number][0].address())
    }

    fn urls(&self) -> String {
        [self.url(0), self.url(1)].join(",")
    }

    /// Starts a coordinator. The second one stands by.
    fn start(&mut self, number: usize) {
        let [listen, pages] = &self.ports[number];
        let mut command = with_store(&listen.address(), &self.dir(number), &self.store());
        command.args(["--require-tokens", "--url", &self.url(number)]);
        command.args(["--http", &pages.address(), "--public"]);
        let log = self.scratch.join(format!("log-{number}"));
        self.coordinators[number] = Some(Service::start(command, &log));
    }

    /// Waits until a coordinator leads.
    fn wait_for_lead(&self, number: usize) {
        let address = self.ports[number][1].address();
        let is_ready = || {
            std::net::TcpStream::connect(&address).ok()?;
            (http::get(&address, "/readyz").body.trim() == "ready").then_some(())
        };
        wait_at_most(LIMIT, "a leader", is_ready);
    }

    fn coordinator(&mut self, number: usize) -> Service {
        self.coordinators[number].take().expect("it runs")
    }

    /// Runs a command on the store as part of the transcript.
    #[track_caller]
    fn manage(&self, args: &str) -> String {
        let ended = self.on_store(args);
        say(format!("$ queens-coordinator {args} --store …\n{}{}", ended.stdout, ended.stderr).trim_end());
        ended.stdout
    }

    #[track_caller]
    fn on_store(&self, args: &str) -> Ended {
        let store = self.store();
        let args: Vec<&str> = args.split(' ').chain(["--store", &store]).collect();
        queens_coordinator(&args).good()
    }

    /// Runs `queens` for the operator.
    fn ask(&self, args: &str) -> Ended {
        let mut command = queens(args.split(' '));
        command.args(["--coordinator", &self.urls()]).env("QUEENS_TOKEN", &self.operator);
        command.current_dir(self.scratch.path());
        run(command)
    }

    fn json(&self, args: &str) -> Value {
        self.ask(&format!("{args} --output json")).answer()
    }

    /// Runs it as part of the transcript.
    #[track_caller]
    fn show(&self, args: &str) -> String {
        shown(&format!("queens {args}"), self.ask(args))
    }

    /// Waits until this share of both jobs is counted.
    #[track_caller]
    fn wait_for(&self, share: f64) -> String {
        let counted = || {
            // Between two leaders nobody answers.
            let fraction = |job: &str| {
                let asked = self.ask(&format!("status {job} --output json"));
                asked.status.success().then(|| asked.answer())?["fraction"].as_f64()
            };
            let fractions: Option<Vec<f64>> = JOBS.iter().map(|job| fraction(job)).collect();
            Some(fractions?.iter().sum::<f64>() / JOBS.len() as f64).filter(|counted| *counted >= share)
        };
        let counted = wait_at_most(LIMIT, "progress", counted);
        assert!(counted < 1.0, "too late: all is counted");
        format!("at {:.0} %", 100.0 * counted)
    }

    fn tell(&self, what: &str) {
        say(&format!("# {:.1} s: {what}", self.began.elapsed().as_secs_f64()));
    }
}

/// Prints a command and its output, and returns the output.
#[track_caller]
fn shown(command: &str, ended: Ended) -> String {
    assert!(ended.status.success(), "{command}: {ended:?}");
    say(&format!("$ {command}\n{}", ended.stdout.trim_end()));
    ended.stdout
}

fn worker(urls: &str, token: &str, name: &str, kernel: Kernel) -> Running {
    let mut command = clean(Command::new("nice"));
    let worker = worker_command(urls, name, kernel);
    command.args(["-n", "5"]).arg(worker.get_program()).args(worker.get_args()).env("QUEENS_TOKEN", token);
    if kernel == Kernel::Portable {
        // There is time for each fault on any machine.
        command.args(["--cpu", "1"]);
    }
    Running::start_silent(command)
}

/// Returns the name of a person's worker: the first has that of the person.
fn name_of(person: &str, number: usize) -> String {
    if number == 1 { person.to_owned() } else { format!("{person}-{number}") }
}

/// Returns the number of the board's parts.
fn n_parts(n: u8) -> usize {
    let n = BoardSize::new(n).expect("a board size");
    let plan = Plan::new(n, Method::Search, NonZeroUsize::MIN, &AtomicBool::new(false));
    plan.expect("not stopped").parts().len()
}

#[test]
fn a_campaign_survives_what_happens_to_it() {
    // On a small board, a small share of recounts would miss the few lies.
    let (n, kernel, recount) = match env::var("QUEENS_CAMPAIGN") {
        Ok(n) => (n.parse().expect("QUEENS_CAMPAIGN is a number of queens"), Kernel::best(), 10),
        Err(_) => (16, Kernel::Portable, 100),
    };
    let Some(postgres) = Postgres::start("fsync = off") else { return };
    _ = postgres.database("campaign");
    let mut rehearsal = Rehearsal {
        began: Instant::now(),
        postgres,
        scratch: TempDir::new(),
        ports: [(); 2].map(|()| [(); 2].map(|()| Port::draw())),
        coordinators: [None, None],
        operator: String::new(),
    };
    rehearsal.start(0);
    rehearsal.wait_for_lead(0);
    // All coordinators of a database sign with one key.
    fs::create_dir_all(rehearsal.dir(1)).expect("created");
    let key =
        |from: &Path, args: &[&str]| queens_coordinator(&[&["key", "--data-dir", utf8(from)], args].concat());
    let signing = rehearsal.dir(0).join("signing.key");
    _ = key(&rehearsal.dir(1), &["--from", utf8(&signing)]).good();
    rehearsal.start(1);
    let invited = rehearsal.on_store("invite --role operator").stdout;
    rehearsal.operator = token_in(&invited);

    // Ten people join.
    let opened = rehearsal.on_store("campaign open --most-people 10 --names-each 2");
    let (code, pages) = (code_in(&opened.stdout), rehearsal.ports[0][1].address());
    let tokens: BTreeMap<&str, String> =
        PEOPLE.into_iter().map(|name| (name, join(&pages, code, name))).collect();
    let full = json!({ "name": "late" }).to_string();
    let late = http::post(&pages, &format!("/api/v1/join/{code}"), &full);
    assert_eq!(late.status, 409, "{late:?}");
    let liars = [0, 1].map(|number| Liar::start(&rehearsal.url(number), LIES));
    let lying = liars.iter().map(Liar::url).collect::<Vec<_>>().join(",");
    let urls = rehearsal.urls();
    let start = |person: &str, number: usize| {
        let urls = if person == "mallory" { &lying } else { &urls };
        let name = name_of(person, number);
        (name.clone(), worker(urls, &tokens[person], &name, kernel))
    };
    let counting = if env::var_os("QUEENS_CAMPAIGN").is_some() { &PEOPLE[..] } else { &COUNTING };
    let mut workers: BTreeMap<String, Running> =
        counting.iter().flat_map(|person| (1..=N_EACH).map(|number| start(person, number))).collect();
    let n_connected = || {
        let workers = rehearsal.json("workers");
        let workers = workers.as_array().expect("an array").iter();
        workers.filter(|worker| worker["connected"] == true).count()
    };
    wait_at_most(LIMIT, "all workers", || (n_connected() == workers.len()).then_some(()));
    rehearsal.began = Instant::now();
    rehearsal.tell(&format!(
        "ten people have joined by a link; {} of them have two workers of one thread each and the {} kernel; an eleventh \
         is refused; mallory's two lie in {LIES} % of their spans; one coordinator leads, one stands by",
        counting.len(),
        kernel.name()
    ));
    let half = n_parts(n) / 2;
    let all = n_parts(n);
    for parts in [format!("0..{half}"), format!("{half}..{all}")] {
        rehearsal.show(&format!("submit {n} --method search --parts {parts} --recount {recount} --yes"));
    }

    let when = rehearsal.wait_for(0.1);
    let dump = rehearsal.postgres.dump("campaign");
    rehearsal.tell(&format!("{when} pg_dump copies the database"));
    let when = rehearsal.wait_for(0.25);
    for number in [1, 0] {
        rehearsal.coordinator(number).stop();
    }
    rehearsal.tell(&format!("{when} both coordinators are stopped, and the database goes back to the copy"));
    rehearsal.postgres.put_back("campaign", &dump);
    rehearsal.manage("restore --keep-invitations");
    rehearsal.start(0);
    rehearsal.wait_for_lead(0);
    rehearsal.start(1);
    rehearsal.tell("they run again");

    let when = rehearsal.wait_for(0.4);
    rehearsal.coordinator(0).kill();
    rehearsal.tell(&format!("{when} the leader is killed (SIGKILL)"));
    rehearsal.wait_for_lead(1);
    rehearsal.tell("the other one leads");
    rehearsal.start(0);

    let when = rehearsal.wait_for(0.55);
    let is_back = || {
        let asked = rehearsal.ask("workers --output json");
        let workers = asked.status.success().then(|| asked.answer())?;
        let mut workers = workers.as_array()?.iter();
        workers.any(|worker| worker["name"] == "carol-2" && worker["connected"] == true).then_some(())
    };
    wait_at_most(LIMIT, "carol-2", is_back);
    rehearsal.show("workers drain carol-2");
    let mut drained = workers.remove("carol-2").expect("it was started");
    assert!(drained.wait_for_end().success(), "a drained worker ends well");
    rehearsal.tell(&format!("{when} carol-2 is drained, and has ended"));

    let when = rehearsal.wait_for(0.65);
    rehearsal
        .tell(&format!("{when} all programs are replaced: the leader, then the other, then dora's workers"));
    rehearsal.coordinator(1).stop();
    rehearsal.wait_for_lead(0);
    rehearsal.start(1);
    for number in 1..=N_EACH {
        let name = name_of("dora", number);
        let mut old = workers.remove(&name).expect("it was started");
        old.signal("TERM");
        assert!(old.wait_for_end().success(), "{name} ends well");
        workers.extend([start("dora", number)]);
    }
    rehearsal.tell("the new ones run");

    for job in JOBS {
        let is_done = || {
            let asked = rehearsal.ask(&format!("status {job} --output json"));
            asked.status.success().then(|| asked.answer()).filter(|status| status["state"] == "done")
        };
        wait_at_most(LIMIT, "the end", is_done);
    }
    let seconds = rehearsal.began.elapsed().as_secs();
    let (n_spans, n_lies) =
        (liars.iter().map(Liar::n_spans).sum::<usize>(), liars.iter().map(Liar::n_lies).sum::<usize>());
    rehearsal
        .tell(&format!("all is counted. Of {n_spans} spans that mallory reported, {n_lies} were falsified"));
    assert!(n_lies > 0, "nobody has lied");
    rehearsal.show("jobs");
    check_the_liar(&rehearsal);
    drop(workers);
    check_the_proof(rehearsal, n, key);
    say(&format!("# Q({n}) took {seconds} s"));
}

/// Checks that only the liar has lost disputes.
fn check_the_liar(rehearsal: &Rehearsal) {
    let is_liar = |name: &Value| name.as_str().is_some_and(|name| name.starts_with("mallory"));
    let mut n_verdicts = 0;
    for job in JOBS {
        let verdicts = rehearsal.json(&format!("verdicts {job}"));
        let verdicts = verdicts.as_array().expect("an array");
        n_verdicts += verdicts.len();
        assert!(verdicts.iter().all(|verdict| is_liar(&verdict["lost_worker"])), "{verdicts:?}");
    }
    assert!(n_verdicts > 0, "nobody was caught");
    let workers = rehearsal.json("workers");
    let blocked: Vec<&Value> =
        workers.as_array().expect("an array").iter().filter(|worker| worker["state"] == "blocked").collect();
    assert!(!blocked.is_empty() && blocked.iter().all(|worker| is_liar(&worker["name"])), "{workers}");
    rehearsal.tell(&format!(
        "{n_verdicts} verdicts, all against mallory; {} of mallory's workers are blocked, and nobody else's",
        blocked.len()
    ));
    let people = http::get(&rehearsal.ports[0][1].address(), "/api/v1/people").json();
    assert_eq!(people["n_people"], PEOPLE.len(), "{people}");
}

/// Merges the certificates of both parts and checks the result, with nothing but the files and the key.
fn check_the_proof(mut rehearsal: Rehearsal, n: u8, key: impl Fn(&Path, &[&str]) -> Ended) {
    for job in JOBS {
        let args = format!("export {job} part-{job}.certificate");
        let export = || Some(rehearsal.ask(&args)).filter(|ended| ended.status.success());
        shown(&format!("queens {args}"), wait_at_most(LIMIT, "a certificate", export));
    }
    let key = shown("queens-coordinator key", key(&rehearsal.dir(0), &[]));
    let elsewhere = TempDir::new();
    for job in JOBS {
        let name = format!("part-{job}.certificate");
        fs::copy(rehearsal.scratch.join(&name), elsewhere.join(&name)).expect("copied");
    }
    for number in [1, 0] {
        rehearsal.coordinator(number).stop();
    }
    rehearsal.tell("the coordinators end, and somebody else has both certificates in an empty directory");
    let there = |args: &str| {
        shown(&format!("queens {args}"), run(queens(args.split(' ')).current_dir(elsewhere.path())))
    };
    there(&format!("merge --out q{n}.certificate part-1.certificate part-2.certificate"));
    let checked = there(&format!("check q{n}.certificate --share 1 --key {}", key.trim()));
    assert!(checked.contains(&solutions(n)) && !checked.contains("sample: 0 of"), "{checked}");
}
