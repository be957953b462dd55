//! What a client needs to be let in.

use std::env;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::client::{TooManyPins, Trust};
use crate::pem::{self, TlsError};
use crate::token::{InvalidToken, Token};

/// The environment variable that may hold a token.
const VARIABLE: &str = "QUEENS_TOKEN";

/// Whom a client believes, and what it shows.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// Whom it takes for the server.
    pub trust: Trust,
    /// What it was invited with.
    pub token: Option<Token>,
    /// Its own TLS certificate and the key of that, in files.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// Why there are no credentials.
#[derive(Debug, Error)]
pub enum CredentialsError {
    /// A file can't be used.
    #[error(transparent)]
    File(#[from] TlsError),
    /// Nobody needs so many pins.
    #[error(transparent)]
    Pins(#[from] TooManyPins),
    /// There is no token in the file.
    #[error("'{}' holds no token: {InvalidToken}", .0.display())]
    NoToken(PathBuf),
    /// There is no token in the environment.
    #[error("the environment variable {VARIABLE} holds no token: {InvalidToken}")]
    NoTokenInEnvironment,
}

impl Credentials {
    /// Takes the token from a file, or else from the environment, if there is one. It is never an argument: everybody
    /// on a machine can read those, and shells keep them.
    ///
    /// # Errors
    /// If what is there is no token.
    pub fn take_token(file: Option<&Path>) -> Result<Option<Token>, CredentialsError> {
        if let Some(path) = file {
            let bytes = pem::read(path)?;
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
