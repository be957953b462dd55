//! Runs every command of README.md, the tutorial, docs/operations and docs/guides, and compares the output.
//!
//! A page's blocks of `sh` are one script, in the order of the page, which ends at the first failing command. It runs
//! in an empty directory that is also its home, with our programs first on its path. It has its own network and process
//! namespaces (Linux): documented ports are free, and its processes end with it. A block of `text` directly after one
//! of `sh` is its stdout, line by line. `…` matches anything in a line, and a line of only `…` matches any lines.
//! Blocks of `sh package`, `sh docker` and `sh engine` are for other machines (`compose.rs` runs those of `sh docker`).
//! `.ci/run` and `.ci/long` contain the commands of `sh build`.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use queens_tests::directory::{entries, names};
use queens_tests::prelude::*;

/// The time limit of a page, far more than any needs.
const MOST_SECONDS: u64 = 900;

/// The kinds of blocks: commands, commands that do not run here, output, and configurations.
const KINDS: [&str; 8] =
    ["sh", "sh package", "sh docker", "sh engine", "sh build", "text", "nginx", "haproxy"];

/// A test for each page, and a list of all pages.
macro_rules! pages {
    ($($page:ident $path:literal),*) => {
        const PAGES: &[&str] = &[$($path),*];
        $(
            #[test]
            fn $page() {
                check(stringify!($page), $path);
            }
        )*
    };
}

pages!(
    readme "README.md",
    tutorial "docs/TUTORIAL.md",
    boards "docs/guides/boards.md",
    count "docs/guides/count.md",
    estimate "docs/guides/estimate.md",
    backup "docs/operations/backup.md",
    database "docs/operations/database.md",
    install "docs/operations/install.md",
    invite "docs/operations/invite.md",
    jobs "docs/operations/jobs.md",
    trouble "docs/operations/trouble.md",
    verify "docs/operations/verify.md",
    workers "docs/operations/workers.md"
);

#[track_caller]
fn check(page: &str, path: &str) {
    let text = fs::read_to_string(Path::new(REPOSITORY).join(path)).expect("the page is there");
    if !can_be_apart() {
        return skipped_without_root(&format!(
            "the commands of {path}, without the right to make namespaces"
        ));
    }
    if let Err(wrong) = follow(page, &text) {
        panic!("{path}: {wrong}");
    }
}

#[test]
fn every_page_is_tested_and_listed() {
    let index = fs::read_to_string(Path::new(REPOSITORY).join("docs/INTRODUCTION.md")).expect("it is there");
    for dir in ["operations", "guides"] {
        let mut found = vec![];
        for name in names(Path::new(REPOSITORY).join("docs").join(dir)) {
            let is_listed = dir == "guides" || index.contains(&format!("(operations/{name})"));
            assert!(is_listed, "docs/INTRODUCTION.md does not list {name}");
            found.push(format!("docs/{dir}/{name}"));
        }
        let of_dir = |page: &&&str| page.starts_with(&format!("docs/{dir}/"));
        assert_eq!(found, PAGES.iter().filter(of_dir).copied().collect::<Vec<_>>());
    }
}

/// Building takes minutes, so it does not run here: another script contains the same commands.
#[test]
fn what_pages_tell_to_build_is_built() {
    let read = |path: &str| fs::read_to_string(Path::new(REPOSITORY).join(path)).expect("it is there");
    let typed = [".ci/run", ".ci/long"].map(read).concat();
    let mut n_commands = 0;
    for path in PAGES {
        let page = read(path);
        let blocks = blocks(&page).expect("a page");
        for command in blocks.iter().filter(|block| block.kind == "sh build").flat_map(|block| &block.lines) {
            assert!(typed.lines().any(|line| line == *command), "{path}: nobody types {command}");
            n_commands += 1;
        }
    }
    assert!(n_commands > 4, "{n_commands} commands were found");
}

