//! Invitations behave alike in a data directory and in PostgreSQL, where all coordinators of a database share them.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;

use queens_auth::{Pin, Proof, Role};
use queens_coordinator::{InvitationStore, NewInvitation, PublishedAddress};
use queens_model::{AuditEntry, Name, Party};
use queens_store::postgres::StoreLocation;
use queens_store::postgres::{Contact, LeaderCandidate, Server};
use queens_tests::prelude::*;

fn name(number: usize) -> Name {
    format!("w{number}").parse().expect("a name")
}

fn workers(n_names: u32) -> NewInvitation {
    NewInvitation { role: Role::Worker, label: None, expires_ms: None, n_names }
}

fn server(address: &str) -> StoreLocation {
    StoreLocation::Server(Server::new(address, None, None).expect("an address"))
}

/// A property of a new invitation store.
type Check = fn(&StoreLocation);

fn open(whereabouts: &StoreLocation) -> InvitationStore {
    InvitationStore::open(whereabouts).expect("a book")
}

/// Runs checks on both kinds of stores, new ones each time.
#[test]
fn the_same_holds_of_a_directory_and_of_a_database() {
    let checks: [(&str, Check); 5] = [
        ("versions", check_versions),
        ("names", check_names),
        ("keys", check_keys),
        ("given", check_given),
        ("decisions", check_decisions),
    ];
    for (_, check) in &checks {
        let dir = TempDir::new();
        check(&StoreLocation::Directory(dir.path().to_owned()));
    }
    let Some(postgres) = Postgres::start("fsync = off") else { return };
    for (name, check) in checks {
        check(&server(&postgres.database(name)));
    }
}

/// Returns the party of an invitation.
fn party(book: &mut InvitationStore, number: u64) -> Party {
    let all = book.invitations().expect("readable");
    all.iter().find(|invitation| invitation.number == number).expect("it is there").party
}

/// A reader of invitations and names learns of others' changes, and not of its own.
fn check_versions(place: &StoreLocation) {
    let [mut one, mut other] = [(); 2].map(|()| open(place));
    let number = one.invite(&workers(2), 0).expect("invited").invitation();
    let known = [&mut one, &mut other].map(|book| book.version().expect("readable"));
    let party = party(&mut one, number);
    assert!(one.bind(&[(party, name(1)), (party, name(2))]).expect("writable").iter().all(Result::is_ok));
    assert_eq!(one.version().expect("readable"), known[0]);
    let later = other.version().expect("readable");
    assert_ne!(later, known[1]);
    one.revoke(number).expect("revoked");
    let last = other.version().expect("readable");
    assert!(last != later && last == other.version().expect("readable"));
    assert_eq!(one.version().expect("readable"), known[0]);
    other.invite(&workers(1), 0).expect("invited");
    assert_ne!(one.version().expect("readable"), known[0]);
}

/// A name is bound to one invitation, which has a limited number of names.
fn check_names(place: &StoreLocation) {
    let book = &mut open(place);
    let invite = |book: &mut InvitationStore, n| {
        let number = book.invite(&workers(n), 0).expect("invited").invitation();
        party(book, number)
    };
    let [one, other] = [(); 2].map(|()| invite(book, 12));
    // The last but one is its own already, and the last exceeds its limit.
    let wanted: Vec<_> = (0..12).chain([3, 12]).map(|number| (one, name(number))).collect();
    let bound = book.bind(&wanted).expect("writable");
    let refused: Vec<usize> = (0..wanted.len()).filter(|&at| bound[at].is_err()).collect();
    assert_eq!(refused, [13]);
    let refused = |book: &mut InvitationStore, party, number| {
        let bound = book.bind(&[(party, name(number))]).expect("writable");
        bound.into_iter().map(|one| one.expect_err("refused").to_string()).collect::<String>()
    };
    let full = refused(book, one, 12);
    assert!(full.contains("not for a worker named 'w12'") && full.contains("'w0', "), "{full}");
    assert!(full.ends_with(" and 2 more"), "{full}");
    assert!(refused(book, other, 3).contains("belongs to invitation 1"));
    assert!(refused(book, Party::from_bytes([77; 16]), 50).contains("the invitation is gone"));
    let names = book.names().expect("readable");
    assert!(names.len() == 12 && names.values().all(|&party| party == one), "{names:?}");
    // More than one query's batch, of several invitations; one has too few.
    let [few, many] = [50, 500].map(|n| invite(book, n));
    let wanted: Vec<_> = (100..700).map(|n| (if n % 2 == 0 { few } else { many }, name(n))).collect();
    let bound = book.bind(&wanted).expect("writable");
    let n_bound = |invitation| {
        wanted.iter().zip(&bound).filter(|((to, _), it)| *to == invitation && it.is_ok()).count()
    };
    assert_eq!((n_bound(few), n_bound(many)), (50, 300));
    assert_eq!(book.names().expect("readable").len(), 12 + 350);
}

