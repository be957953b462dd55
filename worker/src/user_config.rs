//! The files in the user's configuration directory: the options of a worker that has joined a campaign, and its token.

use std::fs;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use queens_auth::{Credentials, Pin, Trust};
use queens_model::Name;
use queens_platform::{
    make_private_directory, open_regular_file, replace_private_file, sync_directory, user_config_dir,
};
use serde::Deserialize;
use tempfile::NamedTempFile;
use toml::{Spanned, Table, Value};
use tonic::transport::Endpoint;

use crate::campaign_link::JoinedCampaign;

/// The name of the file with the options.
const FILE: &str = "worker.toml";

/// The largest file that is changed, in bytes.
const LARGEST: u64 = 1 << 20;

/// The name of the file with the token.
const TOKEN_FILE: &str = "worker.token";

const HEAD: &str = "# Made by 'queens-worker join'. 'queens-worker' alone reads it, unless --config, --coordinator or a token is given\n\
                    # otherwise. Every option of 'queens-worker --help' may be added, such as: threads = 2\n";

/// Returns the directory of our configuration, if the user has a home.
pub(crate) fn user_dir() -> Option<PathBuf> {
    Some(user_config_dir()?.join("queens"))
}

/// What a worker needs to count for a campaign.
#[derive(Debug)]
pub(crate) struct Membership {
    pub(crate) name: Name,
    pub(crate) coordinators: Vec<Endpoint>,
    pub(crate) credentials: Credentials,
    pub(crate) campaign: JoinedCampaign,
    /// Whether an operator has to approve the person first.
    pub(crate) waiting: bool,
}

/// Where the coordinators are, and how they prove themselves.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) coordinators: Vec<Endpoint>,
    pub(crate) trust: Trust,
}

impl Place {
    /// Returns the URLs of the coordinators, as people write them.
    pub(crate) fn urls(&self) -> Vec<String> {
        urls(&self.coordinators)
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.urls() == other.urls() && self.trust == other.trust
    }
}

/// Returns URLs of coordinators, as people write them.
pub(crate) fn urls(coordinators: &[Endpoint]) -> Vec<String> {
    coordinators.iter().map(|one| one.uri().to_string().trim_end_matches('/').to_owned()).collect()
}

/// Returns the file with the options of a worker that has joined a campaign, if the user has a home.
pub(crate) fn user_file() -> Option<PathBuf> {
    Some(user_dir()?.join(FILE))
}

/// The place of a new configuration, which can be written.
#[derive(Debug)]
pub(crate) struct UserConfig {
    dir: PathBuf,
    replaces: bool,
}

impl UserConfig {
    /// Creates the directory, which only the user can enter, and checks that a file can be written there.
    ///
    /// # Errors
    /// If there is a configuration that must not be replaced, or nothing can be written there.
    pub(crate) fn begin(dir: PathBuf, replaces: bool) -> anyhow::Result<Self> {
        let path = dir.join(FILE);
        if path.symlink_metadata().is_ok() && !replaces {
            bail!(
                "you have joined already, and '{}' is not overwritten: 'queens-worker' alone counts; --replace joins anew",
                path.display()
            );
        }
        if path.is_dir() {
            bail!("'{}' is a directory: move it away", path.display());
        }
        let made = make_private_directory(&dir).and_then(|()| NamedTempFile::new_in(&dir));
        made.with_context(|| failure(&dir))?;
        Ok(Self { dir, replaces })
    }

    /// Writes both files, which only the user can read, and returns their paths. After a crash between the two there is
    /// no token, and `--replace` joins anew.
    ///
    /// # Errors
    /// If they can't be written, or another process was faster.
    pub(crate) fn keep(&self, membership: &Membership) -> anyhow::Result<(PathBuf, PathBuf)> {
        let [path, token_path] = [FILE, TOKEN_FILE].map(|name| self.dir.join(name));
        let secret = membership.credentials.token.as_ref().map_or("", |token| token.secret());
        self.write(&path, &token_path, secret, &text(membership, &token_path))
            .with_context(|| failure(&self.dir))?;
        Ok((path, token_path))
    }

