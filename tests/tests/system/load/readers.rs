//! The cost of readers of public pages, and of people who join meanwhile, for a coordinator under load.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use queens_auth::Credentials;
use queens_proto::client::{Route, endpoint};
use queens_tests::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use super::worker::Worker;
use super::{Load, alone, begin};

const LOAD: Load = Load {
    n: 27,
    n_workers: 1000,
    n_threads: 1,
    period: Duration::from_secs(1),
    measured: Duration::from_secs(60),
    slowest: Duration::from_millis(250),
    most_mib: 512,
};

/// People before the measurement: with those who join meanwhile, fewer than the 300 who may join within a minute.
const N_PEOPLE: usize = 180;

/// The times between two readers (10,000 a minute), and between two people who join (1,000 in ten minutes).
const READING: Duration = Duration::from_millis(6);
const JOINING: Duration = Duration::from_millis(600);

/// The largest share of a core for both.
const MOST_PROCESSOR: f64 = 0.1;

#[test]
#[ignore = "measures: .ci/long runs it"]
fn readers_of_public_pages_add_little_to_the_load() {
    let _alone = alone();
    let load = LOAD;
    let [(without, n_reports, _), (with, _, n_read)] = [false, true].map(|read| measured(load, read));
    let share = (with - without) / load.measured.as_secs_f64();
    say(&format!(
        "{n_reports} reports in {:.0?}: {without:.2} s of processor time; with {n_read} readers, and people who join: \
         {with:.2} s, {:.1} % of a core more",
        load.measured,
        100.0 * share
    ));
    assert!(n_reports > 0 && n_read > 0);
    assert!(share <= MOST_PROCESSOR, "{share}");
}

/// Returns the coordinator's processor time in seconds, the number of reports, and that of readers and joins.
fn measured(load: Load, read: bool) -> (f64, usize, usize) {
    let args = ["--public", "--url", "https://queens.example.org:443"];
    let behind = Behind::new(&args);
    let address = behind.coordinator().http();
    let operator = behind.token("operator");
    let job = json!({ "n": load.n, "method": "search", "confirm": true }).to_string();
    assert_eq!(behind.ask(&operator, "POST", "/api/v1/jobs", &job).status, 201);
    wait_for("the plan", || behind.ask(&operator, "GET", "/api/v1/jobs/1", "").json()["state"] == "queued");
    let opened = behind.manage(["campaign", "open"]).stdout;
    let code = code_in(&opened);
    for number in 0..N_PEOPLE {
        _ = join(&address, code, &format!("person {number}"));
    }
    wait_for("the first sums", || http::get(&address, "/people").status == 200);
    let uses = load.n_workers.to_string();
    let invited = behind.manage(["invite", "--role", "worker", "--uses", &uses]).stdout;
    let token = token_in(&invited).parse().expect("a token");
    let credentials = Credentials { token: Some(token), ..Credentials::default() };
    let route = Route::new(endpoint(&behind.coordinator().url()).expect("a URL"), &credentials);
    let route = Arc::new(route.expect("a route"));
    let connect = move |number| -> super::Connecting {
        let route = route.clone();
        Box::pin(async move {
            Worker::connect(number, load.n_threads, route.open().await.expect("connected")).await
        })
    };
    runtime().block_on(async {
        let workers = begin(load, connect).await;
        let before = processor_time(behind.coordinator().id());
        let end = tokio::time::sleep(load.measured);
        let n_read = if read {
            let (mut readers, mut joins) = (tokio::time::interval(READING), tokio::time::interval(JOINING));
            let (mut asked, mut joined) = (Vec::new(), Vec::new());
            tokio::pin!(end);
            loop {
                tokio::select! {
                    () = &mut end => break,
                    _ = readers.tick() => {
                        let (number, address) = (asked.len(), address.clone());
                        asked.push(tokio::spawn(read_page(number, address)));
                    }
                    _ = joins.tick() => {
                        let name = format!("newcomer {}", joined.len());
                        let (address, code) = (address.clone(), code.to_owned());
                        joined.push(tokio::task::spawn_blocking(move || join(&address, &code, &name)));
                    }
                }
            }
            let (n_readers, mut n_read) = (asked.len(), 0);
            for one in asked {
                n_read += usize::from(one.await.expect("it does not panic"));
            }
            for one in joined {
                one.await.expect("it has joined");
            }
            // On a busy machine, some come at once and are turned away.
            assert!(n_read * 10 >= n_readers * 9, "{n_read} of {n_readers} readers are answered");
            n_read
        } else {
            end.await;
            0
        };
        let processor = processor_time(behind.coordinator().id()) - before;
        let mut n_reports = 0;
        for worker in workers {
            n_reports += worker.await.expect("it does not panic").times.len();
        }
        (processor.as_secs_f64(), n_reports, n_read)
    })
}

/// Reads a page, each time by a new connection from another address; returns whether it came.
async fn read_page(number: usize, address: String) -> bool {
    let asked = async {
        let own = Ipv4Addr::new(127, 0, 2, u8::try_from(number % 200).expect("small"));
        let socket = TcpSocket::new_v4()?;
        socket.bind((own, 0).into())?;
        let mut stream = socket.connect(address.parse().expect("an address")).await?;
        let request = format!("GET {} HTTP/1.0\r\nHost: {address}\r\n\r\n", page(number));
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.map(|_| answer)
    };
    asked.await.is_ok_and(|answer: String| answer.starts_with("HTTP/1.0 200 ") && answer.len() > 500)
}

/// Returns what a reader reads: most come to the lists, others to a person's page or badge.
fn page(number: usize) -> String {
    let person = number % N_PEOPLE;
    match number % 5 {
        0 => "/public".to_owned(),
        1 => "/people".to_owned(),
        2 => format!("/people/person%20{person}"),
        3 => format!("/people/person%20{person}/badge.svg"),
        _ => "/api/v1/people?offset=100".to_owned(),
    }
}
