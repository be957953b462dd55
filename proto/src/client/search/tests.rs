use queens_auth::Credentials;

use super::*;
use crate::client::connection::endpoint;

fn search(urls: &[&str]) -> Search {
    let endpoints = urls.iter().map(|url| endpoint(url).expect("a URL")).collect();
    Search::new(Routes::new(endpoints, Credentials::default()).expect("routes"))
}

/// The result of an attempt.
enum Outcome {
    Refuses,
    Silent,
    StandsBy(&'static str),
    Leads,
}

use Outcome::{Leads, Refuses, Silent, StandsBy};

/// Plays a round in which each coordinator behaves as given; returns the tried coordinators and their timeouts.
#[track_caller]
fn round(search: &mut Search, world: &[(&str, Outcome)]) -> Vec<(String, Option<Duration>)> {
    let mut tried = vec![];
    while let Some(Attempt { route, patience }) = search.next(true) {
        let url = route.uri().to_string().trim_end_matches('/').trim_start_matches("http://").to_owned();
        let (_, outcome) = world.iter().find(|(name, _)| *name == url).expect("somebody of this world");
        tried.push((url, patience));
        assert!(tried.len() < 50, "no end of {tried:?}");
        match outcome {
            Refuses => search.failed(&route, &Problem::Connection("connection refused".to_owned())),
            Silent => search.failed(&route, &Problem::Silent),
            StandsBy(leader) => {
                let (words, leader) = ("stands by".to_owned(), (*leader).to_owned());
                search.failed(&route, &Problem::StandsBy { words, leader });
            }
            Leads => {
                search.leads(&route);
                return tried;
            }
        }
    }
    tried
}

#[track_caller]
fn check(search: &mut Search, world: &[(&str, Outcome)], expected: &[&str]) {
    search.begin();
    let tried: Vec<String> = round(search, world).into_iter().map(|(url, _)| url).collect();
    assert_eq!(tried, expected);
}

#[test]
fn each_is_tried_once_in_a_round_as_they_are_listed() {
    let mut three = search(&["http://a:1", "http://b:1", "http://c:1"]);
    let world = [("a:1", Refuses), ("b:1", StandsBy("")), ("c:1", Refuses)];
    check(&mut three, &world, &["a:1", "b:1", "c:1"]);
    assert!(three.next(true).is_none(), "the round is over");
    check(&mut three, &world, &["a:1", "b:1", "c:1"]);
}

#[test]
fn whom_a_standby_names_comes_next_listed_or_not() {
    let mut three = search(&["http://a:1", "http://b:1", "http://c:1"]);
    check(&mut three, &[("a:1", StandsBy("http://C:1/")), ("c:1", Leads)], &["a:1", "c:1"]);
    let mut one = search(&["http://a:1"]);
    let world = [("a:1", StandsBy("http://x:1")), ("x:1", Leads)];
    check(&mut one, &world, &["a:1", "x:1"]);
    // Without other knowledge, the last leader is tried first.
    check(&mut one, &world, &["x:1"]);
    check(&mut one, &[("a:1", Leads), ("x:1", Refuses)], &["x:1", "a:1"]);
    check(&mut one, &[("a:1", Leads)], &["a:1"]);
}

#[test]
fn nonsense_is_not_followed() {
    for leader in ["", "nonsense", "http://x:1/path", "ftp://x:1", "http://x:0", "\u{7}", "http://a:1"] {
        let mut two = search(&["http://a:1", "http://b:1"]);
        check(&mut two, &[("a:1", StandsBy(leader)), ("b:1", Refuses)], &["a:1", "b:1"]);
    }
}

#[test]
fn those_who_name_each_other_are_asked_once_in_a_round() {
    let mut two = search(&["http://a:1", "http://b:1"]);
    let world = [("a:1", StandsBy("http://b:1")), ("b:1", StandsBy("http://a:1"))];
    check(&mut two, &world, &["a:1", "b:1"]);
    check(&mut two, &world, &["a:1", "b:1"]);
    let mut one = search(&["http://a:1"]);
    let world =
        [("a:1", StandsBy("http://x:1")), ("x:1", StandsBy("http://y:1")), ("y:1", StandsBy("http://x:1"))];
    check(&mut one, &world, &["a:1", "x:1", "y:1"]);
    // An endless chain is followed only to the limit.
    let chain = [
        ("a:1", StandsBy("http://x:1")),
        ("x:1", StandsBy("http://x:2")),
        ("x:2", StandsBy("http://x:3")),
        ("x:3", StandsBy("http://x:4")),
        ("x:4", StandsBy("http://x:5")),
        ("x:5", StandsBy("http://x:6")),
    ];
    check(&mut search(&["http://a:1"]), &chain, &["a:1", "x:1", "x:2", "x:3", "x:4"]);
}

/// The leader is frozen, or behind a firewall: the standbys still name it, and the next of them is tried first.
#[test]
fn who_does_not_answer_comes_last_and_gets_less_time() {
    let mut three = search(&["http://a:1", "http://b:1", "http://c:1"]);
    check(&mut three, &[("a:1", Leads)], &["a:1"]);
    let lost = three.routes().listed()[0].clone();
    three.failed(&lost, &Problem::Silent);
    let world = [("a:1", Silent), ("b:1", StandsBy("http://a:1/")), ("c:1", StandsBy("http://a:1/"))];
    let short = Some(PATIENCE_WITH_DOUBTFUL);
    for _ in 0..3 {
        three.begin();
        let tried = round(&mut three, &world);
        let expected = [("b:1", Some(PATIENCE)), ("c:1", Some(PATIENCE)), ("a:1", short)];
        assert_eq!(tried, expected.map(|(url, patience)| (url.to_owned(), patience)));
    }
    check(&mut three, &[("b:1", StandsBy("http://c:1")), ("c:1", Leads)], &["b:1", "c:1"]);
    // After a hiccup, the only possible leader is found, and is not doubted any more.
    let world = [("a:1", Leads), ("b:1", StandsBy("http://a:1")), ("c:1", StandsBy("http://a:1"))];
    check(&mut three, &world, &["c:1", "b:1", "a:1"]);
    check(&mut three, &world, &["a:1"]);
}

/// The connection to the leader broke: most likely it is still there, or is back at once.
#[test]
fn who_led_is_tried_first_for_a_short_time() {
    let mut three = search(&["http://a:1", "http://b:1", "http://c:1"]);
    check(&mut three, &[("a:1", Refuses), ("b:1", Refuses), ("c:1", Leads)], &["a:1", "b:1", "c:1"]);
    three.begin();
    let tried = round(&mut three, &[("a:1", StandsBy("http://b:1")), ("b:1", Leads), ("c:1", Refuses)]);
    let expected = [("c:1", PATIENCE_WITH_DOUBTFUL), ("a:1", PATIENCE), ("b:1", PATIENCE)];
    assert_eq!(tried, expected.map(|(url, patience)| (url.to_owned(), Some(patience))));
    three.begin();
    let late = three.next(false).expect("b:1");
    assert_eq!(late.patience, Some(PATIENCE_AT_LEISURE));
}

#[test]
fn a_single_coordinator_has_all_the_time_it_wants() {
    let mut one = search(&["http://a:1"]);
    for _ in 0..3 {
        one.begin();
        assert_eq!(round(&mut one, &[("a:1", Silent)]), [("a:1".to_owned(), None)]);
    }
}
