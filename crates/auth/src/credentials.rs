//! A client's credentials, and its trust in the server.

use std::env;
use std::path::{Path, PathBuf};

use queens_platform::{Exposure, Readers, exposure, open_regular_file};
use thiserror::Error;

use crate::client::{TooManyPins, Trust};
use crate::pem::{self, TlsError};
use crate::token::{InvalidToken, Token};

/// The environment variable that may hold a token.
const VARIABLE: &str = "QUEENS_TOKEN";

/// How a client verifies the server, and authenticates itself.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// How it verifies the server.
    pub trust: Trust,
    /// Its invitation's token.
    pub token: Option<Token>,
    /// Its TLS certificate and private key, in files.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// Why credentials can't be loaded.
#[derive(Debug, Error)]
pub enum CredentialsError {
    /// A file can't be used.
    #[error(transparent)]
    File(#[from] TlsError),
    /// There are more pins than any cluster needs.
    #[error(transparent)]
    Pins(#[from] TooManyPins),
    /// Every user of the machine may access the file.
    #[error(
        "everybody on this machine may read or write the token '{}', which has {}: '{}' mends that; if somebody may have \
         read it, have the invitation revoked and ask for another",
        path.display(), exposure.cause, exposure.remedy
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// Why everybody may access it.
        exposure: Exposure,
    },
    /// The file holds no token.
    #[error("'{}' holds no token: {InvalidToken}", .0.display())]
    NoToken(PathBuf),
    /// The environment variable holds no token.
    #[error("the environment variable {VARIABLE} holds no token: {InvalidToken}")]
    NoTokenInEnvironment,
}

impl Credentials {
    /// Reads the token from a file, or else from the environment, if there is one. A token is never an argument: all
    /// users of a machine can read those, and shells store them.
    ///
    /// # Errors
    /// If the file or the variable holds no token, or the file can't be used.
    pub fn take_token(file: Option<&Path>) -> Result<Option<Token>, CredentialsError> {
        if let Some(path) = file {
            let bytes = read_secret(path)?;
            let token = str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse().ok());
            return token.map(Some).ok_or_else(|| CredentialsError::NoToken(path.to_owned()));
        }
        match env::var_os(VARIABLE) {
            Some(text) if !text.is_empty() => {
                let token = text.to_str().and_then(|text| text.trim().parse().ok());
                token.map(Some).ok_or(CredentialsError::NoTokenInEnvironment)
            }
            _ => Ok(None),
        }
    }
}

/// Reads a token's file. Its group may have access, because container engines mount secrets so; others may not.
fn read_secret(path: &Path) -> Result<Vec<u8>, CredentialsError> {
    let unreadable = |error| TlsError::Unreadable { path: path.to_owned(), error };
    let file = open_regular_file(path).map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?;
    if let Some(exposure) = exposure(path, &found, Readers::Named).map_err(unreadable)? {
        return Err(CredentialsError::Open { path: path.to_owned(), exposure });
    }
    Ok(pem::whole(file).map_err(unreadable)?)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_that_everybody_may_read_is_refused() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("token");
        let token = Token::random(3).expect("random");
        fs::write(&path, format!("{}\n", token.secret())).expect("written");
        for (mode, is_taken) in [
            (0o600, true),
            (0o400, true),
            (0o440, true),
            (0o660, true),
            (0o644, false),
            (0o604, false),
            (0o602, false),
        ] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).expect("it is ours");
            match Credentials::take_token(Some(&path)) {
                Ok(taken) => {
                    assert!(is_taken, "{mode:o}");
                    assert_eq!(taken.expect("a token").secret(), token.secret());
                }
                Err(refused) => {
                    assert!(!is_taken, "{mode:o}: {refused}");
                    let refused = refused.to_string();
                    assert!(refused.contains(&format!("which has mode {mode:o}: 'chmod 600'")), "{refused}");
                    assert!(!refused.contains(token.secret()), "{refused}");
                }
            }
        }
    }
}