    fn write(&self, path: &Path, token_path: &Path, secret: &str, text: &str) -> io::Result<()> {
        let [mut options, mut token] = [NamedTempFile::new_in(&self.dir)?, NamedTempFile::new_in(&self.dir)?];
        writeln!(token, "{secret}")?;
        options.write_all(text.as_bytes())?;
        options.as_file().sync_all()?;
        token.as_file().sync_all()?;
        if self.replaces && path.symlink_metadata().is_ok() {
            fs::remove_file(path)?;
        }
        // Of two processes at once, only the one that makes the file with the options writes its token.
        options.persist_noclobber(path)?;
        token.persist(token_path)?;
        sync_directory(&self.dir)
    }
}

/// Changes in the user's file where the coordinators are, and nothing else. Returns `false`, and changes nothing, if
/// the file is of another campaign than the one with this link. A crash leaves the old file or the new one.
///
/// # Errors
/// If the file can't be read or written.
pub(crate) fn relocate(path: &Path, link: &str, place: &Place) -> io::Result<bool> {
    let mut text = String::new();
    open_regular_file(path)?.take(LARGEST).read_to_string(&mut text)?;
    let Ok(found) = toml::from_str::<Located>(&text) else { return Ok(false) };
    if found.campaign != link {
        return Ok(false);
    }
    let mut changes = vec![(found.coordinator.span(), list(place.urls()))];
    if let (Trust::Pinned(pins), Some(found)) = (&place.trust, found.pin) {
        changes.push((found.span(), list(pins.iter().map(Pin::to_string).collect())));
    }
    changes.sort_by_key(|(span, _)| span.start);
    for (span, value) in changes.into_iter().rev() {
        replace(&mut text, span, &value.to_string());
    }
    // A link leads to the file that is changed.
    replace_private_file(&fs::canonicalize(path)?, text.as_bytes())?;
    Ok(true)
}

/// The parts of the user's file that change when the coordinators move.
#[derive(Deserialize)]
struct Located {
    campaign: String,
    coordinator: Spanned<Value>,
    pin: Option<Spanned<Value>>,
}

fn replace(text: &mut String, span: Range<usize>, value: &str) {
    if text.is_char_boundary(span.start) && text.is_char_boundary(span.end) {
        text.replace_range(span, value);
    }
}

fn list(texts: Vec<String>) -> Value {
    Value::Array(texts.into_iter().map(Value::String).collect())
}

fn failure(dir: &Path) -> String {
    format!("failed to write into '{}'", dir.display())
}

/// Returns the configuration file of a worker.
fn text(membership: &Membership, token_path: &Path) -> String {
    let shown = |path: &Path| Value::String(path.display().to_string());
    let mut table = Table::new();
    table.insert("coordinator".to_owned(), list(urls(&membership.coordinators)));
    let mut insert = |trust: &Trust, [ca, pin]: [&str; 2]| match trust {
        Trust::Public => {}
        Trust::Authorities(path) => {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            table.insert(ca.to_owned(), shown(&path));
        }
        Trust::Pinned(pins) => {
            table.insert(pin.to_owned(), list(pins.iter().map(Pin::to_string).collect()));
        }
    };
    insert(&membership.credentials.trust, ["ca", "pin"]);
    insert(&membership.campaign.trust, ["campaign-ca", "campaign-pin"]);
    table.insert("campaign".to_owned(), Value::String(membership.campaign.link.to_string()));
    table.insert("token-file".to_owned(), shown(token_path));
    table.insert("name".to_owned(), Value::String(membership.name.to_string()));
    // As `MannersArgs::of_a_guest` has them.
    table.insert("nice".to_owned(), Value::Boolean(true));
    table.insert("on-battery".to_owned(), Value::String("pause".to_owned()));
    format!("{HEAD}{table}")
}

#[cfg(test)]
mod tests {
    use queens_auth::Token;
    use queens_proto::client::endpoint;