/// A key belongs to one person at a time.
fn check_keys(place: &StoreLocation) {
    let book = &mut open(place);
    let [key, other] = ["0", "1"].map(|digit| format!("sha256:{}", digit.repeat(64)));
    let [key, other]: [Pin; 2] = [key, other].map(|text| text.parse().expect("a pin"));
    let wanted = NewInvitation { role: Role::Viewer, label: None, expires_ms: Some(1000), n_names: 1 };
    assert_eq!(book.invite_key(&wanted, key, 0).expect("invited"), 1);
    assert_eq!(book.invite_key(&wanted, other, 0).expect("invited"), 2);
    let refused = book.invite_key(&wanted, key, 999).expect_err("it goes on").to_string();
    assert!(refused.contains("invitation 1"), "{refused}");
    let later = NewInvitation { expires_ms: None, ..wanted };
    assert_eq!(book.invite_key(&later, key, 1000).expect("it has expired"), 3);
    book.revoke(3).expect("revoked");
    assert_eq!(book.invite_key(&later, key, 1000).expect("it was revoked"), 4);
    assert!(book.revoke(5).expect_err("there is none").to_string().contains("no invitation 5"));
    let all = book.invitations().expect("readable");
    assert_eq!(all.iter().map(|one| one.proof).collect::<Vec<_>>(), [key, other, key, key].map(Proof::Key));
}

/// A given name passes to another invitation after the first one's end, if the token is known.
fn check_given(place: &StoreLocation) {
    let book = &mut open(place);
    let label = Some("ann".parse().expect("a name"));
    let wanted = NewInvitation { label, expires_ms: Some(1000), ..workers(1) };
    let token = book.invite(&wanted, 0).expect("invited");
    let found = book.invitations().expect("readable");
    assert!(found[0].check_token(&token, 999).is_ok() && found[0].label == wanted.label, "{found:?}");
    let taken = book.invite(&wanted, 999).expect_err("it is hers").to_string();
    assert!(taken.contains("'ann' belongs to invitation 1"), "{taken}");
    let later = NewInvitation { expires_ms: None, ..wanted };
    let number = book.invite(&later, 1000).expect("it has expired").invitation();
    assert_eq!(book.names().expect("readable").into_values().collect::<Vec<_>>(), [party(book, number)]);
    assert_eq!(book.invitations().expect("readable").len(), 2);
}

/// The latest entries of both kinds are kept, however many one kind has.
fn check_decisions(place: &StoreLocation) {
    let book = &mut open(place);
    let some = |what: &str, is_refusal: bool| -> Vec<(bool, AuditEntry)> {
        let one = |i| {
            let decision = AuditEntry {
                number: 0,
                at_ms: i,
                who: "invitation 1".to_owned(),
                party: Some(Party::from_bytes([7; 16])),
                role: "operator".to_owned(),
                peer: "10.0.0.1".to_owned(),
                what: format!("{what} {i}"),
                outcome: "done\0".to_owned(),
            };
            (is_refusal, decision)
        };
        (0..10_000).map(one).collect()
    };
    (0..11).for_each(|_| book.note(&some("cancel job", false)).expect("written"));
    (0..3).for_each(|_| book.note(&some("knock", true)).expect("written"));
    let mut found: Vec<AuditEntry> = Vec::new();
    loop {
        let page = book.audit_entries(found.last().map(|last| last.number), true).expect("read");
        assert!(page.len() <= 1000);
        if page.is_empty() {
            break;
        }
        found.extend(page);
    }
    assert!(found.windows(2).all(|two| two[0].number > two[1].number));
    let (refusals, audit_entries): (Vec<_>, Vec<_>) =
        found.iter().partition(|one| one.what.starts_with("knock"));
    assert!((10_000..11_000).contains(&refusals.len()), "{}", refusals.len());
    assert!((100_000..101_000).contains(&audit_entries.len()), "{}", audit_entries.len());
    let without = book.audit_entries(None, false).expect("read");
    let latest = (without.len(), without[0].number);
    assert_eq!(latest, (1000, 110_000), "decisions are not lost among refusals");
    assert_eq!((found[0].what.as_str(), audit_entries[0].number), ("knock 9999", 110_000));
}