/// `.ci/package` runs the commands for packages in docs/operations.
#[test]
fn the_readme_installs_as_its_page_does() {
    let read = |path: &str| fs::read_to_string(Path::new(REPOSITORY).join(path)).expect("it is there");
    let (readme, page) = (read("README.md"), read("docs/operations/install.md"));
    let lines = |page| {
        let blocks = blocks(page).expect("a page").into_iter().filter(|block| block.kind == "sh package");
        blocks.flat_map(|block| block.lines).collect::<Vec<_>>()
    };
    let (shown, typed) = (lines(&readme), lines(&page));
    assert!(!shown.is_empty() && shown.iter().all(|line| typed.contains(line)), "{shown:?}");
}

/// Checks links between documents, and to headings in them.
#[test]
fn links_lead_somewhere() {
    let repository = Path::new(REPOSITORY);
    let mut documents = vec![];
    for dir in ["", "docs", "docs/guides", "docs/operations", "docs/reference"] {
        documents.extend(entries(repository.join(dir)));
    }
    documents.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    assert!(documents.len() > PAGES.len(), "{documents:?}");
    let mut n_links = 0;
    for document in documents {
        for target in links(&prose(&document)) {
            let (path, heading) = target.split_once('#').unwrap_or((&target, ""));
            let path = if path.is_empty() { document.clone() } else { document.with_file_name(path) };
            assert!(path.exists(), "{}: there is no {target}", document.display());
            let is_there = heading.is_empty() || headings(&prose(&path)).any(|known| known == heading);
            assert!(is_there, "{}: there is no heading {target}", document.display());
            n_links += 1;
        }
    }
    assert!(n_links > 50, "{n_links} links were found");
}

/// Returns the lines of a document outside its blocks.
fn prose(document: &Path) -> String {
    let text = fs::read_to_string(document).expect("a document");
    text.split("```").step_by(2).collect()
}

/// Returns the targets of a text's links, except for those to other sites.
fn links(prose: &str) -> impl Iterator<Item = String> {
    let targets = prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
    targets.filter(|target| !target.starts_with("http"))
}

/// Returns the headings of a text, as links name them.
fn headings(prose: &str) -> impl Iterator<Item = String> {
    let lines = prose.lines().filter(|line| line.starts_with('#'));
    lines.map(|line| {
        let words = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        words.chars().filter(|c| c.is_alphanumeric() || ['-', '_'].contains(c)).collect()
    })
}

/// The text between two fences.
struct Block<'a> {
    kind: &'a str,
    /// The line of its first fence, from 0.
    line: usize,
    lines: Vec<&'a str>,
    /// Whether only empty lines separate it from the previous block.
    is_next: bool,
}

/// Returns the blocks of a page, or an error.
fn blocks(page: &str) -> Result<Vec<Block<'_>>, String> {
    let mut blocks: Vec<Block<'_>> = vec![];
    let (mut is_open, mut is_next) = (false, false);
    for (i, line) in page.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (fence, blocks.last_mut().filter(|_| is_open)) {
            (Some(""), Some(_)) => (is_open, is_next) = (false, true),
            (Some(kind), None) if KINDS.contains(&kind) && line.starts_with("```") && i > 0 => {
                blocks.push(Block { kind, line: i, lines: vec![], is_next });
                is_open = true;
            }
            (Some(_), _) => {
                return Err(format!(
                    "line {}: a block is one of {KINDS:?}, at a line's start: {line}",
                    i + 1
                ));
            }
            (None, Some(block)) => block.lines.push(line),
            (None, None) => is_next &= line.trim().is_empty(),
        }
    }
    if is_open { Err("the last block does not end".to_owned()) } else { Ok(blocks) }
}