    use super::*;

    const LINK: &str = "https://here:2/join/0abc";

    fn membership(name: &str) -> Membership {
        let pin: Pin = format!("sha256:{}", "0".repeat(64)).parse().expect("a pin");
        let link = crate::campaign_link::link(LINK).expect("a link");
        Membership {
            campaign: JoinedCampaign { link, trust: Trust::Pinned(vec![pin]) },
            waiting: false,
            name: name.parse().expect("a name"),
            coordinators: vec![endpoint("https://here:1").expect("a URL")],
            credentials: Credentials {
                trust: Trust::Pinned(vec![pin]),
                token: Some(Token::random(3).expect("random")),
                certificate: None,
            },
        }
    }

    #[test]
    fn nothing_is_overwritten_and_nothing_else_is_left() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let dir = home.path().join("queens");
        let begin = |replaces| UserConfig::begin(dir.clone(), replaces);
        drop(begin(false).expect("nothing is there"));
        let n_files = || fs::read_dir(&dir).expect("readable").count();
        assert_eq!(n_files(), 0);
        let (path, token_path) =
            begin(false).expect("nothing is there").keep(&membership("a \"b\" \\ 'c'")).expect("written");
        let read = || fs::read_to_string(&path).expect("readable").parse::<Table>().expect("TOML");
        assert_eq!(read()["name"].as_str(), Some("a \"b\" \\ 'c'"));
        assert_eq!(read()["token-file"].as_str(), token_path.to_str());
        let refused = begin(false).expect_err("it is there").to_string();
        assert!(refused.contains("--replace joins anew"), "{refused}");
        begin(true).expect("it may").keep(&membership("anna")).expect("written");
        assert_eq!((read()["name"].as_str(), n_files()), (Some("anna"), 2));
    }

    #[test]
    fn only_the_place_changes_when_the_coordinators_move() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let config = UserConfig::begin(home.path().to_owned(), false).expect("nothing is there");
        let (path, _) = config.keep(&membership("anna")).expect("written");
        let before = fs::read_to_string(&path).expect("readable");
        let before = before.replace("nice = true", "# Mine: höflich\nnice = true # coordinator = \"x\"");
        fs::write(&path, before.replace("[\"https://here:1\"]", "[\n  \"https://here:1\", # one\n]"))
            .expect("written");
        let pin = |digit: &str| format!("sha256:{}", digit.repeat(64)).parse::<Pin>().expect("a pin");
        let place = |url: &str, digit| Place {
            coordinators: vec![endpoint(url).expect("a URL")],
            trust: Trust::Pinned(vec![pin(digit)]),
        };
        let moved = place("https://there:1", "1");
        assert!(!relocate(&path, "https://here:2/join/1abc", &moved).expect("readable"), "another campaign");
        assert!(relocate(&path, LINK, &moved).expect("written"));
        let of_key = |digit: &str| format!("\npin = [\"{}\"]", pin(digit));
        let expected = before.replace(&of_key("0"), &of_key("1"));
        let expected = expected.replace("https://here:1", "https://there:1");
        assert_eq!(fs::read_to_string(&path).expect("readable"), expected);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        fs::write(&path, "nonsense = [").expect("written");
        assert!(!relocate(&path, LINK, &moved).expect("readable"), "it is broken");
    }

    #[test]
    fn of_two_at_once_the_second_is_told() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let begin = || UserConfig::begin(home.path().to_owned(), false).expect("nothing is there");
        let (one, other) = (begin(), begin());
        let (_, token_path) = one.keep(&membership("one")).expect("written");
        let token = fs::read_to_string(&token_path).expect("readable");
        other.keep(&membership("other")).expect_err("it is there");
        assert_eq!(fs::read_to_string(&token_path).expect("readable"), token);
        fs::remove_file(home.path().join(FILE)).expect("removed");
        fs::create_dir(home.path().join(FILE)).expect("created");
        UserConfig::begin(home.path().to_owned(), true).expect_err("a directory can't be replaced");
    }
}