/// Concurrent writers, even without tables: numbers differ, a name is bound once, and a key belongs to one person.
/// Tables of jobs stay, or are created later.
#[test]
fn what_is_one_person_s_stays_so_whoever_writes() {
    let Some((postgres, address)) = Postgres::with_database("fsync = off", "many") else { return };
    let jobs = || {
        let server = Server::new(&address, None, None).expect("an address");
        let contact = Contact { url: "here".to_owned(), pages: None };
        drop(LeaderCandidate::new(server, contact, Path::new(".")).lead().expect("opens"));
    };
    jobs();
    let place = server(&address);
    let at_once = |work: &(dyn Fn(&mut InvitationStore, usize) -> Vec<String> + Sync)| -> Vec<String> {
        thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|i| (i, open(&place)))
                .map(|(i, mut book)| scope.spawn(move || work(&mut book, i)))
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
        })
    };
    let invited =
        at_once(&|book, _| vec![book.invite(&workers(1000), 0).expect("invited").invitation().to_string()]);
    assert_eq!(invited.iter().collect::<BTreeSet<_>>().len(), 4, "{invited:?}");
    let numbers: Vec<u64> = invited.iter().map(|number| number.parse().expect("a number")).collect();
    let parties: Vec<Party> = numbers.iter().map(|&number| party(&mut open(&place), number)).collect();
    let bound = at_once(&|book, i| {
        let wanted: Vec<_> = (0..500).map(|n| (parties[i], name((n * 7 + i * 100) % 500))).collect();
        let mut bound = vec![];
        for portion in wanted.chunks(50) {
            let done = book.bind(portion).expect("writable");
            let mine = portion.iter().zip(done).filter(|(_, done)| done.is_ok());
            bound.extend(mine.map(|((_, name), _)| name.to_string()));
        }
        bound
    });
    assert_eq!((bound.len(), bound.iter().collect::<BTreeSet<_>>().len()), (500, 500));
    let key: Pin = format!("sha256:{}", "a".repeat(64)).parse().expect("a pin");
    let with_key = at_once(&|book, _| {
        book.invite_key(&workers(1), key, 0).map(|number| number.to_string()).into_iter().collect()
    });
    assert_eq!(with_key.len(), 1, "{with_key:?}");
    jobs();
    let version =
        postgres.sql("many", "UPDATE queens.invitation_store SET version = 2; SELECT 1").expect("writes");
    let refused = open(&place).invitations().expect_err("a newer program's").to_string();
    assert!(refused.contains("of version 2, and this program knows 1"), "{version} {refused}");
}

/// Runs `queens-coordinator` with these arguments on a database; returns its output.
#[track_caller]
fn manage(address: &str, args: &[&str]) -> String {
    queens_coordinator(&[args, &["--store", address]].concat()).good().stdout
}

fn worker(coordinator: &Guarded, token: &str, name: &str) -> Running {
    let mut command = worker_command(&coordinator.url(), name, Kernel::best());
    command.arg("--ca").arg(coordinator.authority()).env("QUEENS_TOKEN", token);
    Running::start_silent(command)
}