/// Returns the script of a page. Each command keeps its line number, so that bash reports it.
fn script(page: &str, blocks: &[&Block<'_>], outputs: &Path) -> String {
    let mut lines = vec![String::new(); page.lines().count()];
    lines[0] = "set -Eeuo pipefail; trap 'echo \"line $LINENO fails: $BASH_COMMAND\" >&2' ERR".to_owned();
    for block in blocks {
        lines[block.line] = format!("exec >'{}'", output_of(block, outputs).display());
        for (line, command) in lines[block.line + 1..].iter_mut().zip(&block.lines) {
            (*command).clone_into(line);
        }
    }
    lines.join("\n") + "\n"
}

/// Returns the file for a block's stdout.
fn output_of(block: &Block<'_>, outputs: &Path) -> PathBuf {
    outputs.join((block.line + 1).to_string())
}

/// Runs all commands of a page, and returns the first error.
fn follow(name: &str, page: &str) -> Result<(), String> {
    let blocks = blocks(page)?;
    let commands: Vec<&Block<'_>> = blocks.iter().filter(|block| block.kind == "sh").collect();
    if commands.is_empty() {
        return Err("there is no command that is run".to_owned());
    }
    let scratch = TempDir::new();
    let [home, outputs] = ["home", "outputs"].map(|name| scratch.join(name));
    for dir in [&home, &outputs] {
        fs::create_dir(dir).expect("a directory");
    }
    let path = scratch.join(format!("{name}.md"));
    fs::write(&path, script(page, &commands, &outputs)).expect("a file");
    let log = scratch.join("stderr");
    let mut running = Running::start_redirected(
        apart("exec bash \"$0\"")
            .arg(&path)
            .current_dir(&home)
            .env("HOME", &home)
            .env_remove("XDG_RUNTIME_DIR")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).expect("a file")),
    );
    let limit = Duration::from_secs(MOST_SECONDS + 30);
    wait_at_most(limit, "the end of a page", || (!running.is_running()).then_some(()));
    let status = running.wait_for_end();
    let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    if !status.success() {
        let last = commands.iter().rfind(|block| output_of(block, &outputs).exists());
        let stdout = last.map(|block| read(&output_of(block, &outputs))).unwrap_or_default();
        return Err(format!("{status}\nstdout of the block:\n{stdout}\nstderr of the page:\n{}", read(&log)));
    }
    for pair in blocks.windows(2) {
        let [block, output] = pair else { continue };
        if block.kind == "sh" && output.kind == "text" && output.is_next {
            let found = read(&output_of(block, &outputs));
            if !are_alike(&output.lines, &found.lines().collect::<Vec<_>>()) {
                let expected = output.lines.join("\n");
                return Err(format!("line {}: expected\n{expected}\nfound\n{found}", output.line + 1));
            }
        }
    }
    Ok(())
}

/// Shared memory, which a page has for itself, and its temporary files with it.
const MEMORY: &str = "/dev/shm";

/// Wraps a shell command in its own network, process and shared memory, and kills its processes at its end or timeout.
fn apart(command: &str) -> Command {
    let mut apart = clean(Command::new("timeout"));
    apart.args(["--signal=KILL", &MOST_SECONDS.to_string()]);
    apart.args(["unshare", "--net", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    apart.args(["bash", "-c", &format!("ip link set lo up && mount -t tmpfs shm {MEMORY} && {command}")]);
    let programs = ["queens", "queens-coordinator", "queens-worker"].map(binary);
    let programs = programs[0].parent().expect("programs lie in a directory").to_owned();
    apart.env("TMPDIR", MEMORY);
    let usual = env::var_os("PATH").unwrap_or_default();
    let all = [programs].into_iter().chain(env::split_paths(&usual));
    apart.env("PATH", env::join_paths(all).expect("a path"));
    // Its network has no other hosts.
    for proxy in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        apart.env_remove(proxy);
    }
    apart
}

/// Whether this user may create namespaces, and has the programs for it.
fn can_be_apart() -> bool {
    let mut nothing = apart("true");
    nothing.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    nothing.status().is_ok_and(|status| status.success())
}

/// Whether these lines match those on a page.
fn are_alike(shown: &[&str], found: &[&str]) -> bool {
    match (shown, found) {
        ([], []) => true,
        (["…", shown @ ..], _) => (0..=found.len()).any(|n| are_alike(shown, &found[n..])),
        ([line, shown @ ..], [same, found @ ..]) => is_alike(line, same) && are_alike(shown, found),
        _ => false,
    }
}

/// Whether a line matches one on a page.
fn is_alike(shown: &str, found: &str) -> bool {
    let (shown, found) = (shown.trim_end(), found.trim_end());
    let Some((start, mut shown)) = shown.split_once('…') else { return shown == found };
    let Some(mut found) = found.strip_prefix(start) else { return false };
    while let Some((part, rest)) = shown.split_once('…') {
        let Some(at) = found.find(part) else { return false };
        (shown, found) = (rest, &found[at + part.len()..]);
    }
    found.ends_with(shown)
}
