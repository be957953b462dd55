//! Fuzzes the parsers of texts on command lines, in names and in key files.

use std::fmt::{Debug, Display};
use std::fs::File;
use std::io::Write;
use std::num::NonZeroUsize;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use queens_auth::{Pin, Role, Secret, ServerFiles, Token, Trust};
use queens_model::{CoordinatorUrl, JobId, ListenAddress, Name, PartRange, Priority, Share, plain};
use queens_proto::client::endpoint;
use queens_proto::page::WorkersPage;
use queens_solver::boards::{Completion, Given, Notation, Placement, Queen, SearchEnd, completions};
use queens_solver::{BoardSize, Kernel, Method};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::outcome::Outcome;

/// The largest board that is searched for all solutions.
const MOST_SEARCHED: u8 = 7;

/// Parses the input as each kind of text.
pub(crate) fn run(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    shown(&text);
    let read = [
        given(&text),
        placement(&text),
        share(&text),
        url(&text),
        token(&text),
        pem(input),
        is_written_as_it_was_read::<Pin>(&text),
        is_written_as_it_was_read::<Role>(&text),
        is_written_as_it_was_read::<BoardSize>(&text),
        is_written_as_it_was_read::<PartRange>(&text),
        is_written_as_it_was_read::<JobId>(&text),
        is_written_as_it_was_read::<ListenAddress>(&text),
        is_written_as_it_was_read::<Method>(&text),
        is_written_as_it_was_read::<Name>(&text),
        is_written_as_it_was_read::<Priority>(&text),
        is_written_as_it_was_read::<WorkersPage>(&text),
    ];
    Outcome::of(read.contains(&true))
}

/// Checks that an accepted text stays the same when it is written and read again.
fn is_written_as_it_was_read<T>(text: &str) -> bool
where
    T: FromStr<Err: Debug> + Display + Debug + PartialEq,
{
    let Ok(read) = text.parse::<T>() else { return false };
    assert_eq!(read.to_string().parse::<T>().expect("it was written"), read);
    true
}

/// Checks that any text can be shown, and that showing it again changes nothing.
fn shown(text: &str) {
    for shown in [plain::line(text), plain::lines(text)] {
        let is_seen = |c: char| c == '\n' || plain::is_plain(c);
        assert!(shown.chars().all(is_seen), "{shown:?}");
        assert_eq!(plain::lines(&shown), shown);
    }
    let name = Name::of_any(text);
    assert!(name == *"?" || name.as_str().parse() == Ok(name.clone()), "{name:?}");
}

/// Parses squares of queens, and compares three searches of the board with them.
fn given(text: &str) -> bool {
    let Ok(given) = text.parse::<Given>() else { return false };
    assert_eq!(given.to_string().parse(), Ok(given.clone()));
    let stop = AtomicBool::new(false);
    for n in 0..=MOST_SEARCHED {
        let size = BoardSize::new(n).expect("a board size");
        let found = completions(size, &given, Kernel::Portable, NonZeroUsize::MIN, &stop);
        let Ok(mut search) = Completion::new(n.into(), &given, None) else {
            assert!(found.is_err(), "{given} on {n}");
            continue;
        };
        let n_solutions = found.expect("they are on the board").expect("not stopped").solutions;
        match search.solve(&stop) {
            SearchEnd::Found(solution) => {
                assert!(n_solutions > 0, "{given} on {n}: {solution}");
                let queens: Vec<Queen> = solution.queens().collect();
                assert!(given.queens().iter().all(|queen| queens.contains(queen)), "{given} on {n}");
            }
            SearchEnd::None => assert_eq!(n_solutions, 0, "{given} on {n}"),
            SearchEnd::Stopped => panic!("not stopped"),
        }
    }
    true
}

/// Parses a solution, and writes it in the notations that can be read again.
fn placement(text: &str) -> bool {
    let Ok(placement) = text.parse::<Placement>() else { return false };
    for notation in [Notation::Vector, Notation::Json] {
        assert_eq!(placement.written(notation).to_string().parse(), Ok(placement.clone()));
    }
    let given: Given =
        placement.written(Notation::Coordinates).to_string().parse().expect("a valid solution");
    assert_eq!(given.queens().len(), placement.columns().len());
    _ = placement.is_fundamental();
    true
}

/// Parses the URL of a coordinator like a client.
fn url(text: &str) -> bool {
    let Ok(url) = text.parse::<CoordinatorUrl>() else { return false };
    assert_eq!(url.as_str().parse(), Ok(url.clone()));
    _ = endpoint(text);
    true
}

/// Parses a token or a browser's session cookie. Neither is shown by accident.
fn token(text: &str) -> bool {
    if let Ok(token) = text.parse::<Token>() {
        assert_eq!(token.secret(), text);
        assert!(!format!("{token:?}").contains(&text[text.len() - 64..]));
        return true;
    }
    let Some(secret) = Secret::parse(text) else { return false };
    assert!(secret.reveal().eq_ignore_ascii_case(text));
    true
}

/// Parses keys and TLS certificates, like a server, a client and `invite`.
fn pem(input: &[u8]) -> bool {
    if !input.starts_with(b"-----BEGIN ") {
        return false;
    }
    let file = memfd_create("pem", MemfdFlags::CLOEXEC).expect("memory");
    File::from(file.try_clone().expect("a file")).write_all(input).expect("written");
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let pin = Pin::of_file(&path);
    let files = ServerFiles { certificate: path.clone(), key: path.clone(), older_tls: true };
    if let Ok(loaded) = files.load() {
        assert_eq!(Some(loaded.pin), pin.as_ref().ok().copied());
    }
    _ = Trust::Authorities(path.clone()).config(&[b"h2"], Some((&path, &path)));
    pin.is_ok()
}

/// Parses a share, which is shown with a sign that is optional in the input.
fn share(text: &str) -> bool {
    let Ok(share) = text.parse::<Share>() else { return false };
    let shown = share.to_string();
    assert_eq!(shown.trim_end_matches(" %").parse(), Ok(share));
    assert_eq!(Share::of_ppm(share.ppm()), Ok(share));
    true
}