/// A person invited by command can log in at any leader, under the same name, until the invitation is revoked.
#[test]
fn who_is_invited_gets_in_wherever_the_lead_is() {
    let Some((_postgres, address)) = Postgres::with_database("", "pair") else { return };
    let start = || Guarded::new(&["--store", &address]);
    // Before there is a coordinator, and then beside one.
    let refused = queens_coordinator(&["invite", "--role", "worker", "--store", &address]);
    assert!(
        refused.complaint(1).contains("no coordinator that keeps invitations has been started"),
        "{refused:?}"
    );
    let token = token_in(&manage(&address, &["invite", "--new", "--role", "worker"]));
    let first = start();
    let line = manage(&address, &["invite", "--role", "viewer"]);
    let of_first = format!(" queens jobs --coordinator {} --pin sha256:", first.url());
    assert!(line.contains(&of_first) && !line.contains(','), "{line}");
    let mut early = worker(&first, &token, "anna");
    let is_listed = || manage(&address, &["invitations"]).contains("1  worker  open  1 of 1 names: 'anna'");
    wait_for("the worker", is_listed);
    let place = first.url();
    drop(first);
    early.signal("KILL");
    let second = start();
    let mut other = worker(&second, &token, "berta");
    wait_for("the end of who uses another name", || !other.is_running());
    let log = second.coordinator().log();
    assert!(log.contains("is not for a worker named 'berta': its names are 'anna'"), "{log}");
    let mut anna = worker(&second, &token, "anna");
    let operator = second.invite(["--role", "operator", "--store", &address]);
    wait_for("the worker at the other", || second.queens(&operator, ["workers"]).stdout.contains("anna"));
    assert!(is_listed(), "still there");
    // The output for new invitations names both coordinators.
    let line = manage(&address, &["invite", "--role", "viewer"]);
    let mut urls = [place, second.url()];
    urls.sort();
    assert!(line.contains(&format!("--coordinator {} --pin sha256:", urls.join(","))), "{line}");
    let pins = line.split_once("--pin ").expect("pins").1.trim_end();
    assert!(pins.split(',').collect::<BTreeSet<_>>().len() == 2, "{pins}");
    assert!(anna.is_running());
    let answer = manage(&address, &["revoke", "1"]);
    assert!(answer.contains("invitation 1 is revoked"), "{answer}");
    wait_for("the worker's end", || !anna.is_running());
}

/// While the database is away, known users stay authenticated, and others must wait; later, everything continues.
#[test]
fn who_was_known_is_known_while_the_database_is_away() {
    let Some((mut postgres, address)) = Postgres::with_database("", "away") else { return };
    let Scenario { scratch: _scratch, coordinator, .. } =
        Scenario::with(["--http", "127.0.0.1:0", "--require-tokens", "--store", &address]);
    // None from a coordinator that just loses its lead.
    let try_ask = |method, path, token: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        http::try_request(&coordinator.http(), method, path, &headers, "{\"n\":8}")
    };
    // While it finds that it leads no more, and until it leads again, it answers that it stands by.
    let ask = |method, path, token: &str| {
        wait_until("a leader's answer", || {
            try_ask(method, path, token).filter(|answer| !answer.body.contains("stands by"))
        })
    };
    let invite = |role| token_in(&manage(&address, &["invite", "--role", role]));
    let [known, operator, by_hand] = ["viewer", "operator", "viewer"].map(invite);
    assert_eq!(ask("GET", "/api/v1/jobs", &known).status, 200);
    let unknown = known.replace("queens_1_", "queens_77_");
    assert_eq!(ask("GET", "/api/v1/jobs", &unknown).status, 401);
    let said = |what| coordinator.log().matches(what).count();
    // A coordinator without its database for longer than its term is no longer the leader, and authenticates nobody. If
    // this machine is too slow for the requests meanwhile, the database goes away once more.
    let mut was_quick = false;
    for _ in 0..20 {
        let (n_lost, n_complaints) = (said("leads no more"), said("those known before are gone by"));
        postgres.kill();
        wait_for("a complaint", || said("those known before are gone by") > n_complaints);
        let answers = [&known, &unknown].map(|token| try_ask("GET", "/api/v1/jobs", token));
        // The log may be read later than the answers.
        let stands_by = |answer: &http::Answer| answer.body.contains("stands by");
        let has_lost = said("leads no more") > n_lost || answers.iter().flatten().any(stands_by);
        if let ([Some(admitted), Some(refused)], false) = (&answers, has_lost) {
            was_quick = true;
            assert_eq!((admitted.status, refused.status), (200, 503));
            assert!(refused.json().to_string().contains("can't be read at present"), "{}", refused.json());
            let revoke = queens_coordinator(&["revoke", "1", "--store", &address]);
            assert!(revoke.complaint(1).contains("cannot use database 'away' on 127.0.0.1:"), "{revoke:?}");
        }
        postgres.run();
        wait_until("it to go on", || {
            try_ask("GET", "/api/v1/jobs", &unknown).filter(|answer| answer.status == 401).map(drop)
        });
        if was_quick {
            break;
        }
    }
    assert!(was_quick, "it never led for long enough: {}", coordinator.log());
    let answer = ask("GET", "/api/v1/jobs", &invite("viewer"));
    assert_eq!(answer.status, 200, "{}", answer.body);
    // A manual change takes effect as well, and actions are recorded.
    assert_eq!(ask("GET", "/api/v1/jobs", &by_hand).status, 200);
    postgres.sql("away", "UPDATE queens.invitation SET revoked = 1 WHERE number = 3").expect("writes");
    wait_for("the end of it", || ask("GET", "/api/v1/jobs", &by_hand).status == 401);
    assert_eq!(ask("POST", "/api/v1/jobs", &operator).status, 201);
    // An answer waits only briefly for its entry.
    wait_for("the decision", || {
        let recorded = postgres.sql("away", "SELECT who, what FROM queens.audit WHERE refusal = 0");
        recorded.expect("reads") == "invitation 2|submit n = 8 by search, priority 0"
    });
}

