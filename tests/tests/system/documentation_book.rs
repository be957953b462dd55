//! The documentation in docs/: mdBook builds it with every page, and every link in the result leads somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use queens_tests::browser::Browser;
use queens_tests::directory::files_below;
use queens_tests::prelude::*;

/// Returns all files below a directory whose name has this end.
fn files(dir: &Path, end: &str) -> Vec<PathBuf> {
    let all = files_below(dir).into_iter();
    all.filter(|path| path.to_string_lossy().ends_with(end)).collect()
}

#[test]
fn every_page_is_in_the_book() {
    let docs = Path::new(REPOSITORY).join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).expect("there");
    for page in files(&docs, ".md") {
        let name = page.strip_prefix(&docs).expect("it is in there").display().to_string();
        let n = summary.matches(&format!("]({name})")).count();
        assert_eq!(n, usize::from(name != "SUMMARY.md"), "docs/SUMMARY.md has {name} {n} times");
    }
}

/// Yields the values of an attribute in generated HTML.
fn values<'a>(html: &'a str, attribute: &str) -> impl Iterator<Item = &'a str> {
    let before = format!(" {attribute}=\"");
    let rests: Vec<&str> = html.match_indices(&before).map(|(at, _)| &html[at + before.len()..]).collect();
    rests.into_iter().filter_map(|rest| Some(rest.split_once('"')?.0))
}

/// Returns the dead links in the files of a site, and the number of live ones.
fn dead_links(site: &Path, pages: &[PathBuf]) -> (Vec<String>, usize) {
    let html: BTreeMap<&PathBuf, String> =
        pages.iter().map(|page| (page, fs::read_to_string(page).expect("HTML"))).collect();
    let names: BTreeMap<&PathBuf, BTreeSet<&str>> =
        html.iter().map(|(page, text)| (*page, values(text, "id").collect())).collect();
    let (mut dead, mut n_alive) = (vec![], 0);
    for (page, text) in &html {
        for target in values(text, "href").chain(values(text, "src")) {
            if ["http:", "https:", "mailto:", "data:", "javascript:"]
                .iter()
                .any(|kind| target.starts_with(kind))
            {
                continue;
            }
            let (path, name) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() { (*page).clone() } else { page.with_file_name("").join(path) };
            let is_there = file.canonicalize().is_ok_and(|file| {
                let known = names.get(&file).is_none_or(|names| name.is_empty() || names.contains(name));
                known && file.starts_with(site)
            });
            if is_there {
                n_alive += 1;
            } else {
                dead.push(format!("{}: {target}", page.strip_prefix(site).expect("of the site").display()));
            }
        }
    }
    (dead, n_alive)
}

#[test]
fn links_of_the_book_lead_somewhere_and_a_page_counts() {
    if !is_installed("mdbook") {
        return skipped("the book, as there is no 'mdbook'");
    }
    let mut build = clean(Command::new(Path::new(REPOSITORY).join(".ci/release")));
    build.arg("book").env("RUST_LOG", "warn");
    let built = run(build);
    assert!(built.status.success() && !built.stderr.contains("[WARN]"), "{built:?}");
    let site = Path::new(REPOSITORY).join("target/book").canonicalize().expect("it is built");
    // The print page repeats all pages with their relative links unchanged.
    let mut pages = files(&site.join("docs"), ".html");
    pages.retain(|page| !page.ends_with("print.html") && !page.ends_with("404.html"));
    let n_listed = fs::read_to_string(Path::new(REPOSITORY).join("docs/SUMMARY.md"))
        .expect("there")
        .matches("](")
        .count();
    assert!(pages.len() >= n_listed, "{} pages of {n_listed}", pages.len());
    let (dead, n_alive) = dead_links(&site, &pages);
    assert!(dead.is_empty(), "{} links lead nowhere:\n{}", dead.len(), dead.join("\n"));
    assert!(n_alive > 1000, "{n_alive} links were found");
    count_in(&site);
}

/// Counts a board on a page of the book.
fn count_in(site: &Path) {
    if !is_installed("python3") {
        return skipped("a count in the book, as there is no 'python3' to serve it");
    }
    let mut server = clean(Command::new("python3"));
    server.args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory"]).arg(site);
    server.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Running::start_redirected(&mut server);
    let mut line = String::new();
    let stdout = server.take_stdout().expect("it is piped");
    BufReader::new(stdout).read_line(&mut line).expect("the server tells its port");
    let port = line.split(' ').skip_while(|word| *word != "port").nth(1).expect("a port");
    let Some(browser) = Browser::open("a count in the book", &format!("http://127.0.0.1:{port}")) else {
        return;
    };
    browser.go("/docs/TARGETS.html");
    browser.wait_until("the form", "!document.querySelector('#count-here').hidden");
    browser.click("#count-here button");
    browser.wait_for("#count-here output", "Q(12) = 14200, counted in ");
    browser.keep("book-count", &[1280]);
}

/// Programs redraw their own pictures exactly. The screenshot of a page differs each time.
#[test]
fn pictures_are_what_the_programs_draw() {
    if let Some(missing) = ["bash", "curl"].into_iter().find(|program| !is_installed(program)) {
        return skipped(&format!("the pictures of documents, as there is no '{missing}'"));
    }
    let pictures = Path::new(REPOSITORY).join("docs/pictures");
    let dir = TempDir::new();
    let programs = binary("queens").parent().expect("programs lie in a directory").to_owned();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([programs].into_iter().chain(env::split_paths(&path))).expect("a path");
    let mut make = clean(Command::new(pictures.join("make")));
    make.arg("--drawn").arg(dir.path()).env("PATH", path).stdin(Stdio::null());
    _ = run(make).good();
    let drawn = files(dir.path(), "");
    assert!(drawn.len() > 4, "{drawn:?}");
    for picture in drawn {
        let name = picture.file_name().expect("a file has a name");
        let kept = fs::read(pictures.join(name)).unwrap_or_default();
        let is_same = fs::read(&picture).expect("drawn") == kept;
        assert!(is_same, "docs/pictures/{} is not what is drawn: run docs/pictures/make", name.display());
    }
    for picture in files(&pictures, "") {
        let size = fs::metadata(&picture).expect("there").len();
        assert!(size <= 150_000, "{} has {size} bytes", picture.display());
    }
}
