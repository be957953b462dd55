//! The files in the user's configuration directory: the options of a worker that has joined a campaign, and its token.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use queens_auth::{Credentials, Pin, Trust};
use queens_model::Name;
use queens_platform::{make_private_directory, sync_directory, user_config_dir};
use tempfile::NamedTempFile;
use toml::{Table, Value};
use tonic::transport::Endpoint;

/// The name of the file with the options.
const FILE: &str = "worker.toml";

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
        let made = make_private_directory(&dir).and_then(|()| NamedTempFile::new_in(&dir));
        made.with_context(|| failure(&dir))?;
        Ok(Self { dir, replaces })
    }

    /// Writes both files, which only the user can read, and returns their paths. After a crash between the two there is
    /// no file with options.
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
        // A token without options is nobody's: it is left of a crash.
        token.persist(token_path)?;
        options.persist_noclobber(path)?;
        sync_directory(&self.dir)
    }
}

fn failure(dir: &Path) -> String {
    format!("failed to write into '{}'", dir.display())
}

/// Returns the configuration file of a worker.
fn text(membership: &Membership, token_path: &Path) -> String {
    let list = |texts: Vec<String>| Value::Array(texts.into_iter().map(Value::String).collect());
    let shown = |path: &Path| Value::String(path.display().to_string());
    let mut table = Table::new();
    let urls =
        membership.coordinators.iter().map(|one| one.uri().to_string().trim_end_matches('/').to_owned());
    table.insert("coordinator".to_owned(), list(urls.collect()));
    match &membership.credentials.trust {
        Trust::Public => {}
        Trust::Authorities(path) => {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            table.insert("ca".to_owned(), shown(&path));
        }
        Trust::Pinned(pins) => {
            table.insert("pin".to_owned(), list(pins.iter().map(Pin::to_string).collect()));
        }
    }
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

    fn membership(name: &str) -> Membership {
        let pin = format!("sha256:{}", "0".repeat(64)).parse().expect("a pin");
        Membership {
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
    fn of_two_at_once_the_second_is_told() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let begin = || UserConfig::begin(home.path().to_owned(), false).expect("nothing is there");
        let (one, other) = (begin(), begin());
        one.keep(&membership("one")).expect("written");
        other.keep(&membership("other")).expect_err("it is there");
    }
}