/// Invitations, names and audit entries move with the jobs, unchanged.
#[test]
fn who_was_invited_is_moved_with_the_jobs() {
    let Some(postgres) = Postgres::start("fsync = off") else { return };
    let scratch = TempDir::new();
    let dir = |name: &str| utf8(&scratch.join(name)).to_owned();
    let (old, new) = (dir("old"), dir("new"));
    let from = StoreLocation::Directory((&old).into());
    // A coordinator creates the directory.
    Coordinator::start(Path::new(&old)).stop();
    let mut book = open(&from);
    let token = book.invite(&workers(2), 5).expect("invited");
    let key = format!("sha256:{}", "b".repeat(64)).parse().expect("a pin");
    let label = Some("ann".parse().expect("a name"));
    let wanted = NewInvitation { role: Role::Viewer, label, expires_ms: Some(u64::MAX >> 1), n_names: 1 };
    book.invite_key(&wanted, key, 6).expect("invited");
    let of_first = party(&mut book, 1);
    assert!(book.bind(&[(of_first, name(1))]).expect("writable")[0].is_ok());
    let decision = AuditEntry {
        number: 0,
        at_ms: 7,
        who: "invitation 2 (ann)".to_owned(),
        party: Some(Party::from_bytes([9; 16])),
        role: "operator".to_owned(),
        peer: "10.0.0.1".to_owned(),
        what: "cancel job 1".to_owned(),
        outcome: "done".to_owned(),
    };
    book.note(&[(false, decision)]).expect("written");
    book.note_place(&PublishedAddress {
        url: Some("https://here:1".to_owned()),
        ..PublishedAddress::default()
    })
    .expect("written");
    let contents = |whereabouts: &StoreLocation| {
        let mut book = open(whereabouts);
        let audit_entries = book.audit_entries(None, true).expect("readable");
        (book.invitations().expect("readable"), book.names().expect("readable"), audit_entries)
    };
    let (invitations, names, audit_entries) = contents(&from);
    assert_eq!((invitations.len(), names.len(), audit_entries.len()), (2, 1, 1));
    let address = postgres.database("moved");
    let there = server(&address);
    let moved = |from: &str, to: &str| queens_coordinator(&["move", "--from", from, "--to", to]);
    let answer = moved(&old, &address);
    assert!(answer.stdout.starts_with("0 jobs with 0 records and 2 invitations are in"), "{answer:?}");
    assert_eq!(contents(&there), contents(&from));
    assert_eq!(open(&there).places().expect("readable"), [], "each coordinator notes its own");
    // Names move with their invitation, and its numbering continues.
    assert!(contents(&there).0[0].check_token(&token, 5).is_ok());
    assert!(
        open(&there)
            .bind(&[(of_first, name(1)), (of_first, name(2))])
            .expect("writable")
            .iter()
            .all(Result::is_ok)
    );
    assert_eq!(open(&there).invite(&workers(1), 0).expect("invited").invitation(), 3);
    let again = moved(&old, &address);
    let occupied = format!("there are invitations in the database 'moved' on {}", address_of(&address));
    assert!(again.complaint(1).contains(&occupied), "{again:?}");
    let back = moved(&address, &new);
    assert!(back.stdout.contains("and 3 invitations are in"), "{back:?}");
    let new_place = StoreLocation::Directory((&new).into());
    assert_eq!(contents(&new_place), contents(&there));
    assert_eq!(open(&new_place).invite(&workers(1), 0).expect("invited").invitation(), 4);
    // A store without invitations does not block the move.
    let (plain, other) = (dir("plain"), dir("other"));
    Coordinator::start(Path::new(&plain)).stop();
    let answer = moved(&plain, &other);
    assert!(answer.stdout.starts_with("0 jobs with 0 records are in the new place"), "{answer:?}");
}

/// Returns host and port of a database's address.
fn address_of(address: &str) -> &str {
    address.rsplit_once('@').and_then(|(_, rest)| rest.split_once('/')).expect("an address").0
}
